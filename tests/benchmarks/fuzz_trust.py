"""A seeded storm of hostile texts through everything that touches text from the air; says how many, and how long.

    python tests/benchmarks/fuzz_trust.py [--count 20000] [--seed 1]

Ends with 1 at the first text that raises, gets in without leave, comes out dangerous, or takes longer than it may.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import replace

from gateway.protocol import commands
from gateway.protocol.admission import AccessRules, Admitted, Handheld, Refused, explain, judge
from gateway.protocol.inert import for_air, for_log, for_terminal
from gateway.protocol.messages import BROADCAST, ChannelInfo, ChannelPrivacy, IncomingText, RadioInfo
from gateway.protocol.redaction import Redactor

US, ANNA, KEY = 0xAA01, 0xBB02, bytes(range(32))
RADIO = RadioInfo(node=US, firmware="2.7.26.54e0d8d", channels=(ChannelInfo(1, "Family", ChannelPrivacy.PRIVATE),))
RULES = AccessRules(handhelds=(Handheld(ANNA, KEY, "Anna"),), channels=("Family",))
PIECES = (
    *"\x00\x07\x1b\x9b\x7f\n\r\t\v\u2028\u202e\u2066\u2069\u200b\u200d\u200c\ufeff\ufe0f\u0301\U000e0041\U000e01ef",
    *(
        "\x1b[31m",
        "\x1b]0;title\x07",
        "../../etc/passwd",
        "/dev/zero",
        "C:\\x",
        "[[link]]",
        "---\nprivate: true\n",
        "<%x%>",
    ),
    *(
        '" OR 1=1',
        "path:/./",
        "-" * 40,
        '"',
        "in:",
        "in:../",
        "* AND NEAR(",
        "%s%n{0}",
        "${HOME}",
        "`id`",
        "$(id)",
        "|",
        ";",
    ),
    *("?", "m", "r 2", "3", "+ note", "help", "stop", "well pump", "wasser", "水", "🧭", "👩‍👩‍👧", "कि", "می‌خ", "Z̶̡̛͙"),
    *(
        "password: x",
        "4111 1111 1111 1111 ",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "://a:b@",
        "1 ",
        "SNR 5 RSSI -90",
        "pong",
    ),
)
MOST_SECONDS = 0.5
"""For one text; a quadratic step would take far more on the long ones."""


def hostile_payload(rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.2:
        return rng.randbytes(rng.randrange(0, 260))
    text = "".join(rng.choice(PIECES) for _ in range(rng.randrange(0, 20)))
    if kind < 0.3:
        text = rng.choice(PIECES) * rng.randrange(1, 200)
    payload = text.encode("utf-8", "replace")
    return payload[: rng.randrange(len(payload) + 1)] if kind > 0.8 else payload


def hostile_packet(rng: random.Random, payload: bytes) -> IncomingText:
    try:
        text = payload.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    packet = IncomingText(rng.randrange(2**32), ANNA, US, 0, payload, text, KEY, transport="TRANSPORT_LORA")
    wrongs: tuple[dict[str, object], ...] = (
        {"sender": rng.randrange(2**32)},
        {"destination": rng.choice((BROADCAST, 0, rng.randrange(2**32)))},
        {"key": rng.choice((None, b"", rng.randbytes(32), bytes(32), rng.randbytes(5)))},
        {"via_mqtt": True},
        {"transport": rng.choice(("", "TRANSPORT_MULTICAST_UDP", "TRANSPORT_MQTT"))},
        {"is_reaction": True},
        {"channel": rng.randrange(-1, 8)},
    )
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        packet = replace(packet, **rng.choice(wrongs))  # type: ignore[arg-type]
    return packet


def attack(packet: IncomingText, redactor: Redactor) -> str:
    """One text through all of it; returns what became of it. Raises AssertionError for a broken promise."""
    verdict = judge(packet, RULES, RADIO)
    if isinstance(verdict, Refused):
        expect_inert(explain(verdict))
    else:
        assert packet.sender == ANNA, "a stranger was let in"
        assert packet.destination == BROADCAST or packet.key == KEY, "a wrong key was let in"
        assert verdict.key == KEY, "an answer without the handheld's key"
        expect_inert(verdict.text.replace("\n", " "))
        commands.parse(verdict.text)
    raw = packet.payload.decode("utf-8", "surrogateescape")
    expect_inert(for_log(raw))
    expect_inert(for_terminal(raw))
    expect_inert(for_air(raw).replace("\n", " "))
    assert redactor.redact(blanked := redactor.redact(raw)) == blanked, "redaction is not stable"
    commands.parse(raw)
    return "admitted" if isinstance(verdict, Admitted) else verdict.reason.value


def expect_inert(text: str) -> None:
    assert for_terminal(text) == text, f"not inert: {text!r}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, redactor = random.Random(options.seed), Redactor()
    ends: Counter[str] = Counter()
    slowest, started = 0.0, time.perf_counter()
    for number in range(options.count):
        packet = hostile_packet(rng, hostile_payload(rng))
        begun = time.perf_counter()
        try:
            ends[attack(packet, redactor)] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            print(f"text {number} of seed {options.seed}: {error!r}\n{packet!r}")
            return 1
        slowest = max(slowest, time.perf_counter() - begun)
    seconds = time.perf_counter() - started
    print(f"{options.count} texts in {seconds:.1f} s, the slowest took {slowest * 1000:.1f} ms; seed {options.seed}")
    print(", ".join(f"{end} {count}" for end, count in ends.most_common()))
    return 0 if slowest < MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
