"""Launching: configuration, plan, stages, run directory and terminal of the main job. No torch at import."""
