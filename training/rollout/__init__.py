"""Rollouts for training: verl's agent-loop interface around the one episode loop of `environment.session`."""
