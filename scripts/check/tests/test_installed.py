"""What scripts/setup.sh believes to be installed is installed."""
from __future__ import annotations

from importlib.metadata import PathDistribution, version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.check import installed

FILES = ("pkg/__init__.py", "pkg/data.json", "pkg-1.0.dist-info/METADATA", "pkg-1.0.dist-info/INSTALLER")


@pytest.fixture
def package(tmp_path: Path) -> PathDistribution:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n")
    record = tmp_path / "pkg-1.0.dist-info" / "RECORD"
    record.write_text("".join(f"{name},,\n" for name in (*FILES, "pkg/__pycache__/x.pyc", "scripts/x.py")))
    return PathDistribution(record.parent)


def test_a_whole_package_is_complete(package: PathDistribution) -> None:
    assert installed.complete(package, "1.0")
    assert installed.complete(package, "1.0+cpu")
    assert not installed.complete(package, "1.0.1")


@pytest.mark.parametrize("lost", FILES[:2])
def test_a_lost_file_is_noticed(package: PathDistribution, tmp_path: Path, lost: str) -> None:
    (tmp_path / lost).unlink()
    assert not installed.complete(package, "1.0")


def test_an_installation_cut_short_is_noticed(package: PathDistribution, tmp_path: Path) -> None:
    record = tmp_path / "pkg-1.0.dist-info" / "RECORD"
    record.write_text("".join(f"{name},,\n" for name in FILES[:3]))
    assert not installed.complete(package, "1.0")
    record.unlink()
    assert not installed.complete(package, "1.0")


names = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True)
versions = st.from_regex(r"[0-9]{1,4}(\.[0-9]{1,3}){0,3}(\.post1)?", fullmatch=True)


@given(st.lists(st.tuples(names, versions)))
def test_pins_are_read_back(pins: list[tuple[str, str]]) -> None:
    lock = "# why\n\n" + "".join(f"{name}=={version}  # because\n" for name, version in pins)
    assert [(name, version) for _, name, version in installed.pinned(lock)] == pins


def test_only_what_is_absent_is_asked_for() -> None:
    lock = f"pytest=={version('pytest')}\npytest==0.0.1\nno-such-package-here==1.0\n"
    assert installed.missing(lock) == ["pytest==0.0.1", "no-such-package-here==1.0"]
