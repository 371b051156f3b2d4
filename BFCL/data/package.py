"""Where the leaderboard's official package is, without importing it.

Only files of it are read, and the eight classes its multi-turn rows act on (`BFCL.execute.classes`). The package as a
whole is never imported: that would bring every vendor's client along and make folders beside it. It is optional:
whoever needs it and lacks it gets one error with the command that installs it.
"""
from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from environment.core.errors import ConfigError

PACKAGE, MODULE = "bfcl-eval", "bfcl_eval"
VERSION = "2026.3.23"
"""The release whose rows and verdicts ours are held to."""
INSTALL = f"pip install --no-deps {PACKAGE}=={VERSION} mpmath==1.3.0"


def available() -> bool:
    """Tell whether the package is here in the right version."""
    return _installed() == VERSION and find_spec(MODULE) is not None


@lru_cache(maxsize=1)
def home() -> Path:
    """Return the folder of the package.

    Raises:
        ConfigError: it is not installed, or another release is.
    """
    found, fix = _installed(), f"{INSTALL}   (bash scripts/setup.sh does it too)"
    spec = find_spec(MODULE) if found else None
    if found is None or spec is None or not spec.submodule_search_locations:
        raise ConfigError("the leaderboard's data is not installed", expected=f"the package {PACKAGE}", fix=fix)
    if found != VERSION:
        raise ConfigError(
            f"{PACKAGE} is another release than the one that verdicts are held to", got=found, expected=VERSION, fix=fix
        )
    return Path(spec.submodule_search_locations[0])


def _installed() -> str | None:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return None
