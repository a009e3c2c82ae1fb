"""The best way to give rows to columns, one to one. Knows numbers only."""

from __future__ import annotations

import math
from collections.abc import Sequence


def best_assignment(scores: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return (row, column) pairs, one per row or column whichever are fewer, with the largest total score.

    The Hungarian method with potentials, O(rows² · columns): rows enter one at a time, each by the shortest
    augmenting path.
    """
    if not scores or not scores[0]:
        return []
    n_rows, n_columns = len(scores), len(scores[0])
    if n_rows > n_columns:
        turned = [[scores[row][column] for row in range(n_rows)] for column in range(n_columns)]
        return sorted((row, column) for column, row in best_assignment(turned))
    # Row and column 0 stand for "none"; costs are negated scores.
    row_potential, column_potential = [0.0] * (n_rows + 1), [0.0] * (n_columns + 1)
    row_of = [0] * (n_columns + 1)
    for entering in range(1, n_rows + 1):
        row_of[0] = entering
        came_from = _cheapest_path(scores, row_of, row_potential, column_potential)
        column = came_from.pop()
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    return sorted((row - 1, column - 1) for column, row in enumerate(row_of) if row and column)


def _cheapest_path(
    scores: Sequence[Sequence[float]],
    row_of: list[int],
    row_potential: list[float],
    column_potential: list[float],
) -> list[int]:
    """Return for each column the one before it on the path, and last the free column where the path ends.

    Moves the potentials, so that every edge of the matching stays tight.
    """
    n_columns = len(column_potential) - 1
    came_from, slack, is_done = [0] * (n_columns + 1), [math.inf] * (n_columns + 1), [False] * (n_columns + 1)
    column = 0
    while row_of[column]:
        is_done[column] = True
        row = row_of[column]
        for other in range(1, n_columns + 1):
            cost = -scores[row - 1][other - 1] - row_potential[row] - column_potential[other]
            if not is_done[other] and cost < slack[other]:
                slack[other], came_from[other] = cost, column
        column = min(
            (other for other in range(1, n_columns + 1) if not is_done[other]), key=slack.__getitem__
        )
        step = slack[column]
        for other in range(n_columns + 1):
            if is_done[other]:
                row_potential[row_of[other]] += step
                column_potential[other] -= step
            else:
                slack[other] -= step
    return [*came_from, column]
