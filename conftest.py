"""Settings every test shares: how hypothesis looks for examples."""
from __future__ import annotations

import os

from hypothesis import settings

# A busy machine makes single examples slow, so no deadline. CI looks at the same examples every time.
settings.register_profile("project", deadline=None, max_examples=50)
settings.register_profile("repeatable", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("repeatable" if os.environ.get("CI") else "project")
