"""The configuration: one TOML file in, frozen objects out, and every mistake at once."""

from __future__ import annotations

import base64
import binascii
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.protocol.admission import KEY_BYTES, AccessRules, Handheld, PrivacyRules
from gateway.protocol.budget import AirtimeRules
from gateway.protocol.limits import QuestionLimits
from gateway.protocol.messages import node_number
from gateway.protocol.outbox import DeliveryRules
from gateway.protocol.redaction import compile_pattern
from gateway.radio.devices import RadioTarget
from gateway.toml_tables import ConfigError, Problem, Table
from search_core.omnisearch_place import OmnisearchSettings

MAX_CONFIG_BYTES = 1_000_000
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class VaultConfig:
    path: Path
    exclude: tuple[str, ...] = ()
    source: str = "auto"
    omnisearch: OmnisearchSettings = field(default_factory=OmnisearchSettings)


@dataclass(frozen=True, slots=True)
class RadioConfig:
    target: RadioTarget = field(default_factory=RadioTarget)
    remember_handhelds: bool = True
    """Make allowed handhelds favourites of the radio, so that it does not forget their keys."""


@dataclass(frozen=True, slots=True)
class Config:
    """Everything the gateway is told, checked."""

    file: Path
    vault: VaultConfig
    radio: RadioConfig = field(default_factory=RadioConfig)
    access: AccessRules = field(default_factory=AccessRules)
    privacy: PrivacyRules = field(default_factory=PrivacyRules)
    limits: QuestionLimits = field(default_factory=QuestionLimits)
    airtime: AirtimeRules = field(default_factory=AirtimeRules)
    delivery: DeliveryRules = field(default_factory=DeliveryRules)
    notes_inbox: str = ""
    """Path in the vault of the note that field notes are appended to; empty: field notes are off."""
    state_directory: Path | None = None
    """None: where the system keeps such things (`gateway.places.state_directory`)."""
    cache_directory: Path | None = None
    """Where the search index is kept; None: the user's cache directory. Not in the file: systemd sets it."""
    prometheus_file: Path | None = None
    log_level: str = "info"


def load_config(path: str | Path) -> Config:
    """Read and check the file. Raises ConfigError with every mistake in it."""
    config, problems = examine_config(path)
    if problems:
        raise ConfigError(str(config.file), problems)
    return config


def examine_config(path: str | Path) -> tuple[Config, tuple[Problem, ...]]:
    """What the file says, with the default for whatever is wrong in it, and all that is wrong.

    For those who look rather than serve. Raises ConfigError when it cannot be read as TOML at all.
    """
    file = Path(path).expanduser()
    problems: list[Problem] = []
    root = Table.root(_parse(file), problems)
    config = _build(file, root)
    root.close()
    return config, tuple(problems)


def _parse(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            text = stream.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise ConfigError(str(file), [Problem("", "", f"cannot be read: {error.strerror}")]) from error
    if len(text) > MAX_CONFIG_BYTES:
        raise ConfigError(str(file), [Problem("", "", "is over 1 MB, which no config is")])
    try:
        return tomllib.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(str(file), [Problem("", "", f"is no text in UTF-8 (byte {error.start + 1})")]) from error
    except RecursionError as error:
        raise ConfigError(str(file), [Problem("", "", "is nested deeper than any config")]) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(file), [Problem("TOML", "", f"{error}; texts stand in quotes")]) from error


def _build(file: Path, root: Table) -> Config:
    vault = _vault(root)
    privacy = _privacy(root)
    return Config(
        file=file,
        vault=vault,
        radio=_radio(root),
        access=_access(root),
        privacy=privacy,
        limits=_limits(root),
        airtime=_airtime(root),
        delivery=_delivery(root),
        notes_inbox=_notes(root),
        state_directory=_state(root),
        prometheus_file=_status(root),
        log_level=_log(root),
    )


def _vault(root: Table) -> VaultConfig:
    table = root.table("vault")
    path = Path(table.text("path", required=True)).expanduser()
    if path != Path() and not path.is_dir():
        table.report("path", str(path), "is not a folder on this machine", outside=True)
    vault = VaultConfig(
        path=path,
        exclude=table.texts("exclude"),
        source=table.text("source", "auto", allowed=("auto", "omnisearch", "local")),
        omnisearch=_omnisearch(root),
    )
    table.close()
    return vault


def _omnisearch(root: Table) -> OmnisearchSettings:
    table = root.table("omnisearch")
    default = OmnisearchSettings()
    settings = OmnisearchSettings(
        enabled=table.text("enabled", default.enabled, allowed=("auto", "on", "off")),
        host=table.text("host", default.host),
        port=table.integer("port", default.port, 0, 65535),
        deadline_seconds=table.number("deadline_seconds", default.deadline_seconds, 0.1, 30),
        patience_seconds=table.number("patience_seconds", default.patience_seconds, 0, 10),
        allow_remote=table.flag("allow_remote", default.allow_remote),
    )
    table.close()
    return settings


def _radio(root: Table) -> RadioConfig:
    table = root.table("radio")
    port, tcp, ble = table.text("port"), table.text("tcp"), table.text("ble")
    named = [name for name, value in (("port", port), ("tcp", tcp), ("ble", ble)) if value]
    if len(named) > 1:
        table.report(
            named[1], {"tcp": tcp, "ble": ble}[named[1]], f"cannot stand beside {named[0]}: there is one radio"
        )
    target = RadioTarget() if port == "auto" else RadioTarget(serial=port, ble=ble)
    if tcp:
        target = table.parsed("tcp", tcp, RadioTarget.from_tcp, 'must be like "host:4403"') or target
    radio = RadioConfig(target, table.flag("remember_handhelds", True))
    table.close()
    return radio


def _access(root: Table) -> AccessRules:
    table = root.table("access")
    default = AccessRules()
    handhelds = tuple(h for entry in table.tables("handheld") if (h := _handheld_or_none(entry)) is not None)
    _expect_distinct(table, handhelds)
    channel_reply = table.text("channel_reply", default.channel_reply, allowed=("direct", "channel"))
    rules = AccessRules(
        handhelds=handhelds,
        channels=table.texts("channels"),
        channel_prefix=table.text("channel_prefix", default.channel_prefix),
        channel_reply="channel" if channel_reply == "channel" else "direct",
        open=table.flag("open", default.open),
        shared_folders=table.texts("shared_folders"),
    )
    if rules.channels and not rules.channel_prefix.strip():
        table.report("channel_prefix", rules.channel_prefix, "must not be blank: all talk would be taken for questions")
    table.close()
    return rules


def _handheld_or_none(table: Table) -> Handheld | None:
    node_text, key_text = table.text("node", required=True), table.text("key", required=True)
    name, folders = table.text("name"), table.texts("folders")
    table.close()
    form = 'must be "!" and eight hexadecimal digits, as the app shows it'
    node = table.parsed("node", node_text, node_number, form) if node_text else None
    form = f"must be the base64 of the {KEY_BYTES} bytes of its public key; `meshseek pair` writes it"
    key = table.parsed("key", key_text, parse_key, form) if key_text else None
    if node is None or key is None:
        return None
    return Handheld(node=node, key=key, name=name, folders=folders)


def parse_key(text: str) -> bytes:
    """The 32 bytes of a public key from base64. Raises ValueError."""
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("is no base64") from error
    if len(key) != KEY_BYTES:
        raise ValueError(f"it has {len(key)} bytes")
    if not any(key):
        raise ValueError("it is all zeros")
    return key


def _expect_distinct(table: Table, handhelds: tuple[Handheld, ...]) -> None:
    for what, values in (("node", [h.node for h in handhelds]), ("key", [h.key for h in handhelds])):
        if len(set(values)) < len(values):
            table.report("handheld", None, f"two entries have the same {what}: remove one")


def _privacy(root: Table) -> PrivacyRules:
    table = root.table("privacy")
    default = PrivacyRules()
    patterns = table.texts("patterns")
    for pattern in patterns:
        table.parsed("patterns", pattern, compile_pattern, "is not a pattern that runs in linear time")
    rules = PrivacyRules(
        private_key=table.text("private_key", default.private_key),
        private_tags=tuple(tag.lstrip("#") for tag in table.texts("private_tags")),
        redact=table.flag("redact", default.redact),
        patterns=patterns,
    )
    table.close()
    return rules


def _limits(root: Table) -> QuestionLimits:
    table = root.table("limits")
    default = QuestionLimits()
    limits = QuestionLimits(
        per_hour=table.integer("questions_per_hour", default.per_hour, 1, 1000),
        repeat_seconds=table.number("repeat_seconds", default.repeat_seconds, 0, HOUR),
        backlog_seconds=60 * table.number("backlog_minutes", default.backlog_seconds / 60, 0, 24 * 60),
    )
    table.close()
    return limits


def _airtime(root: Table) -> AirtimeRules:
    table = root.table("airtime")
    default = AirtimeRules()
    rules = AirtimeRules(
        hour_percent=table.number("hour_percent", default.hour_percent, 0.1, 100),
        node_percent=table.number("node_percent", default.node_percent, 1, 100),
        target_bytes=table.integer("target_bytes", default.target_bytes, 60, 215),
    )
    table.close()
    return rules


def _delivery(root: Table) -> DeliveryRules:
    table = root.table("delivery")
    default = DeliveryRules()
    hours = table.number("keep_parked_hours", default.keep_parked_seconds / HOUR, 0, 24 * 7)
    table.close()
    return DeliveryRules(keep_parked_seconds=hours * HOUR)


def _notes(root: Table) -> str:
    table = root.table("notes")
    inbox = table.text("inbox")
    parts = inbox.split("/")
    if inbox and (
        inbox.startswith("/") or ".." in parts or not inbox.endswith(".md") or any(p[:1] == "." for p in parts)
    ):
        table.report("inbox", inbox, 'must be a note in the vault, like "Inbox/From the field.md"')
    table.close()
    return inbox


def _state(root: Table) -> Path | None:
    table = root.table("state")
    directory = table.text("directory")
    table.close()
    return Path(directory).expanduser() if directory else None


def _status(root: Table) -> Path | None:
    table = root.table("status")
    file = table.text("prometheus_file")
    if file and not file.endswith(".prom"):
        table.report("prometheus_file", file, "must end in .prom, else node_exporter does not read it")
    table.close()
    return Path(file).expanduser() if file else None


def _log(root: Table) -> str:
    table = root.table("log")
    level = table.text("level", "info", allowed=("debug", "info", "warning", "error"))
    table.close()
    return level
