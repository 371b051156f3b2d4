"""ComplexFuncBench (arXiv 2501.10132): travel requests that take several dependent calls, by two rule sets."""
from __future__ import annotations

from evaluation.suites.complexfuncbench.suite import ComplexFuncBench, Options, open_suite

__all__ = ["ComplexFuncBench", "Options", "open_suite"]
