"""Where Omnisearch listens for this vault: the environment, our settings, the plugin's own file, else its default.

``OMNISEARCH_URL`` (``http://host:port``; ``off`` never asks) goes before the settings, the settings before
the plugin's ``.obsidian/plugins/omnisearch/data.json``. That file travels with the vault, so whatever it
says, only loopback addresses are taken from it; another machine must be named in the environment, or
in the settings with `allow_remote`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from stat import S_ISREG
from typing import NamedTuple

DEFAULT_PORT = 51361
"""The plugin's default (settings/index.ts)."""
LOOPBACK = ("127.0.0.1", "::1")
"""The plugin binds ``localhost``, which is one of these and not always the first."""
ANY_ADDRESS = ("0.0.0.0", "::")
PLUGIN_FILE = ".obsidian/plugins/omnisearch/data.json"
MAX_PLUGIN_FILE = 1_000_000
"""Bytes; a real one has 2,000."""
ENVIRONMENT = "OMNISEARCH_URL"


class OmnisearchSettings(NamedTuple):
    """How Omnisearch is used. The defaults need no configuration."""

    enabled: str = "auto"
    """``auto``: unless the plugin's own settings say that its server is off; ``on``: even then; ``off``: never."""
    host: str = ""
    """Address to connect to; empty takes the plugin's, else both loopback addresses."""
    port: int = 0
    """0 takes the plugin's, else 51361."""
    deadline_seconds: float = 2.5
    """All a search that asks for Omnisearch alone may cost; measured answers take up to 1 s in vaults of 15 MB."""
    patience_seconds: float = 0.25
    """How long an automatic search waits for Omnisearch once the local answer is there."""
    allow_remote: bool = False
    """Allows a `host` on another machine: the questions and the found text then cross the network unencrypted."""


class Place(NamedTuple):
    """The addresses to try, and why these."""

    addresses: tuple[tuple[str, int], ...]
    named_by: str
    """Who named the port: for messages."""
    switched_off: str = ""
    """Why it is not worth asking; empty when it is."""
    remarks: tuple[str, ...] = ()
    wrongly_named: bool = False
    """Somebody named a place that is none: a mistake to be told, not a server that is away."""


def find(vault: str, settings: OmnisearchSettings, environ: Mapping[str, str]) -> Place:
    """Where to ask for the vault at `vault`; reads the plugin's settings file when nothing else names the place."""
    if settings.enabled == "off":
        return Place((), "configuration", "it is switched off in the configuration")
    url = environ.get(ENVIRONMENT, "").strip()
    if url:
        return _from_url(url)
    plugin = {} if settings.host and settings.port else _plugin_settings(vault)
    return _from_settings(settings, plugin)


def is_loopback(host: str) -> bool:
    return host in {"localhost", "::1"} or (host.startswith("127.") and host.replace(".", "").isdecimal())


def is_numeric(host: str) -> bool:
    """Whether it is written as an address: looking up a name can wait for many seconds where there is no network."""
    dots, colons = host.count("."), host.count(":")
    digits = "0123456789." if not colons else "0123456789abcdef:."
    return (dots == 3 or colons > 1) and set(host.lower()) <= set(digits)


def name_of(address: tuple[str, int]) -> str:
    """``host:port`` as it is written in a URL."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _from_url(url: str) -> Place:
    if url == "off":
        return Place((), ENVIRONMENT, f"it is switched off by {ENVIRONMENT}")
    scheme, _, rest = url.rpartition("://")
    netloc = rest.partition("/")[0]
    host, _, port = netloc.rpartition(":") if not netloc.endswith("]") and ":" in netloc else (netloc, "", "")
    host = host.strip("[]")
    number = _port_or_none(port) if port else DEFAULT_PORT
    if scheme not in {"", "http"} or not (host == "localhost" or is_numeric(host)) or number is None:
        right = f"it must be like http://127.0.0.1:{DEFAULT_PORT}, with the host in numbers, or off"
        return Place((), ENVIRONMENT, f"{ENVIRONMENT} is {url[:200]!r}; {right}", wrongly_named=True)
    return Place(_addresses(host, number), ENVIRONMENT)


def _from_settings(settings: OmnisearchSettings, plugin: Mapping[str, object]) -> Place:
    remarks = []
    host, port = settings.host, settings.port
    named_by = "configuration" if port else "plugin's data.json" if plugin.get("httpApiPort") else "default"
    if host and not is_loopback(host) and not settings.allow_remote:
        return Place((), "configuration", f"the host {host!r} is another machine, which must be allowed explicitly")
    if not host:
        host, remark = _plugin_host(plugin.get("DANGER_httpHost"))
        remarks += [remark] if remark else []
    if not port:
        port, remark = _plugin_port(plugin.get("httpApiPort"))
        remarks += [remark] if remark else []
    off = plugin.get("httpApiEnabled") is False and settings.enabled != "on" and not settings.host
    reason = "its HTTP server is switched off in the plugin's settings" if off else ""
    return Place(_addresses(host, port), named_by, reason, tuple(remarks))


def _plugin_host(value: object) -> tuple[str, str]:
    if not isinstance(value, str) or not value or value in ANY_ADDRESS or value == "localhost":
        return "localhost", ""
    if is_loopback(value):
        return value, ""
    return "localhost", f"the plugin's DANGER_httpHost {value[:60]!r} is another machine and was not asked"


def _plugin_port(value: object) -> tuple[int, str]:
    if value is None:
        return DEFAULT_PORT, ""
    port = _port_or_none(str(value)[:40])
    if port is None:
        return DEFAULT_PORT, f"the plugin's httpApiPort {str(value)[:40]!r} is no port; tried {DEFAULT_PORT}"
    return port, ""


def _port_or_none(text: str) -> int | None:
    digits = text.strip()
    number = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 5 else 0
    return number if 0 < number < 65536 else None


def _addresses(host: str, port: int) -> tuple[tuple[str, int], ...]:
    return tuple((name, port) for name in (LOOPBACK if host == "localhost" else (host,)))


def _plugin_settings(vault: str) -> dict[str, object]:
    data = _read_regular_file(f"{vault}/{PLUGIN_FILE}")
    if not data:
        return {}
    import json

    try:
        settings = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _read_regular_file(path: str) -> bytes:
    """The file's bytes; nothing when it is absent, no regular file (opening a pipe would wait for ever) or huge."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        status = os.fstat(descriptor)
        return os.read(descriptor, MAX_PLUGIN_FILE) if S_ISREG(status.st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)
