"""How quickly the viewer opens, filters and searches many trajectories, beside loading them all."""
from __future__ import annotations
