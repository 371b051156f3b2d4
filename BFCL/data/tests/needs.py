"""What tests of the leaderboard's rows need, asked for by name."""

from __future__ import annotations

import pytest

from BFCL.data.package import PACKAGE, VERSION, available

PACKAGE_HERE = available()
needs_package = pytest.mark.skipif(not PACKAGE_HERE, reason=f"{PACKAGE} {VERSION} is not installed")
