"""A run exported to another format and imported again has the same scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import assay
from assay.results.exchange.formats import list_formats
from assay.results.read import StoredRun

_BOTH_WAYS = [one.name for one in list_formats() if one.write is not None and one.read is not None]


@pytest.mark.parametrize("kind", ["choices", "repeats", "texts", "corpus"])
@pytest.mark.parametrize("format_name", _BOTH_WAYS)
def test_no_score_is_lost(
    runs: dict[str, StoredRun],
    exchange: Callable[[StoredRun, str], StoredRun],
    format_name: str,
    kind: str,
) -> None:
    before = runs[kind]
    after = exchange(before, format_name)
    assert after.metrics() == before.metrics()

    def by_sample(run: StoredRun) -> dict[tuple[str, str, str], object]:
        return {(one.task, one.sample_id, one.track): one for one in run.scores()}

    assert by_sample(after) == by_sample(before)
    assert [one.sample.id for one in after.samples()] == [one.sample.id for one in before.samples()]
    imported = after.manifest.imported
    assert imported is not None
    assert imported.format == format_name
    assert after.manifest.model == before.manifest.model
    assert after.manifest.started == before.manifest.started
    assert not [note for note in after.manifest.notes if "in the log" in note]


@pytest.mark.parametrize("kind", ["choices", "repeats", "texts"])
@pytest.mark.parametrize("format_name", _BOTH_WAYS)
def test_the_questions_and_the_replies_come_back(
    runs: dict[str, StoredRun],
    exchange: Callable[[StoredRun, str], StoredRun],
    format_name: str,
    kind: str,
) -> None:
    before = runs[kind]
    after = exchange(before, format_name)
    samples = {(one.task, one.sample.id): one.sample for one in after.samples()}
    for record in before.samples():
        sample = samples[record.task, record.sample.id]
        assert (sample.choices, sample.labels, sample.gold, sample.targets, sample.group) == (
            record.sample.choices,
            record.sample.labels,
            record.sample.gold,
            record.sample.targets,
            record.sample.group,
        )
        assert {str(key): str(value) for key, value in record.sample.fields.items()}.items() <= {
            str(key): str(value) for key, value in sample.fields.items()
        }.items()


@pytest.mark.parametrize("format_name", _BOTH_WAYS)
def test_tasks_keep_their_order(
    tmp_path: Path, exchange: Callable[[StoredRun, str], StoredRun], format_name: str
) -> None:
    for name in ("zebras", "apples", "mules"):
        (tmp_path / f"{name}.csv").write_text("question,answer\nwhat is 1 plus 1?,2\n", encoding="utf-8")
    names = [str(tmp_path / f"{name}.csv") for name in ("zebras", "apples", "mules")]
    before = StoredRun(assay.run(names, model="mock", out=str(tmp_path / "run"), cache=False).folder)
    after = exchange(before, format_name)
    assert [task.name for task in after.manifest.tasks] == ["zebras", "apples", "mules"]
