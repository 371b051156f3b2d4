"""Preprocessing: records → the parquet files that training reads.

records (.jsonl, .pkl) ─┬─► rl.preprocess_rl    one row a task: prompt, tools on offer, the task itself
                        └─► sft.preprocess_sft  one row a dialogue: the gold chain as `Session` would show it
"""
from __future__ import annotations

from data_synthesis.preprocess.report import BadRow, PreprocessReport
from data_synthesis.preprocess.rl import preprocess_rl
from data_synthesis.preprocess.sft import preprocess_sft

__all__ = ["BadRow", "PreprocessReport", "preprocess_rl", "preprocess_sft"]
