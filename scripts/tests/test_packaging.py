"""What is built for installation holds every module and every data file of the tree, and no test."""
from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.check.layers import LAYERS

ROOT = Path(__file__).parents[2]
DATA = (".json", ".jsonl", ".yaml", ".yml", ".jinja", ".html", ".css", ".js", ".sh")


def tracked() -> set[str]:
    command = ["git", "ls-files", *LAYERS]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode or not listed.stdout:
        pytest.skip("the tree is not a git repository")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.mark.slow
def test_a_wheel_holds_modules_and_data(tmp_path: Path) -> None:
    copy = tmp_path / "tree"
    for name in {*tracked(), "pyproject.toml", "README.md", "LICENSE"}:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    options = ["-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(copy)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("tool_rl-*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {name for name in tracked() if name.endswith((".py", *DATA)) and "/tests/" not in name}
    assert wanted - held == set()
    assert not [name for name in held if "/tests/" in name]


def test_every_command_and_plugin_names_something_that_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["scripts"], *project["entry-points"].values()]
    for target in (target for group in groups for target in group.values()):
        module, _, name = target.partition(":")
        path = ROOT / Path(*module.split("."))
        source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert source.exists(), target
        text = source.read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text or f"import {name}" in text, target


def test_the_folders_are_ours_and_not_another_packages() -> None:
    for folder in LAYERS:
        spec = find_spec(folder)
        assert spec is not None and spec.origin is not None, folder
        assert Path(spec.origin).is_relative_to(ROOT), f"{folder} is hidden by {spec.origin}"


def test_every_direct_dependency_is_pinned() -> None:
    folder = ROOT / "scripts" / "requirements"
    for kind in ("cpu", "gpu"):
        pins = {name for name, _ in _requirements(folder / f"{kind}.txt")}
        wanted = dict(_requirements(folder / f"{kind}.in"))
        assert set(wanted) <= pins
        exact = {(name, version) for name, version in _requirements(folder / f"{kind}.txt")}
        assert {(name, version) for name, version in wanted.items() if version} <= exact


def _requirements(path: Path) -> list[tuple[str, str]]:
    """Return (normal name, exact version or nothing) of each requirement in a file."""
    found: list[tuple[str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.split("#")[0].strip()
        if text:
            name, _, version = text.partition("==")
            found.append((name.split("[")[0].split("<")[0].lower().replace("_", "-"), version))
    return found
