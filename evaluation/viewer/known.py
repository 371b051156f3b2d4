"""What is known of the tasks behind the trajectories: read when the first episode is opened, once."""
from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from environment.booking.schemas import load_schemas
from environment.core.schema import ToolSchema
from environment.core.task import Task
from evaluation.golds import schemas_of_run, tasks_of_run, tasks_of_summary
from evaluation.rows import read_tasks
from evaluation.viewer.sources import Source, summary_at, summary_of


class Known:
    """Tasks by id, tool schemas, and what could not be read, in words."""

    def __init__(self, source: Source, tasks: Path | None = None, schemas: Path | None = None) -> None:
        """Check what was named at once; the rest is read later.

        Raises:
            DataError: the named tasks or schemas can't be read.
        """
        self.problems: list[str] = []
        self._source = source
        self._given = {task.id: task for task in read_tasks(tasks)} if tasks is not None else None
        self._schemas = load_schemas(schemas) if schemas is not None else None
        self._of_run: dict[str, Task] | None = None
        self._of_summary: dict[Path, dict[str, Task]] = {}
        self._lock = threading.Lock()

    def task(self, task_id: str, file: Path) -> Task | None:
        """Return the task of a trajectory in a file, None where nothing tells it."""
        if self._given is not None:
            return self._given.get(task_id)
        with self._lock:
            return self._run().get(task_id) or self._summary(file).get(task_id)

    @property
    def schemas(self) -> Mapping[str, ToolSchema]:
        """The tools' schemas: the ones named, the run's, or our own."""
        with self._lock:
            if self._schemas is None:
                run = self._source.run
                self._schemas = load_schemas() if run is None else schemas_of_run(run)
            return self._schemas

    def _run(self) -> dict[str, Task]:
        if self._of_run is None:
            run = self._source.run
            self._of_run, problems = ({}, []) if run is None else tasks_of_run(run)
            self.problems += problems
        return self._of_run

    def _summary(self, file: Path) -> dict[str, Task]:
        """Return the tasks of the summary beside a file; a summary that is still to come is asked for again."""
        path = summary_of(file)
        if path is None:
            return {}
        if path not in self._of_summary:
            summary = summary_at(path)
            if not summary:
                return {}
            self._of_summary[path] = tasks_of_summary(summary)
        return self._of_summary[path]
