"""Reading the reference's workflow templates as chains, and choosing among chains by their ids.

    {"workflows": [{"id": "workflow_0", "dependencies": {"0": {"function", "arguments", "dependency_args"}, …}}]}

A step's example arguments say which optional parameters it uses; their values are kept only for ids that no step gives.
A mined field is that of one recording; where an answer lacks it, the field of that kind which every answer has counts.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environment.core.calls import JsonValue
from environment.core.errors import DataError, nearest_name
from environment.core.ports import generic_path
from environment.core.schema import ToolSchema
from environment.expansion.chains import (
    POINT_PORTS,
    USER_PORTS,
    Chain,
    ChainStep,
    Link,
    complete,
    first_item,
    is_certain,
)


class _From(BaseModel):
    model_config = ConfigDict(extra="ignore")
    from_step: int = Field(ge=0)
    from_field: str = Field(min_length=1)


class _Step(BaseModel):
    model_config = ConfigDict(extra="ignore")
    function: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    dependency_args: dict[str, _From] = Field(default_factory=dict)


class _Workflow(BaseModel):
    model_config = ConfigDict(extra="ignore")
    id: str
    dependencies: dict[str, _Step]


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore")
    workflows: list[_Workflow]


def read_workflows(path: Path, schemas: Mapping[str, ToolSchema]) -> list[Chain]:
    """Read a file of templates.

    Raises:
        DataError: no such file, another layout, an unknown tool, or a step that takes from itself or a later one.
    """
    return [Chain(one.id, complete(_steps(one, path, schemas), schemas)) for one in _read(path).workflows]


def mined_edges(path: Path, schemas: Mapping[str, ToolSchema]) -> Iterator[tuple[str, str, str, str]]:
    """Yield (producer, generic field, consumer, argument) for every dependency of a file, as it was mined.

    Raises:
        DataError: see `read_workflows`.
    """
    for workflow in _read(path).workflows:
        steps = _steps(workflow, path, schemas)
        for number, step in enumerate(steps):
            for argument, source in workflow.dependencies[str(number)].dependency_args.items():
                yield steps[source.from_step].tool, generic_path(source.from_field), step.tool, argument


def _read(path: Path) -> _File:
    try:
        return _File.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"can't read the templates: {error.strerror}", where=str(path)) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(f"{place or 'file'}: {first['msg']}", where=str(path), got=first.get("input")) from error


def _steps(workflow: _Workflow, path: Path, schemas: Mapping[str, ToolSchema]) -> list[ChainStep]:
    where, steps = f"{path.name} {workflow.id}", list[ChainStep]()
    order = sorted(workflow.dependencies.items(), key=lambda item: _number(item[0], where))
    if [_number(key, where) for key, _ in order] != list(range(len(order))):
        raise DataError("steps are not numbered 0, 1, 2, …", where=where, got=", ".join(workflow.dependencies))
    for number, (_, step) in enumerate(order):
        schema = schemas.get(step.function)
        if schema is None:
            near = nearest_name(step.function, schemas)
            raise DataError("unknown tool", where=f"{where} step {number}", got=step.function, nearest=near)
        before = [schemas[earlier.tool] for earlier in steps]
        steps.append(_step(step, number, schema, before, where))
    return steps


def _step(step: _Step, number: int, schema: ToolSchema, before: Sequence[ToolSchema], where: str) -> ChainStep:
    links: list[Link] = []
    for argument, source in step.dependency_args.items():
        if source.from_step >= number:
            raise DataError("takes from a step that is not before it", where=f"{where} step {number}", got=argument)
        port = schema.takes.get(argument)
        if port is not None:  # without a port two values are equal by chance: a count, a number of adults
            paths = (source.from_field, *_others(before[source.from_step], port))
            fields = tuple(dict.fromkeys([source.from_field, *map(first_item, paths)]))
            links.append(Link(argument, source.from_step, fields, port in USER_PORTS | POINT_PORTS))
    known = [name for name in step.arguments if name in schema.properties]
    optional = tuple(name for name in known if name not in schema.required)
    linked = {link.argument for link in links}
    ids = {path.split("[")[0] for path, port in schema.takes.items() if port not in USER_PORTS | POINT_PORTS}
    constants = {name: step.arguments[name] for name in known if name in ids and name not in linked}
    return ChainStep(schema.name, tuple(links), optional, constants)


def _others(producer: ToolSchema, port: str) -> list[str]:
    """Return the fields of one kind that every answer of a tool has: mined fields are those of one recording."""
    return [path for path, given in producer.gives.items() if given == port and is_certain(producer, path)]


def _number(text: str, where: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise DataError("a step's key is no number", where=where, got=text)
    return int(text)


def select(chains: Sequence[Chain], wanted: Iterable[str], left_out: Iterable[str] = ()) -> list[Chain]:
    """Return the chains of the ids wanted (`all`: every one) but for those left out, in their order.

    A bare number means `workflow_<number>`.

    Raises:
        DataError: an id that no chain has.
    """
    known = {chain.id: chain for chain in chains}
    out = {_known(name, known) for name in left_out}
    names = list(wanted)
    if names == ["all"]:
        return [chain for chain in chains if chain.id not in out]
    ids = {_known(name, known) for name in names}
    return [chain for chain in chains if chain.id in ids - out]


def _known(name: str, known: Mapping[str, Chain]) -> str:
    full = f"workflow_{name}" if name.isdigit() else name
    if full not in known:
        raise DataError("no such workflow", got=name, nearest=nearest_name(full, known))
    return full
