"""The official package: found without importing it, and one clear error where it is missing or another."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from BFCL.data import package
from BFCL.data.tests.needs import needs_package
from environment.core.errors import ConfigError


@pytest.fixture(autouse=True)
def forget_the_place() -> Iterator[None]:
    package.home.cache_clear()
    yield
    package.home.cache_clear()


@pytest.mark.parametrize("name", ["no-such-package-of-ours", "pytest"])
def test_a_missing_package_is_one_error_with_the_command(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(package, "PACKAGE", name)
    monkeypatch.setattr(package, "MODULE", "no_such_module_of_ours")
    assert not package.available()
    with pytest.raises(ConfigError) as told:
        package.home()
    assert "not installed" in str(told.value)
    assert f"pip install --no-deps bfcl-eval=={package.VERSION}" in str(told.value)
    assert told.value.exit_status == 2


def test_another_release_is_refused_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "PACKAGE", "pytest")
    monkeypatch.setattr(package, "MODULE", "pytest")
    with pytest.raises(ConfigError) as told:
        package.home()
    assert repr(pytest.__version__) in str(told.value) and package.VERSION in str(told.value)


@needs_package
def test_rows_and_worlds_bring_no_part_of_the_package_but_the_classes() -> None:
    probe = """
import sys
from BFCL.data.rows import multi_turn_row, single_turn_rows
from BFCL.check.multi_turn.check import check
row = multi_turn_row("multi_turn_base", "multi_turn_base_0")
assert check(row, [[list(calls)] for calls in row.gold]).valid and single_turn_rows("parallel")
print(sorted(name for name in sys.modules if name.startswith("bfcl_eval.") and "multi_turn_eval" not in name))
print([name for name in ("torch", "numpy", "pandas", "anthropic", "openai") if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines() == ["['bfcl_eval.eval_checker']", "[]"]
