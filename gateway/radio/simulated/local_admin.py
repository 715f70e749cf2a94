"""What a node does with an admin message from its own client (admin.proto), as far as clients of ours use it."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError
from meshtastic.protobuf import admin_pb2, mesh_pb2

from gateway.protocol.messages import BROADCAST
from gateway.radio.simulated import wire
from gateway.radio.simulated.frames import ClientPacket, Data, Port, Received, User
from gateway.radio.simulated.node import Node

SESSION_PASSKEY = b"\x01" * 8
OWNER_REBOOT_SECONDS = 7.0
"""Setting the owner reboots the node so much later."""


class LocalAdmin:
    """Attach to a node: ``node.on_local = LocalAdmin(node).handle``."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def handle(self, packet: ClientPacket) -> None:
        """Do it, answer what wants an answer, and acknowledge what wants that."""
        answer = self._admin(packet.data.payload) if packet.data.port == Port.ADMIN else None
        if answer is not None:
            self._reply(packet, answer)
        elif packet.want_ack:
            self._node.router.tell_own(packet.packet_id, "NONE")

    def _reply(self, packet: ClientPacket, answer: Any) -> None:
        answer.session_passkey = SESSION_PASSKEY
        data = Data(Port.ADMIN, answer.SerializeToString(), request_id=packet.packet_id)
        node = self._node
        node.phone.put(Received(node.number, node.number, node.router.new_id(), data))

    def _admin(self, payload: bytes) -> Any:
        try:
            message = admin_pb2.AdminMessage.FromString(payload)
        except DecodeError:
            return None
        kind = message.WhichOneof("payload_variant") or ""
        value = getattr(message, kind) if kind else None
        return self._question(kind, value) if kind.endswith("_request") else self._order(kind, value)

    def _question(self, kind: str, value: Any) -> Any:
        node = self._node
        answer = admin_pb2.AdminMessage()
        if kind == "get_owner_request":
            answer.get_owner_response.CopyFrom(wire.user(node.db.user, node))
        elif kind == "get_device_metadata_request":
            answer.get_device_metadata_response.CopyFrom(wire.metadata(node))
        elif kind == "get_channel_request" and value >= 1:
            answer.get_channel_response.CopyFrom(wire.channel(node, value - 1))
        elif kind == "get_config_request" and value < len(wire.CONFIGS):
            answer.get_config_response.CopyFrom(wire.config(node, wire.CONFIGS[value]))
        elif kind == "get_module_config_request" and value < len(wire.MODULES):
            answer.get_module_config_response.CopyFrom(wire.module_config(node, wire.MODULES[value]))
        else:
            return None
        return answer

    def _order(self, kind: str, value: Any) -> None:
        node = self._node
        if kind == "set_time_only":
            node.set_time(value)
        elif kind in ("set_favorite_node", "remove_favorite_node"):
            node.db.set_favorite(value, kind == "set_favorite_node")
        elif kind == "remove_by_nodenum":
            node.db.forget(value)
        elif kind == "add_contact":
            self._add_contact(value)
        elif kind == "set_owner":
            node.rename(value.long_name, value.short_name)
            node.mesh.after(OWNER_REBOOT_SECONDS, node.reboot)
        elif kind == "reboot_seconds" and value >= 0:
            node.mesh.after(value, node.reboot)

    def _add_contact(self, contact: Any) -> None:
        card: mesh_pb2.User = contact.user
        if contact.node_num not in (0, BROADCAST, self._node.number):
            self._node.db.learn(User(contact.node_num, card.long_name, card.short_name, card.public_key))
            self._node.db.save()
