"""Where `meshseek pair` takes its nodes from; the dialogue itself is held in ``test_pairing.py``."""

from __future__ import annotations

import base64

import pytest
from setup_bench import Bench, setup_bench

from gateway.config import load_config
from gateway.errors import UsageError
from gateway.protocol.admission import RefusalReason, Refused, fingerprint
from gateway.protocol.budget import AirtimeBudget, AirtimeRules
from gateway.protocol.messages import NodeSeen, RadioInfo, node_id
from gateway.protocol.outbox import DeliveryRules, Outbox
from gateway.setup.pair import pair
from gateway.status import Board
from gateway.store import Store
from gateway.toml_tables import ConfigError

SECONDS = 8.0
NOW = 1_800_000_000.0
OTHER = b"o" * 32


def run(bench: Bench, *, node: str | None = None, key: bytes | None = None, yes: bool = True) -> int:
    text = base64.b64encode(key).decode() if key is not None else None
    return pair(str(bench.file), node=node, name=None, key=text, yes=yes, radio_seconds=SECONDS)


def a_gateway_ran(bench: Bench, *, nodes: tuple[NodeSeen, ...] = (), refused: Refused | None = None) -> None:
    """A state as a gateway leaves it that still runs (in this process)."""
    board = Board(NOW)
    board.note_radio(RadioInfo(node=1, nodes=nodes))
    if refused is not None:
        board.refuse(refused, NOW)
    store, budget = Store(bench.state), AirtimeBudget(AirtimeRules())
    report = board.report(Outbox(DeliveryRules(), budget, lambda: 1), budget, None, NOW)
    with store.transaction():
        board.write(store, report | {"wall": NOW}, NOW)
    store.close()


def allowed(bench: Bench) -> list[tuple[int, bytes]]:
    return [(handheld.node, handheld.key) for handheld in load_config(bench.file).access.handhelds]


def test_the_radio_itself_is_asked_when_no_gateway_runs(bench: Bench) -> None:
    bench.allowed = False
    bench.config()
    assert run(bench, node=node_id(bench.handheld.number)) == 0
    assert allowed(bench) == [(bench.handheld.number, bench.handheld.key)]
    assert bench.pty.wait_for(lambda: bench.pty.goodbyes == 1, timeout=2)


def test_a_running_gateway_is_asked_by_its_state_and_keeps_its_port(bench: Bench) -> None:
    bench.allowed = False
    bench.config()
    a_gateway_ran(bench, nodes=(NodeSeen(0x51, "Anna", key=OTHER),))
    assert run(bench, node="!00000051") == 0
    assert allowed(bench) == [(0x51, OTHER)]
    assert bench.pty.downloads == 0


def test_a_node_that_asked_and_was_refused_can_be_let_in(bench: Bench) -> None:
    bench.allowed = False
    bench.config()
    a_gateway_ran(bench, refused=Refused(RefusalReason.UNKNOWN_NODE, 0x52, OTHER))
    assert run(bench, node="!00000052") == 0
    assert allowed(bench) == [(0x52, OTHER)]


def test_with_number_and_key_no_radio_is_needed(bench: Bench) -> None:
    bench.allowed = False
    bench.replaced = {bench.pty.path: "/dev/nowhere"}
    bench.config()
    assert run(bench, node="!00000053", key=OTHER) == 0
    assert allowed(bench) == [(0x53, OTHER)]


def test_without_radio_and_key_the_options_are_named(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.replaced = {bench.pty.path: "/dev/nowhere"}
    bench.config()
    with pytest.raises(UsageError, match="--key"):
        run(bench, node="!00000053")
    out = capsys.readouterr().out
    assert "/dev/nowhere is not there" in out
    assert "--node and --key" in out


def test_without_a_terminal_the_nodes_are_listed_and_the_option_is_named(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.allowed = False
    bench.config()
    with pytest.raises(UsageError, match="--node"):
        run(bench)
    out = capsys.readouterr().out
    assert node_id(bench.handheld.number) in out
    assert fingerprint(bench.handheld.key) in out
    assert allowed(bench) == []


def test_without_a_terminal_consent_is_an_option(bench: Bench) -> None:
    bench.config()
    with pytest.raises(UsageError, match="--yes"):
        run(bench, node="!00000053", key=OTHER, yes=False)


def test_a_changed_key_is_never_taken_by_yes_alone(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.handheld_key = OTHER
    bench.config()
    assert run(bench, node=node_id(bench.handheld.number)) == 2
    assert "ALARM" in capsys.readouterr().out
    assert allowed(bench) == [(bench.handheld.number, OTHER)]


def test_a_mistake_elsewhere_in_the_config_does_not_matter(bench: Bench) -> None:
    bench.allowed = False
    bench.extra = "[limits]\nquestions_per_hour = 0\n"
    bench.config()
    assert run(bench, node="!00000053", key=OTHER) == 0


def test_a_mistake_about_the_radio_does(bench: Bench) -> None:
    bench.replaced = {"[radio]": "[radio]\nprot = 1"}
    bench.config()
    with pytest.raises(ConfigError, match=r"radio\.prot"):
        run(bench, node="!00000053", key=OTHER)


def test_a_radio_that_knows_nobody(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    (bench.home / "other").mkdir()
    with setup_bench(bench.home / "other", introduced=False) as lonely:
        lonely.allowed = False
        lonely.config()
        assert run(lonely) == 1
    assert "send any text from the handheld" in capsys.readouterr().out
