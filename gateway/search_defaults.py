"""What `meshseek search` takes from the gateway's config: the vault, what it leaves out, and Omnisearch.

Reads three keys and checks only their types, without the gateway's config reader: that costs a fresh process
more than the search itself. The rest of the file is the gateway's business, and `meshseek doctor`'s.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from search_core.cli import Defaults
from search_core.omnisearch_place import OmnisearchSettings


def load_search_defaults(path: Path) -> Defaults:
    """The defaults from the config at `path`. Raises ValueError in one line that names the file."""
    import tomllib

    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {error}; correct it, or name the vault with --vault") from error
    vault = _table(raw, "vault")
    place = vault.get("path")
    if not isinstance(place, str) or not place:
        raise ValueError(f"{path}: vault.path is missing; add it, or name the vault with --vault")
    exclude = vault.get("exclude", [])
    if not isinstance(exclude, list) or not all(isinstance(item, str) for item in exclude):
        raise ValueError(f'{path}: vault.exclude must be a list of texts: ["one", "two"]')
    return Defaults(
        program="meshseek search",
        vault=place,
        exclude=tuple(exclude),
        omnisearch=_omnisearch(_table(raw, "omnisearch")),
        reads_config=True,
    )


def _table(raw: dict[str, Any], name: str) -> dict[str, Any]:
    table = raw.get(name, {})
    return table if isinstance(table, dict) else {}


def _omnisearch(table: dict[str, Any]) -> OmnisearchSettings:
    """The settings that have the type they should; `meshseek doctor` names those that have not."""
    default = OmnisearchSettings()
    known = default._asdict()
    return default._replace(**{key: value for key, value in table.items() if _fits(value, known.get(key))})


def _fits(value: object, default: object) -> bool:
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(default)
