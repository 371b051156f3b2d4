"""The world over HTTP, for rollouts that do not run beside it."""
