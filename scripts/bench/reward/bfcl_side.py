"""The leaderboard's own AST checker on the bench's rows: run with a Python that has bfcl-eval, by `__main__`.

    python bfcl_side.py ROWS.json REPEATS OUT.json

Writes CPU seconds a repeat and the verdicts. Nothing of this project is imported. Of the package only the checker is
needed, so the table of models, which would import every vendor's client, is replaced by one entry.
"""

from __future__ import annotations

import json
import sys
import time
import types
from collections import defaultdict
from pathlib import Path
from typing import Any


def main(rows_file: str, repeats: int, out: str) -> None:
    """Check every row so many times and write what came out."""
    table = types.ModuleType("bfcl_eval.constants.model_config")
    entry = types.SimpleNamespace(underscore_to_dot=False)
    table.MODEL_CONFIG_MAPPING = defaultdict(lambda: entry)  # type: ignore[attr-defined]
    sys.modules[table.__name__] = table
    from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found]
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # type: ignore[import-not-found]

    rows: list[dict[str, Any]] = json.loads(Path(rows_file).read_text(encoding="utf-8"))
    named = {"simple_java": Language.JAVA, "simple_javascript": Language.JAVASCRIPT}
    languages = [named.get(row["category"], Language.PYTHON) for row in rows]
    seconds: list[float] = []
    verdicts: list[tuple[bool, str]] = []
    for _ in range(repeats):
        begun = time.process_time()
        found = [
            ast_checker(r["function"], r["model_output"], r["possible_answer"], language, r["category"], "m")
            for r, language in zip(rows, languages, strict=True)
        ]
        seconds.append(time.process_time() - begun)
        verdicts = [(f["valid"], "" if f["valid"] else f["error_type"]) for f in found]
    Path(out).write_text(json.dumps({"seconds": seconds, "verdicts": verdicts}), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
