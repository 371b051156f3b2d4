"""What the two script entries share: flags, summary, exit status."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from data_synthesis.preprocess.report import PreprocessReport
from environment.core.errors import ToolRlError


def parser(name: str, text: str) -> argparse.ArgumentParser:
    """Return a parser with the reference's flags and ours."""
    flags = argparse.ArgumentParser(prog=name, description=text)
    flags.add_argument("--input", type=Path, required=True, help="records, .pkl or .jsonl")
    flags.add_argument("--output", type=Path, required=True, help="parquet file to write")
    flags.add_argument("--tool-schema-path", type=Path, help="tool schemas; by default environment/booking_api.json")
    flags.add_argument("--filter-success", action="store_true", help="leave out records whose overall_success is false")
    flags.add_argument("--max-tools", type=int, help="at most so many tools on offer a record")
    flags.add_argument("--skip-bad", action="store_true", help="exit 0 where bad records were left out")
    flags.add_argument("--strict", action="store_true", help="write nothing and exit 1 where any record is bad")
    return flags


def run(work: Callable[[], PreprocessReport], skip_bad: bool = False) -> int:
    """Do the work, show its summary, return the exit status; errors go to stderr in full sentences.

    A file with bad records is written without them and ends with status 1, unless `skip_bad` expects it.
    """
    try:
        report = work()
    except ToolRlError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    sys.stdout.write(f"{report.summary()}\n")
    return 1 if report.bad_rows and not skip_bad else 0
