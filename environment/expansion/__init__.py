"""Growing a recorded world: asking an upstream along chains of calls, within a budget, in a way that can be resumed."""
