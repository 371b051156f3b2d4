"""Reading templates: YAML files → patterns, each checked against the tool schemas it speaks of.

Every file may hold `kinds` (variable → kind), `tools` (what holds for all steps of a tool), `steps`, `phrases` and
`patterns`; all but patterns are shared between files. In `give`, `$name` is a variable the user states, `$name?` one
he may leave out, and `step.path` a field of an earlier step. A pattern lists steps by name, as
`{use: step, name: name, bind: {old: new}}` to use one a second time under other variables, or whole, as
`{name: ..., tool: ..., give: {...}}`.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from data_synthesis.templates.build import build, merge
from data_synthesis.templates.model import Pattern
from data_synthesis.templates.text import File, read_file
from data_synthesis.templates.verify import problems
from environment.core.errors import DataError, nearest_name
from environment.core.schema import ToolSchema

SETS = ("default", "all")
"""Names of the sets that ship: short requests, and these with the 107 call patterns of long orchestration."""


def default_folder() -> Path:
    """Return the folder of the templates that ship with the project."""
    return Path(__file__).parent


def orchestration_folder() -> Path:
    """Return the folder of the call patterns that set `all` adds."""
    return default_folder() / "orchestration"


def load_patterns(schemas: Mapping[str, ToolSchema], folder: Path | None = None) -> tuple[Pattern, ...]:
    """Return the patterns of a folder in the order of file names, all checked against the schemas.

    A pattern that uses a tool the schemas lack is left out: another world may offer fewer tools.

    Raises:
        DataError: a file is no valid template, or a step gives what its tool doesn't take.
    """
    root = folder or default_folder()
    files = _read(root)
    return _checked(files, merge(file for _, file in files), schemas, str(root))


def load_set(schemas: Mapping[str, ToolSchema], which: str | Path | None = None) -> tuple[Pattern, ...]:
    """Return the patterns of a set.

    Args:
        schemas: the tools of the world.
        which: `default` (also None), `all`, or the path of a file or folder of one's own, whose patterns may use the
            steps, kinds and phrases that ship.

    Raises:
        DataError: as `load_patterns`, or there is no such set or path.
    """
    if which in (None, "default"):
        return load_patterns(schemas)
    shipped = _read(default_folder()) + _read(orchestration_folder())
    own = shipped if which == "all" else own_files(Path(which or ""))
    shared = merge(file for _, file in [*shipped, *own])
    return _checked(own, shared, schemas, str(which))


def own_files(path: Path) -> list[tuple[Path, File]]:
    """Return the template files at a path, a file or a folder; DataError where there is none."""
    if path.is_file():
        return [(path, read_file(path))]
    if not path.is_dir():
        raise DataError(
            "no such set of templates", where=str(path), expected=f"{', '.join(SETS)} or the path of a file or folder",
            nearest=nearest_name(str(path), SETS),
        )  # fmt: skip
    return _read(path)


def every_problem(schemas: Mapping[str, ToolSchema], path: Path) -> tuple[list[Pattern], list[DataError]]:
    """Return the sound patterns of one's own files, and everything that is wrong with the others."""
    own = own_files(path)
    shared = merge(file for _, file in [*_read(default_folder()), *_read(orchestration_folder()), *own])
    sound: list[Pattern] = []
    wrong: list[DataError] = []
    for file_path, file in own:
        for text in file.patterns:
            try:
                pattern = build(text, shared, f"{file_path} pattern {text.id}")
            except DataError as error:
                wrong.append(error)
                continue
            found = list(problems(pattern, schemas, f"{file_path} pattern {text.id}"))
            wrong += found
            sound += [] if found else [pattern]
    return sound, wrong


def _read(root: Path) -> list[tuple[Path, File]]:
    return [(path, read_file(path)) for path in sorted(root.glob("*.yaml"))]


def _checked(
    files: Sequence[tuple[Path, File]], shared: File, schemas: Mapping[str, ToolSchema], root: str
) -> tuple[Pattern, ...]:
    if not any(file.patterns for _, file in files):
        raise DataError("no workflow template found", where=root, expected="YAML files with `patterns`")
    texts = [(text, f"{path} pattern {text.id}") for path, file in files for text in file.patterns]
    patterns = [(build(text, shared, where), where) for text, where in texts]
    usable = [(p, where) for p, where in patterns if all(step.tool in schemas for step in p.steps)]
    names = [p.id for p, _ in usable]
    for pattern, where in usable:
        if names.count(pattern.id) > 1:
            raise DataError("two patterns have one id", where=where, fix="rename one of them")
        for problem in problems(pattern, schemas, where):
            raise problem
    return tuple(pattern for pattern, _ in usable)
