"""Between the simulation's own words and the protobuf messages of the serial protocol.

The definitions come from the Meshtastic package. Importing any part of it starts its "publishing" thread, which
stays for the life of the process; nothing else of the package is used here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meshtastic.protobuf import channel_pb2, config_pb2, mesh_pb2, module_config_pb2, telemetry_pb2

from gateway.protocol.airtime import modem
from gateway.protocol.messages import ClientNotice, QueueStatus, node_id
from gateway.radio.simulated.frames import CHANNEL_SLOTS, Channel, ClientPacket, Data, Port, Received, User
from gateway.radio.simulated.node import Node
from gateway.radio.simulated.node_db import Known

ONLY_OWN_NODE, ONLY_NODES = 69420, 69421
"""Special values of want_config_id (mesh.proto)."""
MIN_APP_VERSION = 30200
STATE_VERSION = 24
ROUTING_PRIORITY = 120
CONFIGS = (
    "device",
    "position",
    "power",
    "network",
    "display",
    "lora",
    "bluetooth",
    "security",
    "sessionkey",
    "device_ui",
)
MODULES = (
    "mqtt",
    "serial",
    "external_notification",
    "store_forward",
    "range_test",
    "telemetry",
    "canned_message",
    "audio",
    "remote_hardware",
    "neighbor_info",
    "ambient_lighting",
    "detection_sensor",
    "paxcounter",
)


# --- the start-up conversation, in the order that clients rely on (PhoneAPI.cpp, getFromRadio) ----------------


def config_download(node: Node, config_id: int) -> Iterator[Any]:
    """Everything a client is told when it asks, as `FromRadio` messages."""
    if config_id != ONLY_NODES:
        yield _my_info(node)
        yield mesh_pb2.FromRadio(deviceuiConfig={})
        yield mesh_pb2.FromRadio(node_info=_own_info(node))
        yield mesh_pb2.FromRadio(metadata=metadata(node))
        yield from (mesh_pb2.FromRadio(channel=channel(node, index)) for index in range(CHANNEL_SLOTS))
        yield from (mesh_pb2.FromRadio(config=config(node, name)) for name in CONFIGS)
        yield from (mesh_pb2.FromRadio(moduleConfig=module_config(node, name)) for name in MODULES)
    else:
        yield mesh_pb2.FromRadio(node_info=_own_info(node))
    if config_id != ONLY_OWN_NODE:
        yield from (mesh_pb2.FromRadio(node_info=_other_info(known)) for known in node.db.known.values())
    yield mesh_pb2.FromRadio(config_complete_id=config_id)


def _my_info(node: Node) -> Any:
    info = mesh_pb2.MyNodeInfo(
        my_node_num=node.number,
        reboot_count=node.reboots,
        min_app_version=MIN_APP_VERSION,
        pio_env="simulated",
        nodedb_count=len(node.db.known) + 1,
        device_id=node.number.to_bytes(16, "big"),
    )
    return mesh_pb2.FromRadio(my_info=info)


def user(card: User, node: Node | None = None) -> Any:
    """A NodeInfo card; our own also says its role."""
    message = mesh_pb2.User(
        id=node_id(card.number),
        long_name=card.long_name,
        short_name=card.short_name,
        macaddr=b"\x00\x00" + card.number.to_bytes(4, "big"),
        hw_model=mesh_pb2.HardwareModel.PORTDUINO,
        public_key=card.key,
    )
    if node is not None:
        message.is_licensed = node.setup.is_licensed
        message.is_unmessagable = node.setup.is_unmessagable
        message.role = config_pb2.Config.DeviceConfig.Role.Value(node.setup.role)
    return message


def _own_info(node: Node) -> Any:
    info = mesh_pb2.NodeInfo(num=node.number, user=user(node.db.user, node), last_heard=node.time())
    info.device_metrics.uptime_seconds = node.uptime
    return info


def _other_info(known: Known) -> Any:
    return mesh_pb2.NodeInfo(
        num=known.user.number,
        user=user(known.user),
        last_heard=known.last_heard,
        snr=known.snr,
        hops_away=known.hops,
        is_favorite=known.favorite,
    )


def metadata(node: Node) -> Any:
    return mesh_pb2.DeviceMetadata(
        firmware_version=node.setup.firmware,
        device_state_version=STATE_VERSION,
        hasPKC=node.setup.has_pkc,
        role=config_pb2.Config.DeviceConfig.Role.Value(node.setup.role),
        hw_model=mesh_pb2.HardwareModel.PORTDUINO,
    )


def channel(node: Node, index: int) -> Any:
    message = channel_pb2.Channel(index=index)
    if index < len(node.setup.channels):
        ours: Channel = node.setup.channels[index]
        message.role = channel_pb2.Channel.Role.SECONDARY if index else channel_pb2.Channel.Role.PRIMARY
        message.settings.name = ours.name
        message.settings.psk = ours.key
        message.settings.uplink_enabled = ours.uplink
    return message


def config(node: Node, name: str) -> Any:
    message = config_pb2.Config()
    part = getattr(message, name)
    part.SetInParent()
    if name == "device":
        part.role = config_pb2.Config.DeviceConfig.Role.Value(node.setup.role)
    elif name == "network":
        part.enabled_protocols = node.setup.network_protocols
    elif name == "lora":
        _fill_lora(part, node)
    elif name == "security":
        part.public_key = node.key
        part.serial_enabled = node.setup.serial_enabled
        part.debug_log_api_enabled = node.setup.debug_log_enabled
    return message


def _fill_lora(part: Any, node: Node) -> None:
    lora = node.tx.lora
    part.use_preset = bool(lora.preset)
    if lora.preset:
        part.modem_preset = config_pb2.Config.LoRaConfig.ModemPreset.Value(lora.preset)
    else:
        used = modem(lora)
        part.spread_factor, part.bandwidth, part.coding_rate = (
            used.spreading_factor,
            int(used.bandwidth_khz),
            used.coding_rate,
        )
    part.region = config_pb2.Config.LoRaConfig.RegionCode.Value(lora.region)
    part.hop_limit = lora.hop_limit
    part.tx_enabled = lora.tx_enabled
    part.override_duty_cycle = lora.override_duty_cycle


def module_config(node: Node, name: str) -> Any:
    message = module_config_pb2.ModuleConfig()
    part = getattr(message, name)
    part.SetInParent()
    if name == "mqtt":
        part.enabled = node.setup.mqtt_enabled
    elif name == "store_forward":
        part.enabled = part.is_server = node.setup.store_forward_enabled
    return message


# --- records and packets --------------------------------------------------------------------------------------


def from_radio(item: QueueStatus | ClientNotice | Received) -> Any:
    """One record for the client, as `FromRadio`."""
    if isinstance(item, Received):
        return mesh_pb2.FromRadio(packet=_packet(item))
    if isinstance(item, ClientNotice):
        notice = mesh_pb2.ClientNotification(reply_id=item.packet_id, message=item.text)
        notice.level = mesh_pb2.LogRecord.Level.WARNING
        return mesh_pb2.FromRadio(clientNotification=notice)
    status = mesh_pb2.QueueStatus(res=item.res, free=item.free, maxlen=item.maxlen, mesh_packet_id=item.packet_id)
    return mesh_pb2.FromRadio(queueStatus=status)


def _packet(item: Received) -> Any:
    message = mesh_pb2.MeshPacket(
        to=item.to,
        id=item.packet_id,
        channel=item.channel,
        want_ack=item.want_ack,
        hop_limit=item.hop_limit,
        hop_start=item.hop_start,
        rx_snr=item.snr,
        rx_rssi=item.rssi,
        rx_time=item.rx_time,
        public_key=item.key,
        pki_encrypted=bool(item.key),
        relay_node=item.relay & 0xFF,
    )
    setattr(message, "from", item.origin)
    if item.off_air:
        message.transport_mechanism = mesh_pb2.MeshPacket.TransportMechanism.TRANSPORT_LORA
    if item.data is None:
        message.encrypted = item.packet_id.to_bytes(4, "little") * 8
        return message
    message.decoded.CopyFrom(_data(item.data))
    if item.data.port == Port.ROUTING:
        message.priority = ROUTING_PRIORITY
    return message


def _data(data: Data) -> Any:
    return mesh_pb2.Data(
        portnum=data.port,
        payload=_payload(data),
        request_id=data.request_id,
        reply_id=data.reply_id,
        emoji=data.emoji,
        want_response=data.want_response,
        bitfield=0,
    )


def _payload(data: Data) -> bytes:
    message: Any
    if data.reason is not None:
        message = mesh_pb2.Routing(error_reason=mesh_pb2.Routing.Error.Value(data.reason))
    elif data.user is not None:
        message = user(data.user)
    elif data.metrics is not None:
        metrics = telemetry_pb2.DeviceMetrics(
            channel_utilization=data.metrics.channel_utilization,
            air_util_tx=data.metrics.air_util_tx,
            uptime_seconds=data.metrics.uptime,
            battery_level=101,
            voltage=5.0,
        )
        message = telemetry_pb2.Telemetry(device_metrics=metrics)
    else:
        return data.payload
    return bytes(message.SerializeToString())


def client_packet(message: Any) -> ClientPacket | None:
    """A `MeshPacket` from the client; None when there is nothing in it that a radio could send."""
    if not message.HasField("decoded"):
        return None
    decoded = message.decoded
    data = Data(
        decoded.portnum,
        decoded.payload,
        request_id=decoded.request_id,
        reply_id=decoded.reply_id,
        emoji=decoded.emoji,
        want_response=decoded.want_response,
    )
    return ClientPacket(
        message.id,
        message.to,
        data,
        channel=message.channel,
        want_ack=message.want_ack,
        hop_limit=message.hop_limit or None,
        pki_demanded=message.pki_encrypted,
        public_key=message.public_key,
        sender=getattr(message, "from"),
        reliable_priority=message.priority == mesh_pb2.MeshPacket.Priority.RELIABLE,
    )
