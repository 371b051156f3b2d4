"""A Python file as the checks see it: where it is, its syntax tree, and what it imports. Nothing is run."""
from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SKIPPED = frozenset({".git", "runs", "build", "dist", "node_modules", "__pycache__"})
"""Folders that hold no source of ours; so do those whose name starts with .venv."""

IMPORTERS = frozenset({"import_module", "__import__", "find_spec", "importorskip"})
"""Functions that import the module which their first argument names."""


@dataclass(frozen=True)
class Violation:
    """One breach of one rule, at a place that an editor can open."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


@dataclass(frozen=True)
class Import:
    """An import of a module by its full dotted name."""

    module: str
    line: int

    @property
    def top(self) -> str:
        """The first part of the name: a folder of ours, a standard module or a third party's package."""
        return self.module.split(".")[0]


@dataclass(frozen=True)
class Source:
    """One file. `path` is relative to the root, with forward slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; raises SyntaxError with the path where the text is no Python."""
        return ast.parse(self.text, filename=self.path)

    @property
    def folder(self) -> str:
        """The top-level folder, or the file's own name at the root."""
        return self.path.split("/")[0]

    @property
    def is_test(self) -> bool:
        """Whether the file is a test or serves tests only."""
        name = self.path.rsplit("/", 1)[-1]
        return "tests" in self.path.split("/") or name.startswith("test_") or name == "conftest.py"

    @property
    def lines(self) -> int:
        """Number of lines."""
        return self.text.count("\n") + 1

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import, wherever it stands: in functions, for type checking only, relative, or by a constant name."""
        return tuple(self._imports())

    def _imports(self) -> Iterator[Import]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                yield Import(base, node.lineno)
                yield from (Import(f"{base}.{alias.name}", node.lineno) for alias in node.names)
            elif isinstance(node, ast.Call) and (name := _imported_by_call(node)):
                yield Import(name, node.lineno)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.path.split("/")[: -node.level]
        return ".".join([*package, *([node.module] if node.module else [])])


def within(path: str, *folders: str) -> bool:
    """Tell whether a path lies in one of the folders (or is one of these files)."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def read_tree(root: Path) -> list[Source]:
    """Return the Python files under root in the order of their paths; what git ignores is left out."""
    return [Source(path, (root / path).read_text(encoding="utf-8")) for path in sorted(_python_files(root))]


def _python_files(root: Path) -> Iterator[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        paths = [Path(name) for name in listed.stdout.splitlines() if (root / name).is_file()]
    else:
        paths = [path.relative_to(root) for path in root.rglob("*.py")]
    for path in paths:
        if not SKIPPED & set(path.parts) and not any(part.startswith(".venv") for part in path.parts):
            yield path.as_posix()


def _imported_by_call(node: ast.Call) -> str | None:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    if name not in IMPORTERS or not node.args:
        return None
    first = node.args[0]
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
