"""The pseudo-terminal face: what a client finds at the other end of the cable."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from meshtastic.protobuf import admin_pb2, mesh_pb2, portnums_pb2
from meshtastic.serial_interface import SerialInterface
from pubsub import pub
from simulated_bench import A, B
from simulated_cable import FAST, WAKE, Cable

from gateway.radio.simulated.frames import RadioSetup
from gateway.radio.simulated.handheld import Handheld
from gateway.radio.simulated.mesh import Mesh
from gateway.radio.simulated.node import Node, introduce
from gateway.radio.simulated.pty_radio import PtyRadio
from gateway.radio.simulated.serve import serve
from gateway.radio.simulated.stream import frame_bytes


class Bench:
    def __init__(self, link: str, *, speed: float = FAST, chatter: bool = False) -> None:
        self.mesh = Mesh(1)
        self.node = Node(self.mesh, A, RadioSetup(long_name="Gateway"))
        self.handheld = Handheld(self.mesh, B, "T-Deck")
        introduce(self.node, self.handheld.node)
        self.radio = PtyRadio(self.mesh, self.node, link=link, speed=speed, chatter=chatter)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(str(tmp_path / "radio"))
    with made.radio:
        yield made


@pytest.fixture
def cable(bench: Bench) -> Iterator[Cable]:
    made = Cable.of_tty(bench.radio.path)
    yield made
    made.close()


def test_the_start_up_conversation_comes_in_the_order_that_clients_rely_on(cable: Cable) -> None:
    os.write(cable.descriptor, WAKE)
    cable.say(want_config_id=4711)
    cable.read_until("config_complete_id")
    kinds = [message.WhichOneof("payload_variant") for message in cable.messages]
    assert kinds[:4] == ["my_info", "deviceuiConfig", "node_info", "metadata"]
    assert kinds[4:] == ["channel"] * 8 + ["config"] * 10 + ["moduleConfig"] * 13 + ["node_info", "config_complete_id"]
    assert cable.of("my_info")[0].my_node_num == A
    assert [info.user.long_name for info in cable.of("node_info")] == ["Gateway", "T-Deck"]
    assert cable.of("config_complete_id") == [4711]
    ids = [message.id for message in cable.messages]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(("config_id", "nodes", "channels"), [(69420, 1, 8), (69421, 2, 0)])
def test_a_client_may_ask_for_less(cable: Cable, config_id: int, nodes: int, channels: int) -> None:
    cable.say(want_config_id=config_id)
    cable.read_until("config_complete_id")
    assert (len(cable.of("node_info")), len(cable.of("channel"))) == (nodes, channels)


def test_nothing_is_said_before_it_is_asked_for_but_a_heartbeat_is_answered(bench: Bench, cable: Cable) -> None:
    bench.radio.call(lambda: bench.handheld.say("early", A))
    assert bench.radio.wait_for(lambda: bench.handheld.sent[0].tick == "delivered")
    cable.read(0.05)
    assert cable.bytes_seen == b""
    cable.say(heartbeat=mesh_pb2.Heartbeat())
    assert cable.read_until("queueStatus")[0].maxlen == 16
    cable.say(want_config_id=1)
    [packet] = [packet for packet in cable.read_until("packet") if packet.decoded.portnum == 1]
    assert packet.decoded.payload == b"early"
    assert (packet.pki_encrypted, packet.public_key) == (True, bench.handheld.key)


def test_garbage_from_the_client_is_passed_over(cable: Cable) -> None:
    os.write(cable.descriptor, b"AT+OK\r\n\x94\xc3\xff\xff\x94" + frame_bytes(b"\xff\xff\xff") + WAKE)
    cable.connect()
    cable.say(heartbeat=mesh_pb2.Heartbeat())
    assert cable.read_until("queueStatus")


def test_a_text_is_answered_with_a_status_and_an_acknowledgement(bench: Bench, cable: Cable) -> None:
    cable.connect()
    cable.text("ответ 📻")
    assert cable.read_until("queueStatus")[0].mesh_packet_id == 77
    [ack] = [packet for packet in cable.read_until("packet") if packet.decoded.request_id == 77]
    assert (getattr(ack, "from"), ack.decoded.payload) == (B, b"\x18\x00")
    assert bench.radio.call(lambda: [seen.text for seen in bench.handheld.seen]) == ["ответ 📻"]


def test_admin_messages_to_the_own_node_are_obeyed(bench: Bench, cable: Cable) -> None:
    cable.connect()
    orders = [
        admin_pb2.AdminMessage(set_time_only=1_800_000_000),
        admin_pb2.AdminMessage(set_favorite_node=B),
        admin_pb2.AdminMessage(get_owner_request=True),
    ]
    for number, order in enumerate(orders):
        data = mesh_pb2.Data(portnum=portnums_pb2.PortNum.ADMIN_APP, payload=order.SerializeToString())
        cable.say(packet=mesh_pb2.MeshPacket(to=A, id=900 + number, decoded=data, want_ack=True))
    packets = cable.read_until("packet", 3)
    answer = admin_pb2.AdminMessage.FromString(packets[2].decoded.payload)
    assert answer.get_owner_response.long_name == "Gateway"
    assert [packet.decoded.request_id for packet in packets] == [900, 901, 902]
    assert bench.radio.call(bench.node.time) >= 1_800_000_000
    assert bench.radio.call(lambda: bench.node.db.known[B].favorite)


def test_a_goodbye_keeps_what_comes_for_the_next_client(bench: Bench, cable: Cable) -> None:
    cable.connect()
    cable.say(disconnect=True)
    assert bench.radio.wait_for(lambda: bench.radio.goodbyes == 1)
    bench.radio.call(lambda: bench.handheld.say("while away", A))
    assert bench.radio.wait_for(lambda: bench.handheld.sent[0].tick == "delivered")
    cable.say(want_config_id=2)
    assert any(packet.decoded.payload == b"while away" for packet in cable.read_until("packet"))


def test_an_announced_reboot_is_told_and_an_unannounced_one_is_not(bench: Bench, cable: Cable) -> None:
    cable.connect()
    bench.radio.reboot(announce=True)
    assert cable.read_until("rebooted") == [True]
    cable.connect()
    bench.radio.reboot(announce=False)
    assert bench.radio.wait_for(lambda: bench.node.alive)
    cable.text("still on the air")
    assert bench.radio.wait_for(lambda: bool(bench.handheld.seen))
    cable.read(0.05)
    assert cable.messages == []
    cable.connect()


def test_an_unplugged_radio_gives_an_error_and_comes_back_under_another_name(bench: Bench, tmp_path: Path) -> None:
    first = Cable.of_tty(bench.radio.path)
    first.connect()
    bench.radio.unplug()
    assert not os.path.lexists(tmp_path / "radio")
    assert select.select([first.descriptor], [], [], 1)[0], "ready to read, and nothing there: what pyserial calls gone"
    with pytest.raises(OSError):
        os.write(first.descriptor, b"x")
    bench.radio.replug(str(tmp_path / "radio2"))
    assert bench.radio.path == str(tmp_path / "radio2")
    second = Cable.of_tty(bench.radio.path)
    second.connect()
    first.close()
    second.close()


def test_console_text_and_garbage_stand_between_frames(bench: Bench, cable: Cable) -> None:
    cable.connect()
    bench.radio.debug_text("INFO | hello")
    bench.radio.raw(b"\x94\xc3\x00")
    cable.say(heartbeat=mesh_pb2.Heartbeat())
    deadline = time.monotonic() + 3
    while b"INFO | hello\r\n\x94\xc3\x00" not in cable.bytes_seen and time.monotonic() < deadline:
        cable.bytes_seen += (
            os.read(cable.descriptor, 4096) if select.select([cable.descriptor], [], [], 0.05)[0] else b""
        )
    assert b"INFO | hello\r\n\x94\xc3\x00" in cable.bytes_seen


def test_a_frozen_radio_neither_reads_nor_writes_and_the_mesh_goes_on(bench: Bench, cable: Cable) -> None:
    cable.connect()
    bench.radio.freeze()
    cable.text("stuck")
    bench.radio.call(lambda: bench.handheld.say("are you there?", A))
    assert bench.radio.wait_for(lambda: bench.handheld.sent[0].tick == "delivered")
    cable.read(0.1)
    assert cable.messages == []
    assert bench.radio.call(lambda: bench.handheld.seen == [])
    bench.radio.thaw()
    assert bench.radio.wait_for(lambda: bool(bench.handheld.seen))
    assert any(packet.decoded.payload == b"are you there?" for packet in cable.read_until("packet"))


def test_closing_leaves_no_thread_no_descriptor_and_no_link(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        made = Bench(str(tmp_path / "radio"))
        with made.radio as radio:
            radio.unplug()
            radio.replug()
        radio.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert os.listdir(tmp_path) == []
    assert "simulated radio" not in {thread.name for thread in threading.enumerate()}


def test_a_file_in_the_place_of_the_link_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "radio"
    path.write_text("precious")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(FileExistsError), Bench(str(path)).radio:
        pass
    assert path.read_text() == "precious"
    assert len(os.listdir("/proc/self/fd")) == before
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        assert serve(str(path)) == 3
    assert errors.getvalue().count("\n") == 1


def test_what_goes_wrong_on_the_radios_thread_is_raised_by_close(tmp_path: Path) -> None:
    made = Bench(str(tmp_path / "radio"))
    made.radio.open()
    made.radio.call(lambda: made.mesh.after(0.1, lambda: 1 / 0))
    assert made.radio.wait_for(lambda: not made.radio.running)
    with pytest.raises(ZeroDivisionError):
        made.radio.close()


def test_the_unmodified_library_connects_and_talks(tmp_path: Path) -> None:
    texts: list[dict[str, Any]] = []
    acks: list[dict[str, Any]] = []

    def on_text(packet: Any, interface: Any) -> None:
        texts.append(packet)

    def on_routing(packet: Any, interface: Any) -> None:
        acks.append(packet)

    pub.subscribe(on_text, "meshtastic.receive.text")
    pub.subscribe(on_routing, "meshtastic.receive.routing")
    made = Bench(str(tmp_path / "radio"), chatter=True)
    with made.radio as radio:
        interface = SerialInterface(radio.path, timeout=10)
        assert interface.myInfo is not None
        assert interface.myInfo.my_node_num == A
        asked = radio.call(lambda: made.handheld.say("где мой бэкап? 📼", A))
        assert radio.wait_for(lambda: bool(texts))
        sent = interface.sendText("x" * 205, B, wantAck=True, replyId=asked.packet_id)
        assert radio.wait_for(lambda: any(a["decoded"]["requestId"] == sent.id and a["from"] == B for a in acks))
        interface.close()
        assert radio.wait_for(lambda: radio.goodbyes == 1)
    assert texts[0]["decoded"]["text"] == "где мой бэкап? 📼"
    assert (texts[0]["pkiEncrypted"], texts[0]["fromId"]) == (True, "!0000bb02")
    assert [(seen.size, seen.reply_id) for seen in made.handheld.seen] == [(205, asked.packet_id)]


def test_serve_prints_the_path_and_what_happens_and_ends_on_a_signal(tmp_path: Path) -> None:
    link = str(tmp_path / "radio")
    program = f"from gateway.radio.simulated.serve import serve; raise SystemExit(serve({link!r}, speed=20))"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == f"{link}\n"
    process.stdout.readline()
    process.stdin.write("hello radio\n")
    process.stdin.flush()
    assert "your message: delivered" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=10)
    assert (process.returncode, errors, os.path.lexists(link)) == (0, "", False)
