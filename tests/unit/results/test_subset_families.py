from __future__ import annotations

import msgspec
import pytest

from assay.core.difference import AppliedDifference
from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.run import Cost, RunManifest
from assay.core.score import Metric
from assay.core.task import TaskSpec
from assay.results.report import Highlights, render_report
from assay.results.rows import group_rows, mean_rows, result_rows
from assay.results.subset_families import (
    average_over_subsets,
    count_disagreements,
    group_by_family,
    select_headline_metrics,
)
from assay.scoring.summary_groups import roll_up_subsets

CATEGORIES = ("stem", "arts")


def task(name: str, number: int | None = None) -> TaskSpec:
    is_subset = number is not None
    return TaskSpec(
        f"{name}:s{number}" if is_subset else name,
        "llmbox",
        f"{name}.py",
        f"hash{number}",
        (Method.PPL,),
        10,
        10,
        {"shots": 5, "n_examples": number, "class": name.upper()},
        (AppliedDifference("spacing", "two spaces", "one"),),
        family=name if is_subset else None,
        categories=(CATEGORIES[(number or 0) % 2],) if is_subset else (),
    )


TASKS = (*(task("exam", n) for n in range(57)), task("alone"))


def metric(
    spec: TaskSpec, value: float, name: str = "Accuracy", *, n_scored: int = 10, n_failed: int = 0
) -> Metric:
    return Metric(
        spec.name,
        "ppl",
        name,
        None,
        value,
        0.0,
        1.0,
        n=10,
        n_scored=n_scored,
        n_unanswered=0,
        n_truncated=0,
        n_failed=n_failed,
        stderr=0.1,
        is_headline=name == "Accuracy",
    )


METRICS = [metric(one, n / 100, n_failed=1) for n, one in enumerate(TASKS)]
METRICS += roll_up_subsets(METRICS, TASKS)
MANIFEST = RunManifest(
    id="r",
    tasks=TASKS,
    model=ModelIdentity("mock", "mock"),
    settings={},
    versions={},
    started="2025-01-01T00:00:00Z",
    costs=tuple(Cost(one.name, "ppl", n_prompt_tokens=3, seconds=0.5) for one in TASKS),
    disagreements={one.name: 2 for one in TASKS},
)


def test_subsets_of_one_dataset_are_one() -> None:
    assert [family.title for family in group_by_family(TASKS)] == ["exam (57 subsets)", "alone"]
    assert [tuple(share) for share in count_disagreements(MANIFEST)] == [
        ("exam", 114, 570, 0),
        ("alone", 2, 10, 0),
    ]


def test_where_it_cannot_be_reported_whether_methods_agree_that_is_said() -> None:
    unknown = {TASKS[0].name: 7, TASKS[-1].name: 10}
    some, none = count_disagreements(msgspec.structs.replace(MANIFEST, agreement_untold=unknown))
    assert str(some) == "the methods disagree on 114 of 570 samples; agreement is unknown for 7"
    assert str(none).startswith("agreement is unknown")


def test_means_stand_in_rows_of_their_own_the_whole_last() -> None:
    assert len(result_rows(METRICS, MANIFEST)) == 58
    rows = mean_rows(METRICS, MANIFEST)
    labels = ["exam:[stem], mean of 29", "exam:[arts], mean of 28", "exam, mean of 57"]
    assert [row.task for row in rows] == labels
    assert [row.score for row in rows] == ["28.0", "28.0", "28.0"]
    assert (rows[-1].method, rows[-1].counted, rows[-1].failed) == ("ppl", "570/570", "10.0")
    # What all of them took together.
    assert (rows[-1].tokens, rows[-1].seconds) == ("171", "28.5")
    assert group_rows(METRICS, MANIFEST) == []


def test_a_dataset_is_judged_by_its_mean_and_only_where_there_is_one() -> None:
    assert [(one.task, one.n_failed) for one in select_headline_metrics(METRICS, MANIFEST)] == [
        ("alone", 1),
        ("exam", 57),
    ]
    without = [one for one in METRICS if not one.metric.endswith("_macro")]
    assert len(select_headline_metrics(without, MANIFEST)) == 58


def test_other_metrics_are_weighed_by_samples() -> None:
    masses = [metric(TASKS[0], 0.2, "mass", n_scored=1), metric(TASKS[1], 0.8, "mass", n_scored=3)]
    masses.append(metric(TASKS[-1], 0.5, "mass"))
    found = {
        (dataset, method): value for dataset, method, value in average_over_subsets(masses, "mass", MANIFEST)
    }
    assert found == {("exam", "ppl"): pytest.approx(0.65), ("alone", "ppl"): 0.5}


def test_the_report_tells_what_subsets_share_once() -> None:
    report = render_report(MANIFEST, METRICS, Highlights(()))
    assert report.startswith("# exam (57 subsets), alone on mock\n")
    assert report.count("| class | EXAM |") == 1
    assert report.count("two spaces") == 2
    assert "| exam:s56 | 10 of 10 rows | stem | hash56 | 56 |" in report
    assert "| subset | rows | category | data hash | n_examples |" in report
    assert "the methods disagree on 114 of 570 samples" in report
