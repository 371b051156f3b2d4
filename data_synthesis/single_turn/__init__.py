"""Two-stage preparation of single-turn function-calling sets: rows of (tools, query, answers).

After FunRL (arXiv 2508.05118): a judge keeps, repairs or drops each row, rules check every call again, a second judge
of another model has to agree. Every step counts what it let through and why it dropped the rest.
"""
