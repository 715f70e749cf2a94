"""What may be handed to a radio at all. Pure."""

from __future__ import annotations

from gateway.protocol.messages import OutgoingPacket
from gateway.radio.packets_in import KEY_BYTES
from gateway.radio.port import RadioRejected

MAX_TEXT_BYTES = 233
"""mesh.proto, Constants.DATA_PAYLOAD_LEN."""


def payload_of(packet: OutgoingPacket) -> bytes:
    """The text's bytes. Raises RadioRejected for what no radio would take, or would take for something else."""
    payload = packet.text.encode("utf-8", "surrogatepass")
    if len(payload) > MAX_TEXT_BYTES:
        raise RadioRejected(f"{len(payload)} bytes of text, {MAX_TEXT_BYTES} is the most that a packet takes")
    if packet.packet_id == 0:
        raise RadioRejected("packet id 0 is no id")
    if packet.key is not None and (len(packet.key) != KEY_BYTES or not any(packet.key)):
        # Router.cpp takes a key of zeros for none, and would encrypt with whatever key it has.
        raise RadioRejected("not a 32-byte key")
    return payload
