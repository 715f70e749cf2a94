"""Where Omnisearch is looked for: the environment, the settings, the plugin's file, the default; in this order."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search_core.omnisearch_place import ENVIRONMENT, PLUGIN_FILE, OmnisearchSettings, find, name_of

DEFAULT = (("127.0.0.1", 51361), ("::1", 51361))


def write(vault: Path, text: str) -> None:
    (vault / PLUGIN_FILE).parent.mkdir(parents=True, exist_ok=True)
    (vault / PLUGIN_FILE).write_text(text)


def addresses(vault: Path, plugin: object = None, url: str = "", **ours: object) -> tuple[tuple[str, int], ...]:
    if plugin is not None:
        write(vault, json.dumps(plugin))
    return find(str(vault), OmnisearchSettings(**ours), {ENVIRONMENT: url}).addresses  # type: ignore[arg-type]


def test_without_any_file_the_default_port_on_both_loopbacks(tmp_path: Path) -> None:
    place = find(str(tmp_path), OmnisearchSettings(), {})
    assert (place.addresses, place.switched_off, place.remarks) == (DEFAULT, "", ())


@pytest.mark.parametrize("port", ["51400", 51400, " 51400 "])
def test_the_plugins_port(tmp_path: Path, port: object) -> None:
    assert addresses(tmp_path, {"httpApiPort": port}) == (("127.0.0.1", 51400), ("::1", 51400))


@pytest.mark.parametrize("port", ["", "abc", "0", "65536", "99999999999999", "-1", "5e3", "٥١٣٦١", None, [], True, {}])
def test_a_junk_port_is_the_default(tmp_path: Path, port: object) -> None:
    assert addresses(tmp_path, {"httpApiPort": port}) == DEFAULT


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '{"httpApiPort": ', "[" * 100_000, "\0"])
def test_a_junk_file_is_no_file(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    assert find(str(tmp_path), OmnisearchSettings(), {}).addresses == DEFAULT


def test_an_old_file_without_the_keys_is_tried(tmp_path: Path) -> None:
    write(tmp_path, '{"fuzziness": "0"}')
    assert find(str(tmp_path), OmnisearchSettings(), {}).switched_off == ""


def test_a_pipe_in_place_of_the_file_does_not_wait(tmp_path: Path) -> None:
    (tmp_path / PLUGIN_FILE).parent.mkdir(parents=True)
    os.mkfifo(tmp_path / PLUGIN_FILE)
    assert addresses(tmp_path) == DEFAULT


def test_switched_off_in_the_plugin(tmp_path: Path) -> None:
    write(tmp_path, '{"httpApiEnabled": false}')
    assert "switched off in the plugin" in find(str(tmp_path), OmnisearchSettings(), {}).switched_off
    assert find(str(tmp_path), OmnisearchSettings(enabled="on"), {}).switched_off == ""


def test_switched_off_by_us_reads_nothing(tmp_path: Path) -> None:
    assert find(str(tmp_path), OmnisearchSettings(enabled="off"), {ENVIRONMENT: "http://127.0.0.1:1"}).addresses == ()
    assert find(str(tmp_path), OmnisearchSettings(), {ENVIRONMENT: "off"}).switched_off


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "localhost", "", None, 7])
def test_the_plugins_host_that_means_here(tmp_path: Path, host: object) -> None:
    assert addresses(tmp_path, {"DANGER_httpHost": host}) == DEFAULT


def test_the_plugins_host_on_another_machine_is_not_asked(tmp_path: Path) -> None:
    for host in ("192.168.1.5", "evil.example", "127.0.0.1.evil.example"):
        write(tmp_path, json.dumps({"DANGER_httpHost": host}))
        place = find(str(tmp_path), OmnisearchSettings(), {})
        assert place.addresses == DEFAULT
        assert host in place.remarks[0]


def test_the_plugins_loopback_address_is_taken(tmp_path: Path) -> None:
    assert addresses(tmp_path, {"DANGER_httpHost": "127.0.0.2"}) == (("127.0.0.2", 51361),)


def test_our_settings_go_before_the_plugins(tmp_path: Path) -> None:
    plugin = {"httpApiPort": "51400", "DANGER_httpHost": "127.0.0.2"}
    assert addresses(tmp_path, plugin, port=7, host="::1") == (("::1", 7),)
    assert addresses(tmp_path, plugin, port=7) == (("127.0.0.2", 7),)


def test_another_machine_must_be_allowed(tmp_path: Path) -> None:
    refused = find(str(tmp_path), OmnisearchSettings(host="10.0.0.7"), {})
    assert refused.addresses == ()
    assert "allowed explicitly" in refused.switched_off
    assert addresses(tmp_path, host="10.0.0.7", allow_remote=True) == (("10.0.0.7", 51361),)


URLS = {
    "http://127.0.0.1:7": (("127.0.0.1", 7),),
    "http://127.0.0.1:7/search": (("127.0.0.1", 7),),
    "http://[::1]:7": (("::1", 7),),
    "http://[::1]": (("::1", 51361),),
    "http://localhost:7": (("127.0.0.1", 7), ("::1", 7)),
    "10.0.0.7:7": (("10.0.0.7", 7),),
    "https://127.0.0.1:7": (),
    "http://127.0.0.1:x": (),
    "http://:7": (),
    "://": (),
    "junk": (),
    "http://obsidian.example:7": (),
    "http://user@127.0.0.1:7": (),
    "127.0.0.1.evil.example": (),
}


@pytest.mark.parametrize(("url", "expected"), URLS.items())
def test_the_environment_goes_first(tmp_path: Path, url: str, expected: tuple[tuple[str, int], ...]) -> None:
    assert addresses(tmp_path, {"httpApiPort": "51400", "httpApiEnabled": False}, url, port=9) == expected


@pytest.mark.parametrize("url", [url for url, expected in URLS.items() if not expected])
def test_a_place_that_is_none_is_a_mistake_and_named(tmp_path: Path, url: str) -> None:
    place = find(str(tmp_path), OmnisearchSettings(), {ENVIRONMENT: url})
    assert place.wrongly_named
    assert repr(url) in place.switched_off


def test_what_is_switched_off_is_no_mistake(tmp_path: Path) -> None:
    write(tmp_path, '{"httpApiEnabled": false}')
    assert not find(str(tmp_path), OmnisearchSettings(), {}).wrongly_named
    assert not find(str(tmp_path), OmnisearchSettings(), {ENVIRONMENT: "off"}).wrongly_named
    assert not find(str(tmp_path), OmnisearchSettings(host="10.0.0.7"), {}).wrongly_named


@given(
    st.dictionaries(st.sampled_from(["httpApiPort", "DANGER_httpHost", "httpApiEnabled"]), st.text() | st.integers())
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_whatever_the_file_says_only_loopback_is_asked(tmp_path: Path, plugin: dict[str, object]) -> None:
    for host, port in addresses(tmp_path, plugin):
        assert host == "::1" or host.startswith("127.")
        assert 0 < port < 65536


def test_names_are_written_as_in_a_url() -> None:
    assert [name_of(address) for address in DEFAULT] == ["127.0.0.1:51361", "[::1]:51361"]
