"""The completions are those that the command line's own description gives, and shells can read them."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_completions", DEPLOY / "make_completions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["meshseek.bash", "_meshseek", "meshseek.fish"])
def test_they_are_up_to_date(name: str) -> None:
    assert (DEPLOY / "completions" / name).read_text("utf-8") == maker().FILES[name](), "run deploy/make_completions.py"


def complete(*words: str) -> set[str]:
    """What bash offers for the last of these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"""
source {DEPLOY / "completions" / "meshseek.bash"}
COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
_meshseek
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=10, check=True)
    return set(done.stdout.split())


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("meshseek", "st"), {"status"}),
        (("meshseek", "status", "--s"), {"--show-text"}),
        (("meshseek", "search", "--source", "o"), {"omnisearch"}),
        (("meshseek", "search", "--fo"), {"--folder"}),
        (("meshseek", "pair", "--"), {"--help", "--config", "--node", "--key", "--name", "--yes"}),
    ],
)
def test_bash_offers(words: tuple[str, ...], offered: set[str]) -> None:
    assert complete(*words) == offered


@pytest.mark.parametrize(("shell", "name"), [("zsh", "_meshseek"), ("fish", "meshseek.fish")])
def test_the_other_shells_can_read_theirs(shell: str, name: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not here")
    subprocess.run([shell, "-n", str(DEPLOY / "completions" / name)], check=True, timeout=10)
