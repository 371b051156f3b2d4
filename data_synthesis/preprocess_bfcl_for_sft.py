"""Script entry with the reference's flags: records (`.pkl`, `.jsonl`) → SFT parquet.

    python -m data_synthesis.preprocess_bfcl_for_sft --input data/bfcl_training.pkl --output data/sft.parquet

Without `--world` the responses stored in the records are the world.
"""
from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from data_synthesis.preprocess.entry import parser, run
from data_synthesis.preprocess.report import PreprocessReport
from data_synthesis.preprocess.sft import preprocess_sft
from data_synthesis.records import read_records
from environment.booking.schemas import load_schemas
from environment.cache.build import import_records


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script; return its exit status."""
    flags = parser("preprocess_bfcl_for_sft", "Turn records into the dialogues that SFT reads.")
    flags.add_argument("--output-jsonl", type=Path, help="also write the rows as JSON Lines here")
    flags.add_argument("--world", type=Path, help="recorded world; by default the responses stored in the records")
    flags.add_argument("--observation-tokens", type=int, default=2048, help="longest observation (default 2048)")
    given = flags.parse_args(argv)

    def convert(world: Path) -> PreprocessReport:
        return preprocess_sft(
            given.input,
            world,
            given.output,
            given.observation_tokens,
            schemas_path=given.tool_schema_path,
            filter_success=given.filter_success,
            max_tools=given.max_tools,
            strict=given.strict,
            output_jsonl=given.output_jsonl,
        )

    def work() -> PreprocessReport:
        if given.world is not None:
            return convert(given.world)
        with tempfile.TemporaryDirectory() as folder:
            world = Path(folder, "records.world")
            import_records(world, read_records(given.input), load_schemas(given.tool_schema_path))
            return convert(world)

    return run(work, given.skip_bad)


if __name__ == "__main__":
    raise SystemExit(main())
