"""The status as lines to read. Pure but for `VaultLook.of`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.config import Config
from gateway.protocol.inert import for_terminal
from gateway.protocol.messages import RadioInfo, node_id
from gateway.setup.console import count, iso_time, local_time, short_path, size, span
from gateway.setup.snapshot import Snapshot
from gateway.setup.vault_look import index_look, vault_info
from gateway.version import VERSION
from search_core.errors import SearchError

LABEL_COLUMNS = 10
Styled = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class VaultLook:
    """What there is to search; times in Unix seconds."""

    path: str
    trouble: str = ""
    notes: int = 0
    newest: float = 0.0
    index_place: str = ""
    index_bytes: int = 0
    index_modified: float | None = None
    engine: str = ""

    @classmethod
    def of(cls, config: Config) -> VaultLook:
        """Look at the vault and ask for Omnisearch; a large new vault takes a while."""
        path = str(config.vault.path)
        try:
            info = vault_info(config, engine=config.vault.source != "local")
        except SearchError as error:
            return cls(path, trouble=str(error))
        index = index_look(config, info)
        return cls(path, "", info.notes, info.newest, index.place, index.size, index.modified, info.engine)

    def as_object(self) -> dict[str, object]:
        return {
            "path": self.path,
            "trouble": self.trouble,
            "notes": self.notes,
            "newest": iso_time(self.newest) if self.newest else None,
            "index": self.index_place,
            "index_bytes": self.index_bytes,
            "index_modified": iso_time(self.index_modified) if self.index_modified else None,
            "engine": self.engine,
        }


def lines(
    snapshot: Snapshot,
    vault: VaultLook | None,
    now: float,
    styled: Styled = lambda text, _style: text,
    *,
    show_text: bool,
) -> list[str]:
    """The whole report. `now` in Unix seconds."""
    return [*_report(snapshot, vault, now, styled, show_text=show_text)]


def _report(
    snapshot: Snapshot, vault: VaultLook | None, now: float, styled: Styled, *, show_text: bool
) -> Iterator[str]:
    yield _row("gateway", _gateway(snapshot, now, styled))
    if snapshot.status:
        yield _row("radio", _radio(snapshot, now, styled))
        yield _row("heard", _heard(snapshot, now))
        yield _row("queue", _queue(snapshot))
        yield from _open_answers(snapshot, now)
        yield _row("airtime", _airtime(snapshot, now))
    yield from _vault(snapshot, vault, now, styled)
    if snapshot.status:
        yield from _questions(snapshot, styled, show_text=show_text)
        yield from _refusals(snapshot, now, styled)
        yield from _counters(snapshot)


def _row(label: str, text: str) -> str:
    return f"{label:<{LABEL_COLUMNS}}{text}"


def _gateway(snapshot: Snapshot, now: float, styled: Styled) -> str:
    written, started = snapshot.written_at(), snapshot.status.get("started")
    if snapshot.trouble and not snapshot.is_absent:
        return styled("unknown", "fault") + f": {short_path(snapshot.directory)}: {snapshot.trouble}"
    if written is None:
        return f"has not run yet: no state in {short_path(snapshot.directory)}; `meshseek serve` starts it"
    if snapshot.is_running(now):
        since = snapshot.wall(started) if isinstance(started, float | int) else written
        running = styled("running", "ok")
        return f"{running} for {span(now - since)}, since {local_time(since)} · meshseek {VERSION}"
    if snapshot.has_died(now):
        return styled("ended without a word", "fault") + f" after {local_time(written)}; `journalctl -u meshseek -e`"
    return styled("stopped", "warning") + f" since {local_time(written)}, {span(now - written)} ago"


def _radio(snapshot: Snapshot, now: float, styled: Styled) -> str:
    link, info = snapshot.table("link"), snapshot.radio
    named = _named(info) if info is not None else ""
    since = link.get("since")
    ago = f" for {span(now - snapshot.wall(since))}" if isinstance(since, float | int) else ""
    if not snapshot.is_running(now):
        return f"not connected · {named}" if named else "not connected"
    if link.get("up"):
        return styled("up", "ok") + f"{ago} · {named}"
    return styled("down", "fault") + f"{ago}: {for_terminal(str(link.get('reason', '')))}"


def _named(info: RadioInfo) -> str:
    settings = f"{info.lora.region} {info.lora.preset or 'custom'}"
    return for_terminal(f"{node_id(info.node)} · firmware {info.firmware or '?'} · {settings}")


def _heard(snapshot: Snapshot, now: float) -> str:
    heard = snapshot.status.get("last_heard")
    if not isinstance(heard, float | int):
        return "nothing yet"
    when = snapshot.wall(heard)
    return f"{span(now - when)} ago ({local_time(when)})"


def _queue(snapshot: Snapshot) -> str:
    queue = snapshot.table("queue")
    asked = snapshot.status.get("asked", 0)
    parts = [f"{asked} being searched"] if asked else []
    names = (("waiting", "waiting"), ("flying", "on the air"), ("parked", "parked until the handheld is heard"))
    parts += [f"{queue[key]} {name}" for key, name in names if queue.get(key)]
    paused = queue.get("paused_seconds") or 0
    parts += [f"sending paused for {span(paused)}"] if paused else []
    return ", ".join(parts) or "empty"


def _open_answers(snapshot: Snapshot, now: float) -> Iterator[str]:
    answers = snapshot.status.get("answers")
    for answer in answers if isinstance(answers, list) else ():
        why = f" ({answer['reason']})" if answer.get("reason") else ""
        how_far = f"{_stage(answer['stage'])}, part {answer['part']}/{answer['parts']}"
        yield _row(
            "",
            f"q {answer['question']} of {answer['node']}: {how_far}, "
            f"asked {span(now - snapshot.wall(answer['asked_at']))} ago{for_terminal(why)}",
        )


def _airtime(snapshot: Snapshot, now: float) -> str:
    airtime = snapshot.table("airtime")
    hour = "this hour" if snapshot.is_running(now) else "in its last hour"
    text = f"{airtime.get('spent_seconds', 0):g} s of {airtime.get('budget_seconds', 0):g} s {hour}"
    busy, own = airtime.get("channel_utilization"), airtime.get("air_util_tx")
    text += f" · channel {busy:.1f} % busy" if isinstance(busy, float | int) else ""
    return text + (f" · radio sent {own:.1f} % of the hour" if isinstance(own, float | int) else "")


def _vault(snapshot: Snapshot, vault: VaultLook | None, now: float, styled: Styled) -> Iterator[str]:
    if vault is None:
        yield _row("vault", "unknown: there is no config, or it cannot be read (`meshseek doctor`)")
        return
    if vault.trouble:
        yield _row("vault", styled(for_terminal(vault.trouble), "fault"))
        return
    newest = f", the newest of {local_time(vault.newest)}" if vault.newest else ""
    yield _row("vault", for_terminal(f"{short_path(vault.path)}: {count(vault.notes, 'note')}{newest}"))
    age = f", written {span(now - vault.index_modified)} ago" if vault.index_modified else ""
    place = "in memory only" if vault.index_place == "memory" else f"{size(vault.index_bytes)}{age}"
    last = snapshot.status.get("engine")
    used = f"; the last answer came from {last}" if last else ""
    yield _row("index", f"{place} · engine now: {vault.engine}{used}")


def _questions(snapshot: Snapshot, styled: Styled, *, show_text: bool) -> Iterator[str]:
    yield ""
    yield styled("The last questions:" if snapshot.questions else "No question yet.", "bold")
    for row in snapshot.questions:
        asked = local_time(snapshot.wall(row["asked_at"]))
        yield for_terminal(f"  q {row['number']:<5} {asked}  {node_id(row['node'])}  {_outcome(row)}")
        if show_text:
            text = snapshot.texts.get(row["number"])
            yield for_terminal(
                f"          {text}" if text else "          (answered or given up: its words are not kept)"
            )


def _outcome(row: Mapping[str, Any]) -> str:
    """How it ended, and what it took."""
    ended, why = row.get("ended_at"), row["reason"]
    took = f" after {ended - row['asked_at']:.0f} s" if isinstance(ended, float | int) else ""
    details = [row["kind"] or ""]
    details.append(f"searched in {row['search_ms']:.0f} ms" if row["search_ms"] is not None else "")
    details.append(count(row["parts"], "part") if row["parts"] else "")
    details.append(f"{row['airtime']:.1f} s on the air" if row["airtime"] else "")
    known = ", ".join(detail for detail in details if detail)
    return f"{_stage(row['stage'])}{took}" + (f": {why}" if why else "") + (f" ({known})" if known else "")


def _stage(name: object) -> str:
    """As people say it; the log and the JSON keep the word."""
    return "on the air" if name == "flying" else str(name)


def _refusals(snapshot: Snapshot, now: float, styled: Styled) -> Iterator[str]:
    if not snapshot.refusals:
        return
    yield ""
    yield styled("Ignored without an answer:", "bold")
    for row in snapshot.refusals:
        yield f"  {count(row['count'], 'time')}, last {span(now - snapshot.wall(row['last']))} ago: " + for_terminal(
            str(row["sentence"])
        )


def _counters(snapshot: Snapshot) -> Iterator[str]:
    others = {name: number for name, number in sorted(snapshot.counters.items()) if not name.startswith("refused-")}
    if others:
        yield ""
        yield "Counted since the beginning: " + ", ".join(f"{for_terminal(name)} {n:,}" for name, n in others.items())
