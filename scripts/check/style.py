"""Rules of style that a linter does not know or that must not be switched off by a comment."""
from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator, Sequence

from scripts.check.source import Source, Violation

LIBRARIES = ("environment", "BFCL", "data_synthesis", "training", "evaluation")
FORBIDDEN_CALLS = {
    "eval": "runs text as code",
    "exec": "runs text as code",
    "pickle.load": "runs code that the file names; data_synthesis.records reads pickles of plain data",
    "pickle.loads": "runs code that the bytes name",
    "dill.load": "runs code that the file names",
    "dill.loads": "runs code that the bytes name",
    "cloudpickle.load": "runs code that the file names",
    "sys.path.append": "edits the import path; install the project instead (scripts/setup.sh)",
    "sys.path.insert": "edits the import path; install the project instead (scripts/setup.sh)",
}
PICKLES = ("pickle.", "dill.", "cloudpickle.")
"""Modules whose `load` a test may call, to see that a value of its own making survives the way to another process."""
READS = frozenset({"open", "read_text", "read_bytes", "read_csv", "read_parquet", "urlopen"})
MODULE_LINES = 400
FUNCTION_LINES = 100
MEDIAN_MODULE, MEDIAN_FUNCTION, LONG_FUNCTION = 105, 9, 50

Function = ast.FunctionDef | ast.AsyncFunctionDef


def check_docstring(source: Source) -> Iterator[Violation]:
    """A module without a docstring; a test's names say it."""
    if not source.is_test and not ast.get_docstring(source.tree):
        yield Violation(source.path, 1, "docstring", "the module does not say what it is")


def check_future(source: Source) -> Iterator[Violation]:
    """A module with code but without `from __future__ import annotations`."""
    body = [node for node in source.tree.body if not _is_text(node)]
    if body and not any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in body):
        yield Violation(source.path, body[0].lineno, "future", "from __future__ import annotations is missing")


def check_calls(source: Source) -> Iterator[Violation]:
    """Calls that run data as code or edit the import path; `print` in a library."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in FORBIDDEN_CALLS and not (source.is_test and name.startswith(PICKLES)):
                yield Violation(source.path, node.lineno, "calls", f"{name} {FORBIDDEN_CALLS[name]}")
            elif name == "print" and source.folder in LIBRARIES and not source.is_test:
                yield Violation(source.path, node.lineno, "print", "a library returns or logs; it does not print")


def check_handlers(source: Source) -> Iterator[Violation]:
    """Handlers that catch everything, interruptions included."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield Violation(source.path, node.lineno, "bare-except", "name the errors that are expected here")


def check_import_time(source: Source) -> Iterator[Violation]:
    """Files read while a module is imported; a test module may."""
    if source.is_test:
        return
    for node in _at_import(source.tree.body):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in READS:
            yield Violation(source.path, node.lineno, "import-time", f"{name}() runs at import; read when first needed")


def check_size(source: Source) -> Iterator[Violation]:
    """Modules and functions that have grown too long (tests: only functions)."""
    if source.lines > MODULE_LINES and not source.is_test:
        yield Violation(source.path, 1, "size", f"{source.lines} lines; split it (at most {MODULE_LINES})")
    for node in functions(source):
        if length(node) > FUNCTION_LINES:
            message = f"{node.name} has {length(node)} lines (at most {FUNCTION_LINES})"
            yield Violation(source.path, node.lineno, "size", message)


def check_shape(sources: Sequence[Source]) -> Iterator[Violation]:
    """The shape of the whole: median module, median and 95th percentile of functions (tests apart)."""
    code = [source for source in sources if not source.is_test]
    lengths = sorted(length(node) for source in code for node in functions(source))
    if not lengths:
        return
    figures = (
        ("lines of the median module", statistics.median(source.lines for source in code), MEDIAN_MODULE),
        ("lines of the median function", statistics.median(lengths), MEDIAN_FUNCTION),
        ("lines of the function at 95 %", lengths[int(0.95 * len(lengths))], LONG_FUNCTION),
    )
    for name, got, limit in figures:
        if got > limit:
            yield Violation(".", 0, "shape", f"{name}: {got:g} (at most {limit})")


def functions(source: Source) -> Iterator[Function]:
    """Yield every function and method of a file."""
    return (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def length(node: Function) -> int:
    """Return the lines of a function from its `def` to its end."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _at_import(body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    """Yield the calls that run when a module is imported: those outside functions and of no `__main__` block."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _at_import(node.body)
        else:
            yield from (call for call in _outside_lambdas(node) if isinstance(call, ast.Call))


def _outside_lambdas(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _outside_lambdas(child)
