"""The report: one self-contained HTML file without scripts or network, of one run or of several side by side."""
from __future__ import annotations

from evaluation.report.page import build_comparison, build_report

__all__ = ["build_comparison", "build_report"]
