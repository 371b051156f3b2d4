"""Check the whole tree against its architecture: layers, confined libraries, light imports, style, shape.

    python -m scripts.check.architecture [ROOT]

Prints each breach as path:line: rule: what is wrong, and ends with status 1 if there is any.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from scripts.check import layers, style
from scripts.check.slim import check_slim
from scripts.check.source import Source, Violation, read_tree

FileCheck = Callable[[Source], Iterator[Violation]]

FILE_CHECKS: tuple[FileCheck, ...] = (
    layers.check_layers,
    layers.check_confined,
    layers.check_world_libraries,
    style.check_docstring,
    style.check_future,
    style.check_calls,
    style.check_handlers,
    style.check_import_time,
    style.check_size,
)
"""The rules that look at one file; a new rule is a function added here."""


def check_sources(sources: Sequence[Source], extra: Sequence[FileCheck] = ()) -> list[Violation]:
    """Return every breach that the text of the files shows, ordered by place."""
    single = (check(source) for source in sources for check in (*FILE_CHECKS, *extra))
    return sorted(chain.from_iterable((*single, style.check_shape(sources))), key=lambda v: (v.path, v.line, v.rule))


def check_project(root: Path) -> list[Violation]:
    """Return every breach of a project's tree, the imports that only a fresh interpreter shows included."""
    named = (root / "scripts" / "requirements" / name for name in ("cpu.in", "dev.txt"))
    declared = layers.DeclaredImports("\n".join(path.read_text(encoding="utf-8") for path in named))
    return [*check_sources(read_tree(root), [declared]), *check_slim(root)]


def main(arguments: Sequence[str]) -> int:
    """Print the breaches under the root that is named (default: this project) and return the exit status."""
    root = Path(arguments[0]) if arguments else Path(__file__).parents[2]
    found = check_project(root.resolve())
    sys.stdout.writelines(f"{violation}\n" for violation in found)
    sys.stdout.write(f"architecture: {len(found)} breaches\n" if found else "architecture: holds\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
