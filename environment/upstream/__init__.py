"""Whoever is asked for what is not recorded: the simulator, a live service, or nobody."""
