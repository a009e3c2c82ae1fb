"""Building a leaderboard from indexed runs, without I/O."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from assay.core.errors import format_count, listing
from assay.core.ids import digest
from assay.core.model import ModelIdentity
from assay.results.leaderboard.abilities import (
    Abilities,
    find_abilities,
    group_columns_by_ability,
    is_averaged,
)
from assay.results.leaderboard.board import Board, BoardCell, BoardMean, BoardModel
from assay.results.leaderboard.columns import ComputedColumn, build_columns
from assay.results.leaderboard.entries import BoardEntry, BoardRun, Conditions, collect_entries
from assay.results.leaderboard.means import build_mean_cells, compute_standings
from assay.results.leaderboard.pairwise_tests import LEVEL, ValuesOf


def make_board(
    runs: Iterable[BoardRun],
    values_of: ValuesOf,
    *,
    headlines: Mapping[str, str] | None = None,
    registered: Mapping[str, str] | None = None,
    abilities: Abilities | None = None,
    model_names: Mapping[str, str] | None = None,
) -> Board:
    """Return models by datasets: the latest complete run of each model under each set of conditions.

    `headlines` maps datasets to metrics; `registered` does the same for registered datasets. `abilities`, if
    given, replaces the abilities that the datasets name. `model_names`, if given, maps models to their
    registered names, which a label replaces. Server addresses are omitted.
    """
    found = collect_entries(runs, headlines or {}, registered, model_names)
    columns = build_columns(found.entries, values_of)
    known = {entry.row: entry for entry in found.entries}
    order = _rank_models(known, columns)
    means, notes = _means(columns, len(known), abilities)
    by_mean = [build_mean_cells(mean, order, columns) for mean in means]
    return Board(
        models=_build_model_rows([known[row] for row in order], _sum_costs(found.entries)),
        columns=tuple(column.column for column in columns),
        cells=tuple(
            tuple(_cell(model, column, order, found.n_earlier) for column in columns) for model in order
        ),
        means=tuple(means),
        mean_cells=tuple(tuple(cells[row] for cells in by_mean) for row in range(len(order))),
        standings=tuple(compute_standings(order, columns)),
        notes=(*found.notes, *notes, *_column_notes(columns)),
        level=LEVEL,
    )


def _rank_models(known: Mapping[str, BoardEntry], columns: Sequence[ComputedColumn]) -> list[str]:
    """Return the models by their mean over the datasets that all of them have.

    Ties: models with all datasets come first, by their mean over all; then the others, by pairwise wins.
    """
    models = list(known)
    every = [columns[at] for at in _find_averaged_columns(columns)]
    shared = [columns[at] for at in _find_shared_columns(columns, len(models))]
    standings = dict(zip(models, compute_standings(models, columns), strict=True))

    def total(model: str, over: Sequence[ComputedColumn]) -> float:
        return math.fsum(column.entries[model].metric.value or 0.0 for column in over)

    def strength(model: str) -> tuple[float, bool, float, float, str, str]:
        is_complete = all(model in column.entries for column in every)
        return (
            -total(model, shared),
            not is_complete,
            -total(model, every) if is_complete else 0.0,
            -(standings[model].win_rate or 0.0),
            known[model].model_title.casefold(),
            model,
        )

    return sorted(models, key=strength)


def _find_averaged_columns(columns: Sequence[ComputedColumn]) -> list[int]:
    return [at for at, column in enumerate(columns) if column.column.part is None and is_averaged(column)]


def _find_shared_columns(columns: Sequence[ComputedColumn], n_models: int) -> list[int]:
    return [at for at in _find_averaged_columns(columns) if len(columns[at].entries) == n_models]


def _means(
    columns: Sequence[ComputedColumn], n_models: int, abilities: Abilities | None
) -> tuple[list[BoardMean], list[str]]:
    """Return the means of the board, and notes about them."""
    every, shared = _find_averaged_columns(columns), _find_shared_columns(columns, n_models)
    means, notes = [], []
    if len(every) > 1:
        if shared:
            means.append(
                BoardMean(f"mean of {format_count(len(shared), 'dataset')}", "shared", tuple(shared))
            )
        else:
            notes.append("no dataset has results for every model, so no mean ranks all models")
        if shared != every:
            means.append(BoardMean(f"mean of all {format_count(len(every), 'dataset')}", "all", tuple(every)))
            notes.append(
                f"{len(every) - len(shared)} of {format_count(len(every), 'dataset')} do not have results "
                "for every model; a mean ranks only models with all of its datasets"
            )
    left_out = [
        column.column.label
        for column in columns
        if column.column.part is None and column.column.counts and not is_averaged(column)
    ]
    if left_out and means:
        notes.append(
            f"not part of any mean, because the metric is not a higher-is-better share: {listing(left_out)}"
        )
    others = [
        column.column.label for column in columns if not column.column.counts and not column.column.part
    ]
    if others and means:
        notes.append(
            f"not part of any mean, because another column represents the dataset: {listing(others)}"
        )
    known = find_abilities(columns) if abilities is None else abilities
    places, ability_notes = group_columns_by_ability(known, columns, is_from_file=abilities is not None)
    means += [BoardMean(name, "ability", found) for name, found in places.items()]
    return means, [*notes, *ability_notes]


def _column_notes(columns: Sequence[ComputedColumn]) -> list[str]:
    """Return the notes of all columns; a note that applies to several appears once."""
    labels: dict[str, list[str]] = {}
    for column in columns:
        for note in column.column.notes:
            labels.setdefault(note, []).append(column.column.label)
    return [f"{note}: {listing(names, at_most=5)}" for note, names in labels.items()]


def _cell(
    model: str,
    column: ComputedColumn,
    order: Sequence[str],
    n_earlier: Mapping[tuple[str, Conditions], int],
) -> BoardCell | None:
    entry = column.entries.get(model)
    if entry is None or entry.metric.value is None:
        return None
    own = list(column.entries)
    place = own.index(model)
    row = {one: at for at, one in enumerate(order)}
    metric, run = entry.metric, entry.source.run
    return BoardCell(
        value=entry.metric.value,
        low=metric.low,
        high=metric.high,
        stderr=metric.stderr,
        n=metric.n,
        n_scored=metric.n_scored,
        n_unanswered=metric.n_unanswered,
        n_truncated=metric.n_truncated,
        n_failed=metric.n_failed,
        rank=column.verdicts.ranks[place],
        beats=tuple(sorted(row[own[other]] for other in column.verdicts.beats[place])),
        run=run.name,
        host=run.host,
        root=run.root,
        started=run.started,
        n_earlier=n_earlier.get((model, entry.conditions), 0),
    )


def _build_model_rows(entries: Sequence[BoardEntry], costs: Mapping[str, float]) -> tuple[BoardModel, ...]:
    """Return the rows with their costs; models with the same name are distinguished by what differs."""
    facts = [_build_model_facts(entry.model) for entry in entries]
    called = [entry.model_title for entry in entries]
    n_labels = Counter(entry.model.digest for entry in entries)
    rows = []
    for entry, title, own in zip(entries, called, facts, strict=True):
        model = entry.model
        alike = [other for one, other in zip(called, facts, strict=True) if one == title]
        names = dict.fromkeys(name for other in alike for name in other)
        apart = [
            f"{name}={own.get(name, '-')[:24]}"
            for name in names
            if len({other.get(name) for other in alike}) > 1
        ]
        if len(alike) > 1 and not apart:
            apart = [model.digest[:6]]  # The same model behind two addresses.
        label = f"{title} ({', '.join(apart)})" if apart else title
        # One model may have rows under several labels.
        own_digest = model.digest if n_labels[model.digest] == 1 else digest(entry.row, size=16)
        rows.append(BoardModel(label, own_digest, own, costs.get(entry.row)))
    return tuple(rows)


def _sum_costs(entries: Iterable[BoardEntry]) -> dict[str, float]:
    """Return the cost of each row's runs, if it is known of any; a run with several datasets counts once."""
    costs: dict[str, dict[tuple[str, str, str], float]] = {}
    for entry in entries:
        run = entry.source.run
        if run.usd is not None:
            costs.setdefault(entry.row, {})[run.host, run.root, run.name] = run.usd
    return {row: math.fsum(by_run.values()) for row, by_run in costs.items()}


def _build_model_facts(model: ModelIdentity) -> dict[str, str]:
    facts = {
        "backend": model.backend,
        "weights": model.weights,
        "dtype": model.dtype,
        "template": model.template,
        **{name: str(value) for name, value in model.args.items()},
    }
    return {name: text for name, text in facts.items() if text}
