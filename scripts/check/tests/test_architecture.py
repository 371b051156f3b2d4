"""The architecture check finds each kind of breach, and this project has none."""
from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.check.architecture import check_project, check_sources
from scripts.check.layers import LAYERS, DeclaredImports
from scripts.check.slim import check_slim
from scripts.check.source import Source, read_tree

ROOT = Path(__file__).parents[3]
HEAD = '"""What it is."""\nfrom __future__ import annotations\n\n'


def rules(path: str, text: str) -> list[str]:
    return [violation.rule for violation in check_sources([Source(path, HEAD + text)])]


@pytest.mark.slow  # scripts/test.sh has a stage of its own for it
def test_this_project_keeps_its_architecture() -> None:
    assert [str(violation) for violation in check_project(ROOT)] == []


folders = st.sampled_from(sorted(LAYERS))


@given(folders, folders, st.sampled_from(["import {0}.x", "from {0} import x", "from {0}.x import y"]))
def test_arrows_point_up_only(importer: str, imported: str, form: str) -> None:
    allowed = importer == imported or LAYERS[imported] < LAYERS[importer]
    assert rules(f"{importer}/a.py", form.format(imported) + "\n") == ([] if allowed else ["layers"])


@pytest.mark.parametrize(
    "hidden",
    [
        "def f() -> None:\n    import training.x\n",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from training import x\n",
        "import importlib\n\nX = importlib.import_module('training.x')\n",
        "try:\n    from training import x\nexcept ImportError:\n    x = None\n",
    ],
)
def test_a_hidden_import_counts(hidden: str) -> None:
    assert rules("evaluation/a.py", hidden) == ["layers"]


def test_a_relative_import_is_of_its_own_folder() -> None:
    source = Source("evaluation/suites/a.py", "from . import b\nfrom .. import training\nfrom ..metrics import c\n")
    assert {found.module for found in source.imports} == {
        "evaluation.suites",
        "evaluation.suites.b",
        "evaluation",
        "evaluation.training",
        "evaluation.metrics",
        "evaluation.metrics.c",
    }
    assert rules(source.path, source.text) == []


@pytest.mark.parametrize(
    ("path", "library", "found"),
    [
        ("training/advantages/a.py", "torch", []),
        ("training/reward/a.py", "torch", ["confined"]),
        ("training/reward/tests/test_a.py", "torch", []),
        ("training/launch/config/a.py", "ray", ["confined"]),
        ("training/launch/a.py", "ray", []),
        ("training/advantages/a.py", "verl", ["confined"]),
        ("training/verl_plugin/a.py", "verl.trainer", []),
        ("training/rollout/a.py", "vllm", []),
        ("evaluation/a.py", "vllm", ["confined"]),
        ("evaluation/a.py", "torch.nn", ["confined"]),
        ("data_synthesis/a.py", "ray", ["confined"]),
        ("scripts/cli/a.py", "torch", ["confined"]),
        ("scripts/bench/a.py", "torch", []),
        ("BFCL/a.py", "torchmetrics", []),
    ],
)
def test_heavy_libraries_stay_at_home(path: str, library: str, found: list[str]) -> None:
    assert rules(path, f"import {library}\n") == found


@pytest.mark.parametrize(
    ("path", "library", "found"),
    [
        ("environment/core/a.py", "pydantic", []),
        ("environment/core/a.py", "json", []),
        ("environment/core/a.py", "pandas", ["world-libraries"]),
        ("environment/core/a.py", "fastapi", ["world-libraries"]),
        ("environment/server/a.py", "fastapi", []),
        ("environment/core/a.py", "hypothesis", ["world-libraries"]),
        ("environment/core/tests/test_a.py", "hypothesis", []),
        ("BFCL/a.py", "pandas", []),
    ],
)
def test_the_world_needs_few_libraries(path: str, library: str, found: list[str]) -> None:
    assert rules(path, f"import {library}\n") == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("X = eval('1')\n", ["calls"]),
        ("def f(b: bytes) -> object:\n    return pickle.loads(b)\n", ["calls"]),
        ("def f() -> None:\n    sys.path.insert(0, '.')\n", ["calls"]),
        ("def f() -> None:\n    print('x')\n", ["print"]),
        ("def f() -> None:\n    try:\n        g()\n    except:\n        pass\n", ["bare-except"]),
        ("def f() -> None:\n    try:\n        g()\n    except ValueError:\n        pass\n", []),
        ("X = open('x').read()\n", ["import-time"]),
        ("class A:\n    x = PATH.read_text()\n", ["import-time"]),
        ("X = lambda: open('x')\n", []),
        ("def f() -> str:\n    return PATH.read_text()\n", []),
        ("if __name__ == '__main__':\n    X = PATH.read_text()\n", []),
    ],
)
def test_style(text: str, found: list[str]) -> None:
    assert rules("evaluation/a.py", text) == found


def test_scripts_may_print_and_tests_too() -> None:
    text = "def f() -> None:\n    print('x')\n"
    assert rules("scripts/a.py", text) == rules("BFCL/tests/test_a.py", text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("X = pickle.loads(pickle.dumps(1))\n", []),
        ("X = PATH.read_text()\n", []),
        ("X = eval('1')\n", ["calls"]),
    ],
)
def test_what_a_test_may_do(text: str, found: list[str]) -> None:
    assert rules("BFCL/tests/test_a.py", text) == found
    assert [v.rule for v in check_sources([Source("BFCL/tests/test_a.py", text)])] == [*found, "future"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["docstring"]),
        ('"""Only words."""\n', []),
        ('"""Words."""\nimport os\n', ["future"]),
        ("from __future__ import annotations\n", ["docstring"]),
    ],
)
def test_every_module_says_what_it_is(text: str, found: list[str]) -> None:
    assert [violation.rule for violation in check_sources([Source("BFCL/a.py", text)])] == found


@given(st.integers(2, 600))
def test_long_modules_and_functions_are_named(lines: int) -> None:
    text = "def f() -> None:\n" + "    x = 1\n" * (lines - 1)
    found = rules("BFCL/a.py", text)
    module = len(HEAD.splitlines()) + lines + 1
    assert found.count("size") == (lines > 100) + (module > 400)
    assert found.count("shape") == (module > 105) + (lines > 9) + (lines > 50)


def test_an_import_that_no_requirements_file_names() -> None:
    undeclared = DeclaredImports("pydantic\n# pytest\n")
    imported = ("pytest", "pydantic", "json", "BFCL", "not_installed_anywhere")
    source = Source("BFCL/a.py", "".join(f"import {name}\n" for name in imported))
    assert [violation.message.split()[0] for violation in undeclared(source)] == ["pytest"]
    assert not list(DeclaredImports("PyTest>=8  # the runner\nPydantic\n")(source))


def test_a_heavy_or_failing_import_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ray.py").write_text("")
    (tmp_path / "slow_start.py").write_text("import time, ray\n")
    (tmp_path / "broken.py").write_text("raise ValueError('no such world')\n")
    monkeypatch.setattr("scripts.check.slim.SLIM", ("slow_start", "broken", "absent.module", "json"))
    found = [violation.message for violation in check_slim(tmp_path)]
    assert found == [
        "import slow_start brings along ['ray']",
        "import broken fails: ValueError: no such world",
        "absent.module does not exist",
    ]


def test_the_tree_holds_every_folder_and_nothing_ignored() -> None:
    sources = read_tree(ROOT)
    assert {source.folder for source in sources} >= set(LAYERS)
    assert not [source.path for source in sources if source.path.startswith((".venv", "runs/", "build/"))]
