"""The command line of an expansion: the reference's flags with its defaults, and ours.

Exit status: 0 done, 1 ended early (the same command goes on), 2 wrong settings, 130 stopped by Ctrl-C or SIGTERM.
"""
from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import FrameType

from environment.booking.seed_world import WorldSize
from environment.core.errors import ToolRlError
from environment.expansion.estimate import Estimate
from environment.expansion.expander import ExpansionSizes
from environment.expansion.run import Expansion, dry_run, expand
from environment.expansion.settings import ExpandMode, ExpandSettings
from environment.upstream.kinds import UpstreamKind
from environment.upstream.modes import UpstreamSettings


def main(argv: Sequence[str] | None = None, name: str = "expand_cache") -> int:
    """Run the command; return its exit status."""
    given = parser(name).parse_args(argv)
    try:
        settings = settings_of(given)
        if given.dry_run:
            sys.stdout.write(_cost(dry_run(settings), settings))
            return 0
        with _stopping() as halt:
            found = expand(settings, _say if given.verbose else lambda _: None, halt)
    except ToolRlError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    sys.stdout.write(_told(found, settings))
    if halt.is_set():
        return 130
    return 0 if found.stopped is None else 1


def parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of the flags."""
    flags = argparse.ArgumentParser(
        prog=name, formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Grow a recorded world by asking an upstream. Killed at any moment, the same command goes on.",
        epilog=f"Example: {name} --cache-path world.db --upstream seed --mode independent --functions Get_Seat_Map",
    )  # fmt: skip
    _what(flags)
    _how_far(flags)
    _whom(flags)
    return flags


def _what(flags: argparse.ArgumentParser) -> None:
    flags.add_argument("--cache-path", type=Path, required=True, help="the world, .db; a missing one is begun")
    flags.add_argument("--mode", choices=list(map(str, ExpandMode)), default="workflow", help="what is walked")
    flags.add_argument("--functions", nargs="+", default=[], help="tools of the independent mode (all)")
    flags.add_argument("--workflows", nargs="+", default=["all"], help="ids or numbers of workflows, or all")
    flags.add_argument("--exclude-workflows", nargs="+", default=[], help="ids or numbers left out")
    flags.add_argument(
        "--workflow-templates", type=Path, help="the reference's templates; by default a workflow for every tool"
    )
    flags.add_argument("--tool-schema-path", type=Path, help="tool schemas; by default the BookingAPI")
    flags.add_argument("--random-seed", type=int, default=0, help="of places, dates and pruning")
    flags.add_argument("--first-date", type=_day, help="first date that calls are made for (YYYY-MM-DD)")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date as YYYY-MM-DD") from None


def _how_far(flags: argparse.ArgumentParser) -> None:
    flags.add_argument("--samples-per-function", type=int, default=50, help="argument sets of a tool, independent mode")
    flags.add_argument("--batch-size-step0", type=int, default=50, help="argument sets of a first step")
    flags.add_argument("--batch-size-dependent", type=int, default=10, help="argument sets a branch of later steps")
    flags.add_argument("--max-branches-per-step", type=int, default=60, help="answers of a step that go on")
    flags.add_argument("--max-chains-per-workflow", type=int, help="complete chains of a workflow")
    flags.add_argument("--max-workers", type=int, default=10, help="requests at once")
    flags.add_argument("--workflow-workers", type=int, default=3, help="workflows at once")
    flags.add_argument("--dry-run", action="store_true", help="say what it would cost and stop")
    flags.add_argument("--summary", type=Path, help="summary file; by default beside the world")
    flags.add_argument("--verbose", action="store_true", help="a line for every step, on stderr")


def _whom(flags: argparse.ArgumentParser) -> None:
    kinds = list(map(str, UpstreamKind))
    flags.add_argument(
        "--upstream", choices=kinds, default="rapidapi", help="the live service (needs RAPID_API_KEY) or the seed world"
    )
    flags.add_argument("--max-requests", type=int, help="of the live service in all, tries and earlier starts counted")
    flags.add_argument("--requests-per-second", type=float, default=5.0, help="of the live service")
    flags.add_argument("--timeout", type=float, default=60.0, help="seconds for one request")
    flags.add_argument("--tries", type=int, default=4, help="of a request that fails in passing")
    flags.add_argument("--upstream-address", help="another address of the service, such as a proxy's")
    flags.add_argument("--ask-doubtful", action="store_true", help="ask endpoints whose parameters are in doubt too")
    flags.add_argument("--model", default="none", help="language model that thinks of argument values; none draws them")
    flags.add_argument("--model-address", help="its OpenAI-compatible endpoint; by default OPENAI_BASE_URL")
    flags.add_argument("--world-seed", type=int, default=0, help="of the seed world")
    flags.add_argument("--cities", type=int, default=WorldSize().cities, help="of the seed world")
    flags.add_argument("--hotels", type=int, default=WorldSize().hotels, help="a city of the seed world")


def settings_of(given: argparse.Namespace) -> ExpandSettings:
    """Return the settings of parsed flags.

    Raises:
        ConfigError: a number out of range, or no world to write.
    """
    first = given.samples_per_function if given.mode == "independent" else given.batch_size_step0
    branches = given.max_branches_per_step
    if given.max_chains_per_workflow is not None:
        branches = min(branches, given.max_chains_per_workflow)
    upstream = UpstreamSettings(
        UpstreamKind(given.upstream), given.world_seed, WorldSize(cities=given.cities, hotels=given.hotels),
        given.upstream_address, given.requests_per_second, given.max_requests, given.ask_doubtful, given.timeout,
        given.tries,
    )  # fmt: skip
    return ExpandSettings(
        world=given.cache_path, mode=ExpandMode(given.mode), functions=tuple(given.functions),
        workflows=tuple(given.workflows), excluded=tuple(given.exclude_workflows), templates=given.workflow_templates,
        schemas=given.tool_schema_path, sizes=ExpansionSizes(first, given.batch_size_dependent, branches),
        workers=given.max_workers, workflow_workers=given.workflow_workers, seed=given.random_seed,
        first_date=given.first_date, upstream=upstream, summary=given.summary,
        model=None if given.model == "none" else given.model, model_address=given.model_address,
    )  # fmt: skip


def _cost(cost: Estimate, settings: ExpandSettings) -> str:
    lines = [f"{cost.recorded} calls are recorded already, {cost.certain} are known to be asked, {cost.most} at most"]
    if settings.upstream.kind is UpstreamKind.RAPIDAPI:
        most = cost.most if settings.upstream.max_requests is None else min(cost.most, settings.upstream.max_requests)
        pace = settings.upstream.per_second
        time = f" in about {most / pace / 60:.1f} minutes at {pace:g} a second" if pace > 0 else ""
        lines.append(f"at most {most} paid requests{time}, tries after failures apart")
        if settings.upstream.max_requests is None:
            lines.append("no limit is set; --max-requests sets one")
    else:
        lines.append("none of them is paid for")
    return "\n".join(lines) + "\n"


def _told(found: Expansion, settings: ExpandSettings) -> str:
    whole = sum(result.ended is None for result in found.results)
    lines = [f"{whole} of {len(found.results)} workflows complete, {sum(r.chains for r in found.results)} chains"]
    lines += [f"  {result.id}: ended at {result.ended}" for result in found.results if result.ended][:20]
    answered = ", ".join(f"{count} by {who}" for who, count in sorted(found.sources.items())) or "none"
    lines.append(f"calls answered: {answered}; paid requests: {found.spent}")
    if found.report is not None:
        lines.append(f"{found.report.entries} entries in {found.report.path}, content hash {found.report.content_hash}")
    if found.stopped is not None:
        lines.append(f"ended early: {found.stopped}")
        lines.append("what was answered is kept; the same command goes on from here")
    elif found.report is None:
        lines.append(f"nothing new for {settings.world}")
    return "\n".join(lines) + "\n"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


@contextmanager
def _stopping() -> Generator[threading.Event, None, None]:
    """Turn the first Ctrl-C or SIGTERM into an orderly end; a second one is let through."""
    halt = threading.Event()
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, _frame: FrameType | None) -> None:
        halt.set()
        signal.signal(number, kept[signal.Signals(number)])
        sys.stderr.write("ending; what was answered is kept\n")

    for number in kept:
        signal.signal(number, stop)
    try:
        yield halt
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
