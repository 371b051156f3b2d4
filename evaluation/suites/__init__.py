"""The suites by name, each imported when it is first asked for.

A suite is a module with `Options` (a pydantic model of what it is opened with) and `open_suite(options)`.
"""
from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from pydantic import ValidationError

from environment.core.errors import ConfigError, nearest_name
from evaluation.suite import Suite

SUITES: dict[str, str] = {
    "heldout": "evaluation.suites.heldout",
    "complexfuncbench": "evaluation.suites.complexfuncbench",
    "bfcl": "evaluation.suites.bfcl",
}
"""Name to module."""


def open_suite(name: str, options: Mapping[str, Any]) -> Suite[Any]:
    """Return a suite opened with the options given.

    Raises:
        ConfigError: no such suite, or options it doesn't take; all that is wrong is said at once.
        DataError, WorldError: its data or world can't be used.
    """
    module = _module(name)
    _check_names(name, set(module.Options.model_fields), options)
    try:
        checked = module.Options(**options)
    except ValidationError as error:
        wrong = "\n".join(f"  {_option(e['loc'])}: {e['msg']}" for e in error.errors())
        raise ConfigError(f"options that the suite can't use\n{wrong}", where=f"suite {name}") from error
    return module.open_suite(checked)


def _module(name: str) -> ModuleType:
    if name not in SUITES:
        known = ", ".join(SUITES)
        raise ConfigError("no such suite", got=name, expected=known, nearest=nearest_name(name, SUITES))
    try:
        return importlib.import_module(SUITES[name])
    except ModuleNotFoundError as error:
        fix = "install what it needs: scripts/setup.sh"
        raise ConfigError(f"the suite lacks {error.name}", where=f"suite {name}", fix=fix) from error


def _check_names(suite: str, known: set[str], given: Mapping[str, Any]) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise ConfigError(
            "an option that the suite doesn't have", where=f"suite {suite}",
            got=", ".join(_option((name,)) for name in unknown), nearest=nearest_name(unknown[0], known),
            expected="of " + ", ".join(_option((name,)) for name in sorted(known)),
        )  # fmt: skip


def _option(place: tuple[int | str, ...]) -> str:
    head, *rest = map(str, place)
    return ".".join([f"--{head.replace('_', '-')}", *rest])
