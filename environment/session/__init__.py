"""One trajectory's life: prompt, parsing by injection, calls, observations, limits, ledger."""
