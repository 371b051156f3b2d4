"""The few types everything meets in: schemas, calls, results, tasks, trajectories, errors."""
