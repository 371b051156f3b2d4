"""One-to-one assignment of rows to columns with the largest total weight, exact.

Shortest augmenting paths with potentials (the Hungarian method), O(rows² · columns). Every row gets a column as long
as there are enough of them; with more rows than columns the roles are swapped and some rows stay free. The chains here
have at most a dozen steps, the calls of an episode may be hundreds, so the cost stays in the milliseconds.
"""
from __future__ import annotations

from collections.abc import Sequence

INFINITY = float("inf")


def best_assignment(weights: Sequence[Sequence[float]]) -> list[int | None]:
    """Return for each row its column, or None for a row that stays free. Weights are finite, one list a row."""
    rows, columns = len(weights), len(weights[0]) if weights else 0
    if rows <= columns:
        return [*_assign([[-w for w in row] for row in weights])]
    swapped = _assign([[-weights[r][c] for r in range(rows)] for c in range(columns)])
    result: list[int | None] = [None] * rows
    for column, row in enumerate(swapped):
        result[row] = column
    return result


def _assign(cost: list[list[float]]) -> list[int]:
    """Return the column of each row at least total cost, rows <= columns. Index 0 of the work lists is a sentinel."""
    rows, columns = len(cost), len(cost[0]) if cost else 0
    row_potential, column_potential = [0.0] * (rows + 1), [0.0] * (columns + 1)
    owner = [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0] = row
        way, last = _shortest_path(cost, owner, row_potential, column_potential)
        while last:
            owner[last] = owner[way[last]]
            last = way[last]
    result = [0] * rows
    for column in range(1, columns + 1):
        if owner[column]:
            result[owner[column] - 1] = column - 1
    return result


def _shortest_path(
    cost: list[list[float]], owner: list[int], row_potential: list[float], column_potential: list[float]
) -> tuple[list[int], int]:
    """Grow a tree of tight edges from column 0 to a free column; return the way back and that column."""
    columns = len(owner) - 1
    slack, way, seen = [INFINITY] * (columns + 1), [0] * (columns + 1), [False] * (columns + 1)
    here = 0
    while owner[here]:
        seen[here] = True
        row, delta, ahead = owner[here], INFINITY, 0
        costs, potential = cost[row - 1], row_potential[row]
        for column in range(1, columns + 1):
            if seen[column]:
                continue
            reduced = costs[column - 1] - potential - column_potential[column]
            if reduced < slack[column]:
                slack[column], way[column] = reduced, here
            if slack[column] < delta:
                delta, ahead = slack[column], column
        for column in range(columns + 1):
            if seen[column]:
                row_potential[owner[column]] += delta
                column_potential[column] -= delta
            else:
                slack[column] -= delta
        here = ahead
    return way, here
