"""Where files live, by what the environment says."""

from __future__ import annotations

from pathlib import Path

from gateway.places import default_vault, find_config, state_directory, user_config


def test_the_named_config_comes_before_the_users(tmp_path: Path) -> None:
    users = tmp_path / "meshseek" / "meshseek.toml"
    users.parent.mkdir()
    users.touch()
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert find_config(env) == users
    assert find_config({**env, "MESHSEEK_CONFIG": "/x/y.toml"}) == Path("/x/y.toml")


def test_without_xdg_it_is_below_home() -> None:
    assert user_config({"HOME": "/h"}) == Path("/h/.config/meshseek/meshseek.toml")
    assert state_directory({"HOME": "/h"}) == Path("/h/.local/state/meshseek")


def test_systemd_names_the_state_directory_first_of_several() -> None:
    assert state_directory({"STATE_DIRECTORY": "/a:/b", "HOME": "/h"}) == Path("/a")


def test_the_vault_is_the_environments_else_the_usual_one() -> None:
    assert default_vault({"OBSIDIAN_VAULT_PATH": "/v"}) == "/v"
    assert default_vault({}) == "~/Vault"
