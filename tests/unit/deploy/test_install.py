"""The installer, below a root of its own, with a Python that makes empty environments quickly."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.config import load_config

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
NOBODY = 65534

FAKE_PYTHON = """\
#!/bin/sh
# Makes an environment whose pip notes what it is asked for, and fails where a test wants it to.
[ "$1" = -c ] && exit 0
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "pip $*" >>"{log}"\\nif [ "$1" = wheel ]; then for last; do :; done; \\
while [ "$1" != -w ]; do shift; done; : >"$2/meshseek-0-py3-none-any.whl"; fi\\n[ ! -e "{fail}" ]\\n' >"$3/bin/pip"
printf '#!/bin/sh\\necho meshseek\\n' >"$3/bin/meshseek"
chmod +x "$3/bin/pip" "$3/bin/meshseek"
"""


class Machine:
    """A root directory, a vault, and the installer."""

    def __init__(self, folder: Path) -> None:
        self.root, self.vault = folder / "root", folder / "my vault & more"
        self.pip_log, self.fail = folder / "pip.log", folder / "fail"
        (self.vault / "Inbox").mkdir(parents=True)
        self.python = folder / "python3"
        self.python.write_text(FAKE_PYTHON.format(log=self.pip_log, fail=self.fail), encoding="utf-8")
        self.python.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(self.vault / "Inbox", NOBODY, NOBODY)

    def install(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", str(DEPLOY / "install.sh"), "--root", str(self.root), *options]
        env = {"PATH": os.environ["PATH"], "PYTHON": str(self.python), "LC_ALL": "C"}
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if not path.is_dir()}

    def current(self) -> str:
        return os.readlink(self.root / "opt/meshseek/current")

    @property
    def config(self) -> Path:
        return self.root / "etc/meshseek/meshseek.toml"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_shell_finds_no_mistake() -> None:
    subprocess.run(["sh", "-n", str(DEPLOY / "install.sh")], check=True, timeout=10)


def test_everything_is_put_in_its_place(machine: Machine) -> None:
    done = machine.install("--vault", str(machine.vault))
    assert done.returncode == 0, done.stderr
    assert {
        "etc/meshseek/meshseek.toml",
        "etc/systemd/system/meshseek.service",
        "etc/systemd/system/meshseek.service.d/vault.conf",
        "etc/udev/rules.d/60-meshseek.rules",
        "opt/meshseek/current/bin/meshseek",
        "usr/local/bin/meshseek",
        "usr/local/share/bash-completion/completions/meshseek",
        "usr/local/share/zsh/site-functions/_meshseek",
        "usr/local/share/fish/vendor_completions.d/meshseek.fish",
    } <= machine.files() | {"opt/meshseek/current/bin/meshseek"}
    assert (machine.root / "opt/meshseek/current/bin/meshseek").is_file()


def test_packages_are_taken_only_with_the_hashes_of_the_constraints(machine: Machine) -> None:
    machine.install()
    installs = [
        line for line in machine.pip_log.read_text(encoding="utf-8").splitlines() if line.startswith("pip install")
    ]
    assert len(installs) == 3
    assert all("--require-hashes" in line or "--no-deps --no-index" in line for line in installs)


def test_the_first_config_is_the_example_with_vault_and_state(machine: Machine) -> None:
    machine.install("--vault", str(machine.vault))
    config = load_config(machine.config)
    assert config.vault.path == machine.vault
    assert config.state_directory == Path("/var/lib/meshseek")
    assert stat.S_IMODE(machine.config.stat().st_mode) == 0o640
    assert stat.S_IMODE(machine.config.parent.stat().st_mode) & 0o777 == 0o750
    example = (DEPLOY / "meshseek.example.toml").read_text(encoding="utf-8").splitlines()
    changed = set(machine.config.read_text(encoding="utf-8").splitlines()) - set(example)
    assert changed == {f'path = "{machine.vault}"', 'directory = "/var/lib/meshseek"'}


def test_of_the_home_directories_the_service_sees_the_vault_only(machine: Machine) -> None:
    machine.install("--vault", str(machine.vault))
    unit = (machine.root / "etc/systemd/system/meshseek.service.d/vault.conf").read_text(encoding="utf-8")
    assert unit.splitlines()[1:] == ["[Service]", f'BindReadOnlyPaths="{machine.vault}"']


def test_for_field_notes_it_runs_as_the_owner_of_their_folder(machine: Machine) -> None:
    done = machine.install("--vault", str(machine.vault), "--inbox", "Inbox")
    assert done.returncode == 0, done.stderr
    unit = (machine.root / "etc/systemd/system/meshseek.service.d/vault.conf").read_text(encoding="utf-8")
    assert f'BindPaths="{machine.vault}/Inbox"' in unit
    assert f"User={(machine.vault / 'Inbox').owner()}" in unit
    assert "SupplementaryGroups=meshseek" in unit  # whose the config is


def test_an_upgrade_keeps_config_and_drop_ins_and_the_release_before(machine: Machine) -> None:
    machine.install("--vault", str(machine.vault))
    first = machine.current()
    machine.config.write_text("# mine\n", encoding="utf-8")
    machine.install()
    second = machine.current()
    machine.install()
    assert len({first, second, machine.current()}) == 3
    assert machine.config.read_text(encoding="utf-8") == "# mine\n"
    assert (machine.root / "etc/systemd/system/meshseek.service.d/vault.conf").is_file()
    releases = {f"releases/{path.name}" for path in (machine.root / "opt/meshseek/releases").iterdir()}
    assert releases == {second, machine.current()}


def test_an_upgrade_that_fails_changes_nothing(machine: Machine) -> None:
    machine.install()
    before = machine.current(), machine.files()
    machine.fail.touch()
    assert machine.install().returncode != 0
    assert (machine.current(), machine.files()) == before


def test_a_dry_run_says_the_same_and_does_nothing(machine: Machine) -> None:
    done = machine.install("--dry-run", "--vault", str(machine.vault))
    assert done.returncode == 0, done.stderr
    assert not machine.root.exists()
    for word in ("meshseek.service", "60-meshseek.rules", "/etc/meshseek/meshseek.toml", "useradd", "vault.conf"):
        assert word in done.stdout


def test_udev_is_asked_only_where_it_runs(machine: Machine) -> None:
    command = ["sh", str(DEPLOY / "install.sh"), "--dry-run"]
    env = {"PATH": os.environ["PATH"], "PYTHON": str(machine.python), "LC_ALL": "C"}
    said = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=True).stdout
    assert ("skipped, udev does not run here: udevadm control" in said) != os.path.exists("/run/udev/control")


def test_uninstalling_keeps_config_and_state(machine: Machine) -> None:
    machine.install("--vault", str(machine.vault))
    machine.install("--uninstall")
    assert machine.files() == {"etc/meshseek/meshseek.toml", "etc/systemd/system/meshseek.service.d/vault.conf"}
    assert (machine.root / "var/lib/meshseek").is_dir()


def test_purging_leaves_nothing(machine: Machine) -> None:
    machine.install("--vault", str(machine.vault))
    assert machine.install("--uninstall", "--purge").returncode == 0
    assert machine.files() == set()
    assert not (machine.root / "var/lib/meshseek").exists()
    assert machine.install("--uninstall", "--purge").returncode == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--vault", "/nowhere"), "is not a folder"),
        (("--vault",), "needs a value"),
        (("--inbox", "Inbox"), "goes with --vault"),
        (("--purge",), "goes with --uninstall"),
        (("--wheel", "/nowhere.whl"), "is not a file"),
        (("--valt", "x"), "no option --valt"),
    ],
)
def test_wrong_use_is_one_line_and_2(machine: Machine, options: tuple[str, ...], says: str) -> None:
    done = machine.install(*options)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not machine.root.exists()


@pytest.mark.parametrize("inbox", ["../elsewhere", "/etc", "Missing"])
def test_the_inbox_is_a_folder_in_the_vault(machine: Machine, inbox: str) -> None:
    done = machine.install("--vault", str(machine.vault), "--inbox", inbox)
    assert done.returncode == 2
    assert not machine.root.exists()


def test_a_python_in_a_home_directory_is_not_taken(machine: Machine) -> None:
    """The service could not start it: it does not see the homes."""
    said = (DEPLOY / "install.sh").read_text(encoding="utf-8")
    check = said.split("fits='")[1].split("'\n")[0]
    for prefix, code in (("/home/pi/.pyenv", 1), ("/usr", 0)):
        probe = f"import sys; sys.base_prefix = {prefix!r}\n{check}"
        assert subprocess.run([sys.executable, "-c", probe], timeout=10, check=False).returncode == code
