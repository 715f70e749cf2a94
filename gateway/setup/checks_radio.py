"""Checks of the radio's side: device file, permission, who holds it, settings, keys, handhelds, channels.

While the gateway runs the port is its own: then what the radio said of itself is read from the gateway's state.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gateway.protocol.admission import (
    AccessRules,
    Handheld,
    RefusalReason,
    Refused,
    check_channels,
    explain,
    fingerprint,
)
from gateway.protocol.messages import ChannelPrivacy, NodeSeen, RadioInfo, node_id
from gateway.radio.devices import (
    DeviceProblem,
    Holder,
    Locator,
    held_problem,
    holders,
    permission_problem,
    printable,
    usb_serials,
)
from gateway.radio.radio_info import Advice, advice
from gateway.setup.console import local_time
from gateway.setup.findings import FAULT, OK, WARNING, Finding, Findings, Scene, from_sentence
from gateway.setup.radio_look import look

PLUG_IN = "plug it in with a data cable; `ls -l /dev/serial/by-id` shows what is there"
RESTART = "unplug it, wait ten seconds, plug it in again"
HEAR_FROM = "send any text from it to this radio, wait a minute and run this again"


def check_device(scene: Scene) -> Findings:
    if scene.config is None:
        return
    target = scene.config.radio.target
    if target.tcp_host or target.ble:
        yield Finding("device", OK, f"{target}, no device file")
        return
    try:
        path = Locator(target).locate()
    except (DeviceProblem, OSError) as problem:
        yield from_sentence("device", FAULT, str(problem), PLUG_IN)
        return
    if not _may_be_serial(path):
        yield Finding("device", FAULT, f"{path} is not a serial device", "correct [radio] port in the config")
        return
    yield _device_name(path)
    yield from _permission(scene, path)


def _may_be_serial(path: str) -> bool:
    """A character device that the kernel does not say to be something else than a terminal."""
    found = Path(path).stat()
    if not stat.S_ISCHR(found.st_mode):
        return False
    number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    kind = Path(os.path.realpath(f"/sys/dev/char/{number}/subsystem")).name
    return kind in {"subsystem", "tty"}  # Pseudo-terminals are not listed there.


def _device_name(path: str) -> Finding:
    lasting = next((d.by_id for d in usb_serials() if path == d.device and d.by_id), "")
    if lasting:
        remedy = f'set [radio] port = "{lasting}"'
        return Finding("device", WARNING, f"{path}: this name changes when things are plugged in anew", remedy)
    return Finding("device", OK, path)


def _permission(scene: Scene, path: str) -> Findings:
    if not os.access(path, os.R_OK | os.W_OK):
        yield from_sentence("permission", FAULT, permission_problem(path))
        return
    scene.device = path
    yield Finding("permission", OK, "this user may open it")


def check_holder(scene: Scene) -> Findings:
    if not scene.device:
        return
    own = scene.snapshot.process if scene.snapshot is not None and scene.is_running else None
    found = holders(scene.device)
    if any(holder.pid == own for holder in found):
        yield Finding("port", OK, f"held by the gateway itself (pid {own})")
        return
    others = () if os.path.realpath(scene.device).startswith("/dev/pts/") else found
    if not others:
        yield Finding("port", OK, "nobody else is seen to hold it")
        return
    scene.device = ""
    yield _held(scene, others)


def _held(scene: Scene, others: tuple[Holder, ...]) -> Finding:
    assert scene.config is not None
    return from_sentence("port", FAULT, held_problem(str(scene.config.radio.target), others))


def check_radio(scene: Scene) -> Findings:
    if scene.config is None:
        return
    if scene.is_running:
        yield from _radio_of_gateway(scene)
    elif not scene.radio_seconds:
        return
    elif scene.snapshot is not None and scene.snapshot.is_closed:
        yield Finding(
            "radio", WARNING, "not asked: a gateway may run, but its state may not be read", "see state below"
        )
    elif scene.device or scene.config.radio.target.tcp_host or scene.config.radio.target.ble:
        scene.announce(f"asking the radio, up to {scene.radio_seconds:.0f} s …")
        found = look(scene.config.radio.target, scene.radio_seconds)
        if isinstance(found, str):
            yield from_sentence("radio", FAULT, found, RESTART)
        else:
            scene.info = found
    else:
        yield Finding("radio", WARNING, "not asked, since its device cannot be opened", "see above")
    if scene.info is not None:
        yield from _settings(scene, scene.info)


def _radio_of_gateway(scene: Scene) -> Findings:
    """The port is the gateway's: its state tells."""
    assert scene.snapshot is not None
    link = scene.snapshot.table("link")
    scene.info = scene.snapshot.radio
    if not link.get("up"):
        since = link.get("since")
        when = f" since {local_time(scene.snapshot.wall(since))}" if isinstance(since, float | int) else ""
        found = from_sentence("radio", FAULT, printable(str(link.get("reason") or "not yet connected"), 600))
        yield Finding("radio", FAULT, f"the gateway has no link{when}: {found.text}", _link_remedy(scene, found.remedy))
    elif scene.info is None:
        yield Finding(
            "radio", WARNING, "the gateway has not written yet what the radio is", "run this again in a minute"
        )


def _link_remedy(scene: Scene, found: str) -> str:
    """What the sentence about the link says itself, unless it ends with mere causes."""
    target = scene.config.radio.target if scene.config is not None else None
    if target is not None and (target.tcp_host or target.ble):
        return found or "is the radio on and within reach? the gateway tries again by itself"
    return f"{found}: {PLUG_IN}" if found.startswith("unplugged") else found or RESTART


def _settings(scene: Scene, info: RadioInfo) -> Findings:
    lora = info.lora
    yield Finding(
        "radio",
        OK,
        f"{node_id(info.node)}, firmware {printable(info.firmware, 40) or 'unknown'}, region {lora.region}, "
        f"preset {lora.preset or 'custom'}, role {info.role}, hop limit {lora.hop_limit}",
    )
    for one in advice(info):
        if not _is_about_unused_channel(one, scene):
            yield from_sentence("radio", FAULT if one.serious else WARNING, one.text)


def _is_about_unused_channel(one: Advice, scene: Scene) -> bool:
    """Every new radio has a public channel; while nothing is answered on channels that is no cause for a warning."""
    uses_channels = scene.config is not None and bool(scene.config.access.channels)
    return not uses_channels and one.kind.startswith(("public-channel-", "uplink-"))


def check_keys(scene: Scene) -> Findings:
    if scene.info is None:
        return
    if scene.info.key is None:
        remedy = "set its region, then restart it (`meshtastic --reboot`)"
        yield Finding("key", FAULT, "the radio has no key of its own, so nobody can ask in secret", remedy)
        return
    yield Finding("key", OK, f"the radio's own, fingerprint {fingerprint(scene.info.key)}")


def check_handhelds(scene: Scene) -> Findings:
    if scene.config is None:
        return
    rules = scene.config.access
    if not rules.handhelds:
        yield from _nobody_paired(rules)
    for handheld in rules.handhelds:
        name = f"{node_id(handheld.node)}, fingerprint {fingerprint(handheld.key)}"
        if scene.info is None:
            yield Finding("handheld", OK, f"{name}: not compared, since the radio was not asked")
        else:
            yield _compared(handheld, name, scene.info)
    if rules.open:
        yield Finding(
            "handheld", WARNING, "anybody in radio range may ask", "set [access] open = false for private notes"
        )


def _nobody_paired(rules: AccessRules) -> Findings:
    if not rules.open and not (rules.channels and rules.channel_reply == "channel"):
        yield Finding("handheld", FAULT, "none is configured, so nobody may ask", "`meshseek pair` lets one in")


def _compared(handheld: Handheld, name: str, info: RadioInfo) -> Finding:
    known = next((node for node in info.nodes if node.node == handheld.node), None)
    if known is None or known.key is None:
        what = "the radio has not met it yet" if known is None else "the radio does not know its key yet"
        return Finding("handheld", WARNING, f"{name}: {what}", HEAR_FROM)
    if known.key != handheld.key:
        return _other_key(handheld, known)
    heard = f", last heard {local_time(known.last_heard)}" if known.last_heard else ""
    return Finding("handheld", OK, f"{name}: known to the radio with this key{heard}")


def _other_key(handheld: Handheld, known: NodeSeen) -> Finding:
    alarm = explain(Refused(RefusalReason.KEY_MISMATCH, handheld.node, known.key, handheld.key))
    text, _, remedy = alarm.partition(". ")
    return Finding("handheld", FAULT, text.replace("asked with key", "is known to the radio with key"), remedy)


def check_channels_used(scene: Scene) -> Findings:
    if scene.config is None:
        return
    rules = scene.config.access
    if not rules.channels:
        public = scene.info is not None and any(c.privacy is ChannelPrivacy.PUBLIC for c in scene.info.channels)
        note = "; the radio's public channel does no harm" if public else ""
        yield Finding("channels", OK, f"none: questions are heard in direct messages only{note}")
        return
    if scene.info is None:
        yield Finding("channels", OK, "not compared, since the radio was not asked")
        return
    troubles = check_channels(rules, scene.info)
    for trouble in troubles:
        yield Finding("channels", FAULT, trouble, "change the channel on the radio, or [access] channels in the config")
    if not troubles:
        yield Finding("channels", OK, f"private, as they should be: {', '.join(map(printable, rules.channels))}")
