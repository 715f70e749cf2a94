"""The radio's side of its client's cable: what waits for the client, and the limits on what the client may send."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from gateway.protocol.messages import ClientNotice, QueueStatus
from gateway.radio.simulated.frames import MAX_PAYLOAD, ClientPacket, Data, Port, Received
from gateway.radio.simulated.transmitter import QUEUE_SLOTS

TEXT_GAP = 2.0
"""Seconds between two accepted texts, whatever their destinations (Default.h)."""
SLOW_GAPS = {Port.POSITION: 10.0, Port.WAYPOINT: 10.0, Port.ALERT: 10.0, Port.TELEMETRY: 10.0, Port.TRACEROUTE: 30.0}
"""Seconds, likewise."""
RECENT_IDS = 20
"""A client's packet id that is among the last so many is ignored without an answer."""
STATUS_SLOTS = 2
"""QueueStatus records that wait for the client (mesh-pb-constants.h)."""
CONTACT_SECONDS = 900.0
"""A serial client that has said nothing for so long counts as gone (SerialConsole.cpp)."""


@dataclass(frozen=True, slots=True)
class ConfigDownload:
    """The client asked for everything; the face tells it, ending with this number."""

    config_id: int


ToClient = ConfigDownload | QueueStatus | ClientNotice | Received


class PhoneApi:
    """One client at a time. `on_ready` is called when there is something to `pull`; it may pull at once."""

    def __init__(
        self,
        slots: int,
        now: Callable[[], float],
        submit: Callable[[ClientPacket], int],
        free: Callable[[], int],
        limited: Callable[[ClientPacket], None],
    ) -> None:
        self.on_ready: Callable[[], None] = _nobody
        self.never_silent = False
        """For an app in its owner's hand: it does not count as gone for having nothing to say."""
        self.lost_packets = 0
        """Pushed out of, or refused by, the full queue."""
        self._now = now
        self._submit = submit
        self._free = free
        self._limited = limited
        self._connected = False
        self._last_contact = -CONTACT_SECONDS
        self._slots = slots
        self._packets: deque[Received] = deque()
        self._status: deque[QueueStatus] = deque(maxlen=STATUS_SLOTS)
        self._pulse: QueueStatus | None = None
        self._notices: deque[ClientNotice] = deque(maxlen=STATUS_SLOTS)
        self._download: ConfigDownload | None = None
        self.forget_client()

    def forget_client(self) -> None:
        """What a reboot leaves of the client: nothing."""
        self._connected = False
        self._packets.clear()
        self._status.clear()
        self._notices.clear()
        self._pulse = None
        self._download = None
        self._recent_ids: deque[int] = deque(maxlen=RECENT_IDS)
        self._accepted_at: dict[int, float] = {}

    # --- what the client does ---------------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        silence = self._now() - self._last_contact
        return self._connected and (self.never_silent or silence < CONTACT_SECONDS)

    def want_config(self, config_id: int) -> None:
        self._last_contact = self._now()
        self._connected = True
        self._download = ConfigDownload(config_id)
        self.on_ready()

    def disconnect(self) -> None:
        """The client says goodbye: from now on everything is kept for the next one."""
        self._connected = False

    def heartbeat(self) -> None:
        """Answered in every state, also when packets do not flow."""
        self._last_contact = self._now()
        self._pulse = QueueStatus(0, 0, self._free(), QUEUE_SLOTS)
        self.on_ready()

    def accept(self, packet: ClientPacket) -> None:
        """Take a packet from the client: refuse it in one of the firmware's ways, or send it."""
        self._last_contact = self._now()
        if len(packet.data.payload) > MAX_PAYLOAD or packet.packet_id in self._recent_ids:
            return
        self._recent_ids.append(packet.packet_id)
        if self._too_soon(packet.data):
            self.put_status(packet.packet_id, 0)
            self._limited(packet)
            return
        self._accepted_at[packet.data.port] = self._now()
        result = self._submit(packet)
        self.put_status(packet.packet_id, result)

    def _too_soon(self, data: Data) -> bool:
        gap = TEXT_GAP if data.port == Port.TEXT else SLOW_GAPS.get(data.port, 0.0)  # type: ignore[call-overload]
        last = self._accepted_at.get(data.port)
        return last is not None and self._now() - last < gap

    # --- what waits for the client ----------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Nothing waits."""
        return not self._packets

    @property
    def waiting(self) -> int:
        return len(self._packets)

    def put_status(self, packet_id: int, res: int) -> None:
        self._status.append(QueueStatus(packet_id, res, self._free(), QUEUE_SLOTS))
        self._ready()

    def put_notice(self, notice: ClientNotice) -> None:
        self._notices.append(notice)
        self._ready()

    def put(self, packet: Received) -> None:
        """Keep a packet for the client; in a full queue a text pushes out the oldest, anything else is dropped."""
        if len(self._packets) >= self._slots:
            self.lost_packets += 1
            if not packet.is_text:
                return
            self._packets.popleft()
        self._packets.append(packet)
        self._ready()

    def _ready(self) -> None:
        if self.connected:
            self.on_ready()

    def pull(self) -> ToClient | None:
        """The next record for the client, None when there is none for now."""
        if self._pulse is not None:
            pulse, self._pulse = self._pulse, None
            return pulse
        if self._download is not None:
            download, self._download = self._download, None
            return download
        if not self.connected:
            return None
        for queue in (self._status, self._notices, self._packets):
            if queue:
                return queue.popleft()
        return None


def _nobody() -> None:
    """No client is attached: what comes waits."""
