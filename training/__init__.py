"""Training: rewards, rollouts, advantages, the glue to the trainer and the launcher."""
