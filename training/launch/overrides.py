"""Checking key=value overrides before Hydra sees them, so that all mistakes are reported at once.

Hydra stops at the first unknown key and does not look at types. Here each override is parsed, its
key looked up in the configuration the groups give, and its value compared with the type that
stands there: a number does not become a text, a list does not become a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from environment.core.errors import nearest_name
from training.launch.compose import GROUPS, group_options
from training.launch.knobs import Setting
from training.launch.problems import Problem

FRACTIONS_WRITTEN_WHOLE = frozenset({"entropy_coeff", "temperature", "top_p", "over_sample_rate", "num_warmup_batches"})
"""verl keys whose default is written 0 or 1 but which take fractions."""


def split_settings(settings: Sequence[Setting]) -> tuple[list[str], list[tuple[Setting, Override]], list[Problem]]:
    """Return group choices (as Hydra text, the last one of a group wins), value overrides, and problems."""
    groups: dict[str, str] = {}
    values: list[tuple[Setting, Override]] = []
    problems: list[Problem] = []
    for setting in settings:
        try:
            parsed = OverridesParser.create().parse_override(setting.text)
        except HydraException as error:
            problems.append(_unreadable(setting, str(error)))
            continue
        if parsed.is_sweep_override():
            problems.append(Problem(setting.key, "asks for a sweep", expected="one value; start one run for each"))
        elif parsed.key_or_group in GROUPS and "." not in parsed.key_or_group and not parsed.package:
            choice = str(parsed.value())
            problems += _check_choice(parsed.key_or_group, choice, setting.source)
            groups[parsed.key_or_group] = choice
        else:
            values.append((setting, parsed))
    return [_group_text(group, choice) for group, choice in groups.items()], values, problems


def check_values(tree: Mapping[str, object], values: Iterable[tuple[Setting, Override]]) -> list[Problem]:
    """Return what is wrong with value overrides, given the configuration they would change."""
    names: list[str] = []
    problems: list[Problem] = []
    for setting, parsed in values:
        if parsed.is_add() or parsed.is_force_add():
            continue
        found, current = lookup(tree, parsed.key_or_group)
        if not found:
            names = names or list(leaf_names(tree))
            problems.append(_unknown(parsed.key_or_group, setting.source, names))
        elif not parsed.is_delete():
            problems += _check_type(parsed.key_or_group, current, parsed.value(), setting.source)
    return problems


def apply_values(config: DictConfig, values: Iterable[tuple[Setting, Override]]) -> list[Problem]:
    """Change the configuration as Hydra would, without composing it again; return what could not be done.

    `key=value` changes, `+key=value` adds, `++key=value` does either, `~key` removes.
    """
    problems: list[Problem] = []
    OmegaConf.set_struct(config, False)
    for setting, parsed in values:
        key = parsed.key_or_group
        exists = OmegaConf.select(config, key, default=config, throw_on_resolution_failure=False) is not config
        if parsed.is_add() and exists:
            problems.append(Problem(key, f"is there already ({setting.source})", fix=f"{key}=... changes it"))
        elif parsed.is_delete():
            parent, _, last = key.rpartition(".")
            del (OmegaConf.select(config, parent) if parent else config)[last]
        else:
            problems += _update(config, key, parsed.value(), setting.source)
    return problems


def _update(config: DictConfig, key: str, value: object, source: str) -> list[Problem]:
    try:
        OmegaConf.update(config, key, value, merge=True)
    except OmegaConfBaseException as error:
        return [Problem(key, f"can't be {value!r} ({source}): {str(error).splitlines()[0]}")]
    return []


def lookup(tree: object, key: str) -> tuple[bool, object]:
    """Return whether a dotted key exists, and its value; a list element is named by its number."""
    for part in key.split("."):
        if isinstance(tree, Mapping) and part in tree:
            tree = cast("Mapping[str, object]", tree)[part]
        elif isinstance(tree, list) and part.isdigit() and int(part) < len(cast("list[object]", tree)):
            tree = cast("list[object]", tree)[int(part)]
        else:
            return False, None
    return True, tree


def leaf_names(tree: Mapping[str, object], prefix: str = "") -> Iterator[str]:
    """Yield every dotted key of the tree, inner ones too."""
    for name, value in tree.items():
        yield f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from leaf_names(cast("Mapping[str, object]", value), f"{prefix}{name}.")


def nearest_key(key: str, names: Sequence[str]) -> str | None:
    """Return the known dotted key most like `key`: same last part first, then the whole path."""
    parent, _, last = key.rpartition(".")
    siblings = [name for name in names if name.rpartition(".")[0] == parent]
    beside = nearest_name(key, siblings)
    if beside is not None:
        return beside
    same_end = [name for name in names if name.rpartition(".")[2] == last]
    if same_end:
        return nearest_name(key, same_end) or same_end[0]
    ends = {name.rpartition(".")[2]: name for name in reversed(names)}
    end = nearest_name(last, ends) if not parent else None
    return ends[end] if end else nearest_name(key, names)


def _group_text(group: str, choice: str) -> str:
    return f"reward@_global_={choice}" if group == "reward" else f"{group}={choice}"


def _check_choice(group: str, choice: str, source: str) -> list[Problem]:
    options = group_options(group)
    if choice in options:
        return []
    expected = f"one of {', '.join(options)}"
    return [Problem(group, f"no {group} {choice!r} ({source})", expected, nearest_name(choice, options))]


def _unreadable(setting: Setting, message: str) -> Problem:
    reason = message.splitlines()[0] if "=" in setting.text else "is no key=value"
    return Problem(setting.text, f"{reason} ({setting.source})", "key=value", fix="quote texts: 'key=\"a b\"'")


def _unknown(key: str, source: str, names: Sequence[str]) -> Problem:
    return Problem(key, f"no such key ({source})", nearest=nearest_key(key, names), fix=f"+{key}=... adds a new key")


def _check_type(key: str, current: object, given: object, source: str) -> list[Problem]:
    if current is None or given is None or _is_open(current) or _is_open(given):
        return []
    expected = _expected_kind(key, current)
    if _fits(expected, given):
        return []
    return [Problem(key, f"is {given!r} ({source})", expected=f"{expected}, as in {current!r}")]


def _is_open(value: object) -> bool:
    return isinstance(value, str) and ("${" in value or value == "???")


def _expected_kind(key: str, current: object) -> str:
    if isinstance(current, bool):
        return "true or false"
    if isinstance(current, int):
        return "a number" if key.rpartition(".")[2] in FRACTIONS_WRITTEN_WHOLE else "a whole number"
    if isinstance(current, float):
        return "a number"
    if isinstance(current, str):
        return "a text"
    return "a list" if isinstance(current, list) else "a mapping"


def _fits(expected: str, given: object) -> bool:
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    return {
        "true or false": isinstance(given, bool),
        "a whole number": number and isinstance(given, int),
        "a number": number,
        "a text": not isinstance(given, (list, dict)),
        "a list": isinstance(given, list),
        "a mapping": isinstance(given, dict),
    }[expected]
