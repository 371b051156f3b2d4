"""Script entry with the reference's flags: records (`.pkl`, `.jsonl`) → RL parquet.

python -m data_synthesis.preprocess_bfcl_for_rl --input data/bfcl_training.pkl --output data/train.parquet
"""
from __future__ import annotations

from collections.abc import Sequence

from data_synthesis.preprocess.entry import parser, run
from data_synthesis.preprocess.rl import LAYOUTS, preprocess_rl


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script; return its exit status."""
    flags = parser("preprocess_bfcl_for_rl", "Turn records into the parquet that RL training reads.")
    flags.add_argument("--compat", default="native", help=f"columns: {', '.join(LAYOUTS)} (strings: the reference's)")
    given = flags.parse_args(argv)
    return run(
        lambda: preprocess_rl(
            given.input,
            given.output,
            schemas_path=given.tool_schema_path,
            filter_success=given.filter_success,
            max_tools=given.max_tools,
            strict=given.strict,
            layout=given.compat,
        ),
        given.skip_bad,
    )


if __name__ == "__main__":
    raise SystemExit(main())
