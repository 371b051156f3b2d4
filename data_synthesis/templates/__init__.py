"""Workflow templates: what can be asked, as YAML, and their types."""
