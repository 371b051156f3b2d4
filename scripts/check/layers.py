"""Who may import whom: the folders are layers and arrows point up only.

    1 environment  <-  2 BFCL  <-  3 data_synthesis | training | evaluation  <-  4 scripts

The three of layer 3 never import each other: they meet in types of layer 1 and in files. The heavy libraries stay where
they are needed, so that worlds, checkers, rewards, settings and the command line can be used without them.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions

from scripts.check.source import Import, Source, Violation, within

LAYERS = {"environment": 1, "BFCL": 2, "data_synthesis": 3, "training": 3, "evaluation": 3, "scripts": 4}
"""Each folder's layer. A folder imports lower layers and itself."""

TRAINER_HOMES = ("training/verl_plugin", "training/rollout", "training/launch", "scripts/bench")
CONFINED = {
    "torch": ("training", "scripts/bench"),
    "verl": TRAINER_HOMES,
    "ray": TRAINER_HOMES,
    "vllm": TRAINER_HOMES,
    "transfer_queue": TRAINER_HOMES,
}
"""Where a heavy library may be imported."""

TORCH_FREE = ("training/reward", "training/launch/config", "training/tools")
"""Parts of training/ that do without torch and the trainer all the same."""

WORLD_LIBRARIES = frozenset({"pydantic", "orjson", "fastjsonschema", "yaml", "airportsdata"})
SERVER_LIBRARIES = WORLD_LIBRARIES | {"fastapi", "uvicorn", "aiohttp", "starlette", "mcp"}
TEST_LIBRARIES = frozenset({"pytest", "hypothesis"})


def check_layers(source: Source) -> Iterator[Violation]:
    """Imports of a folder in a higher layer, or of another folder in the same one."""
    layer = LAYERS.get(source.folder)
    if layer is None:
        return
    for found in _once(source):
        other = LAYERS.get(found.top)
        if other is not None and found.top != source.folder and other >= layer:
            message = f"{source.folder} (layer {layer}) imports {found.module} (layer {other})"
            yield Violation(source.path, found.line, "layers", message)


def check_confined(source: Source) -> Iterator[Violation]:
    """Imports of a heavy library outside its home."""
    for found in _once(source):
        homes = CONFINED.get(found.top)
        if homes is None:
            continue
        if not within(source.path, *homes):
            message = f"{found.top} may be imported only in {', '.join(homes)}"
            yield Violation(source.path, found.line, "confined", message)
        elif within(source.path, *TORCH_FREE) and not source.is_test:
            message = f"{found.top} may not be imported here: this part is used without it"
            yield Violation(source.path, found.line, "confined", message)


def check_world_libraries(source: Source) -> Iterator[Violation]:
    """Third-party imports of layer 1 beyond its short list."""
    if source.folder != "environment":
        return
    allowed = SERVER_LIBRARIES if within(source.path, "environment/server") else WORLD_LIBRARIES
    allowed = allowed | TEST_LIBRARIES | {"aiohttp"} if source.is_test else allowed
    for found in _once(source):
        if _third_party(found) and found.top not in allowed:
            yield Violation(source.path, found.line, "world-libraries", f"environment does without {found.top}")


class DeclaredImports:
    """Third-party imports that no requirements file names, where the package is installed at all."""

    def __init__(self, requirements: str) -> None:
        self._names = {_normal(name) for name in re.findall(r"^([A-Za-z0-9._-]+)", requirements, flags=re.MULTILINE)}
        self._providers = packages_distributions()

    def __call__(self, source: Source) -> Iterator[Violation]:
        """Yield one violation for each undeclared import of one file; benches may use optional packages."""
        if within(source.path, "scripts/bench"):
            return
        for found in _once(source):
            providers = {_normal(name) for name in self._providers.get(found.top, ())}
            if _third_party(found) and providers and not providers & self._names:
                named = ", ".join(sorted(providers))
                message = f"{found.top} ({named}) is not named in scripts/requirements/cpu.in or dev.txt"
                yield Violation(source.path, found.line, "declared", message)


def _once(source: Source) -> Iterator[Import]:
    """Yield the first import of each top-level name on each line, so that one import is one violation."""
    seen: set[tuple[str, int]] = set()
    for found in source.imports:
        if (found.top, found.line) not in seen:
            seen.add((found.top, found.line))
            yield found


def _third_party(found: Import) -> bool:
    return found.top not in LAYERS and found.top not in sys.stdlib_module_names and found.top not in ("", "conftest")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
