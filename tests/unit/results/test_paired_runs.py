"""Runs paired by sample, against dictionaries that pair them one by one."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.core.run import RunStatus
from assay.core.score import Metric, Ratio, Score, Verdict
from assay.core.task import ComponentSpec
from assay.results.comparison import MetricComparison, RunComparison
from assay.results.paired import mcnemar
from assay.results.paired_runs import PairedRuns
from assay.results.read import StoredRun
from assay.results.sample_join import pair_tasks
from assay.results.score_columns import Keys
from fakes.scored_folders import manifest, score, spec, written


def run(folder: Path, model: str, scores: list[Score], **more: object) -> StoredRun:
    tasks = dict.fromkeys(one.task for one in scores)
    methods = list(dict.fromkeys(one.track for one in scores))
    return written(folder / model, manifest(model, [spec(name, methods) for name in tasks], **more), scores)


def compared(*runs: StoredRun, methods: list[str | None] | None = None) -> RunComparison:
    return PairedRuns(runs, methods or [None] * len(runs)).comparison()


def headline(*runs: StoredRun) -> MetricComparison:
    (one,) = compared(*runs).headlines
    return one


names = st.lists(st.text(max_size=3), unique=True, max_size=30)


@given(names, names)
def test_keys_are_matched_as_a_dictionary_would(a: list[str], b: list[str]) -> None:
    keys = Keys(), Keys()
    for one, texts in zip(keys, (a, b), strict=True):
        for text in texts:
            one.append(text)
    rows_a, rows_b = keys[0].match(keys[1])
    places = {text: at for at, text in enumerate(b)}
    expected = [(at, places[text]) for at, text in enumerate(a) if text in places]
    assert list(zip(rows_a.tolist(), rows_b.tolist(), strict=True)) == expected
    assert keys[0].n_equal(keys[1], rows_a, rows_b) == len(expected)


verdicts = st.sampled_from([1.0, 0.0, "unanswered", "failed", "ungraded", None])
"""None: the run does not have the sample."""


def scores_of(outcomes: list[float | str | None]) -> list[Score]:
    found = []
    for at, outcome in enumerate(outcomes):
        if isinstance(outcome, str):
            found.append(score(f"s{at}", None, verdict=Verdict(outcome)))
        elif outcome is not None:
            found.append(score(f"s{at}", outcome))
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(verdicts, verdicts), min_size=1, max_size=25), is_turned=st.booleans())
def test_what_is_paired_and_what_is_left_out(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[tuple[float | str | None, float | str | None]],
    is_turned: bool,
) -> None:
    pairs = [(1.0, 1.0), *pairs]
    folder = tmp_path_factory.mktemp("pairs")
    a, b = ([one[side] for one in pairs] for side in (0, 1))
    other = scores_of(b)
    one = headline(run(folder, "a", scores_of(a)), run(folder, "b", other[::-1] if is_turned else other))
    worth = {1.0: 1, 0.0: 0, "unanswered": 0}
    known = [(worth[x], worth[y]) for x, y in pairs if x in worth and y in worth]
    assert one.result.n == len(known)
    assert one.result.fourfold is not None
    assert one.result.fourfold.only_a == sum(x > y for x, y in known)
    assert one.result.fourfold.only_b == sum(x < y for x, y in known)
    assert one.result.difference == pytest.approx(sum(y - x for x, y in known) / len(known))
    assert one.n_only_first == sum(y is None and x is not None for x, y in pairs)
    assert one.n_only_second == sum(x is None and y is not None for x, y in pairs)
    both = [(x, y) for x, y in pairs if x is not None and y is not None]
    assert one.n_failed == sum("failed" in (x, y) for x, y in both)
    assert one.n_ungraded == sum("ungraded" in (x, y) and "failed" not in (x, y) for x, y in both)


def test_flips_are_the_samples_with_both_scores(tmp_path: Path) -> None:
    values = [(1, 0), (0, 1), (1, 1), (0, 1), (1, 0), (0, 1)]
    runs = [
        run(
            tmp_path,
            "ab"[side],
            [score(f"s{at}", pair[side], answer=f"{at}{side}") for at, pair in enumerate(values)],
        )
        for side in (0, 1)
    ]
    paired = PairedRuns(runs, [None, None])
    only_a, only_b = paired.flips(paired.comparison().headlines[0], 2)
    assert [(one.answer, other.answer) for one, other in only_a] == [("00", "01"), ("40", "41")]
    assert [one.sample_id for one, _ in only_b] == ["s1", "s3"]


def test_other_metrics_are_compared_over_the_samples_that_have_them(tmp_path: Path) -> None:
    a = [score("x", 1, also={"f1": 0.5}), score("y", 0, also={"f1": 0.25}), score("z", 0)]
    b = [score("x", 1, also={"f1": 0.75}), score("y", 0, also={"f1": 0.75}), score("z", 1, also={"f1": 1})]
    found = {one.metric: one for one in compared(run(tmp_path, "a", a), run(tmp_path, "b", b)).metrics}
    assert found["f1"].result.n == 2
    assert found["f1"].result.difference == pytest.approx(0.375)
    assert found["f1"].result.test == "student"
    assert not found["f1"].is_headline
    assert found["f1"].n_ungraded == 1


def test_perplexities_are_factors_and_less_is_better(tmp_path: Path) -> None:
    def text(id_: str, nll: float, n: float) -> Score:
        ratio = Ratio(nll, n, is_exponential=True)
        value = math.exp(nll / n)
        return score(id_, value, track="ppl", metric="perplexity_token", ratios={"perplexity_token": ratio})

    a = [text("x", 30, 10), text("y", 40, 20), text("z", 33, 11)]
    b = [text("x", 28, 10), text("y", 38, 20), text("z", 30, 11)]
    one = headline(run(tmp_path, "a", a), run(tmp_path, "b", b))
    assert one.is_factor
    assert not one.is_share
    assert one.result.difference == pytest.approx(math.exp((96 - 103) / 41))
    assert one.better == 1


def test_a_lower_value_can_be_the_better(tmp_path: Path) -> None:
    a = [score(f"s{at}", 0.9, metric="brier") for at in range(4)]
    b = [score(f"s{at}", 0.1 * at, metric="brier") for at in range(4)]
    assert headline(run(tmp_path, "a", a), run(tmp_path, "b", b)).better == 1


def test_clusters_are_those_of_the_first(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    runs = []
    for model in ("a", "b"):
        values = np.repeat(draws.integers(0, 2, 10), 5)
        scores = [score(f"s{at}", float(value), cluster=f"c{at // 5}") for at, value in enumerate(values)]
        runs.append(run(tmp_path, model, scores))
    one = headline(*runs)
    assert (one.result.n, one.result.n_units, one.result.test) == (50, 10, "student")
    assert one.result.fourfold is not None


def test_three_runs_are_compared_pair_by_pair_and_corrected(tmp_path: Path) -> None:
    values = {"a": [0] * 12, "b": [1] * 9 + [0] * 3, "c": [1] * 7 + [0] * 5}
    runs = [
        run(tmp_path, name, [score(f"s{at}", one) for at, one in enumerate(v)]) for name, v in values.items()
    ]
    found = compared(*runs)
    assert [side.name for side in found.sides] == ["a", "b", "c"]
    assert [(one.first, one.second) for one in found.headlines] == [(0, 1), (0, 2), (1, 2)]
    ps = [mcnemar(0, 9), mcnemar(0, 7), mcnemar(2, 0)]
    assert [one.result.p for one in found.headlines] == pytest.approx(ps)
    assert [one.p for one in found.headlines] == pytest.approx([3 * ps[0], 2 * ps[1], ps[2]])
    assert [one.is_real for one in found.headlines] == [True, True, False]


def test_methods_of_one_run_are_sides(tmp_path: Path) -> None:
    scores = [score(f"s{at}", at % 2, track="gen") for at in range(6)]
    scores += [score(f"s{at}", 1, track="ppl") for at in range(6)]
    both = run(tmp_path, "a", scores)
    found = compared(both, both, methods=["gen", "ppl"])
    assert [side.name for side in found.sides] == ["gen", "ppl"]
    (one,) = found.headlines
    assert (one.method, one.result.a, one.result.b) == ("gen / ppl", 0.5, 1.0)


def test_subsets_are_also_compared_together(tmp_path: Path) -> None:
    tasks = [spec("d:x", family="d"), spec("d:y", family="d")]
    runs = []
    for model, right in (("a", (2, 1)), ("b", (6, 2))):
        scores = [
            score(f"s{at}", float(at < n), task=name)
            for name, n, size in (("d:x", right[0], 10), ("d:y", right[1], 4))
            for at in range(size)
        ]
        runs.append(written(tmp_path / model, manifest(model, tasks), scores))
    first, *rest = compared(*runs).headlines
    assert (first.task, first.n_subsets) == ("d", 2)
    assert first.result.difference == pytest.approx((0.4 + 0.25) / 2)
    # Four of ten differ, and one of four.
    errors = math.sqrt(0.4 / 10), math.sqrt(0.25 / 4)
    assert [one.result.stderr for one in rest] == pytest.approx([math.sqrt(0.24 / 9), errors[1]])
    assert first.result.stderr == pytest.approx(math.hypot(*errors) / 2)


def test_notes_say_what_is_not_fair(tmp_path: Path) -> None:
    scores = [score("x", 1), score("y", 0)]
    more = [*scores, score("x", 1, task="u")]
    a = written(
        tmp_path / "a", manifest("a", [spec("t", settings={"shots": 0, "said": {"k": 1}}), spec("u")]), more
    )
    b = written(
        tmp_path / "b",
        manifest("b", [spec("t", settings={"shots": 5, "said": {"k": 2}}, data_hash="e")]),
        scores,
    )
    assert compared(a, b).notes == (
        "only in a: 'u'",
        "t: the data differ; only samples with the same id in both runs are paired",
        "t: said differs: a {'k': 1}, b {'k': 2}",
        "t: shots differs: a 0, b 5",
    )


def corpus_metric(value: float, name: str = "accuracy") -> Metric:
    return Metric("t", "gen", name, None, value, None, None, 2, 2, 0, 0, 0, is_headline=True)


def test_a_metric_that_is_no_mean_is_told(tmp_path: Path) -> None:
    scores = [score("x", 1), score("y", 0.5)]
    head = manifest("a", [spec("t")])
    a = written(tmp_path / "a", head, scores, metrics=[corpus_metric(0.4), corpus_metric(0.3, "bleu")])
    b = written(tmp_path / "b", head, scores, metrics=[corpus_metric(0.8)])
    notes = compared(a, b).notes
    assert any("accuracy of a is not a mean over samples" in note and "0.75" in note for note in notes)
    assert any("bleu of a has no values per sample" in note for note in notes)
    # 0.8 is 0.75, rounded to one decimal.
    assert not any("of b" in note for note in notes)


def test_a_run_without_scores_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "a", [score("x", 1)])
    running = written(tmp_path / "b", manifest("b", [spec("t")], status=RunStatus.RUNNING), [], metrics=[])
    with pytest.raises(UsageError, match=r"COMPARE-001.*'b'.*running"):
        compared(done, running)


def test_runs_of_different_things_are_refused(tmp_path: Path) -> None:
    a = written(
        tmp_path / "a", manifest("a", [spec("t"), spec("u")]), [score("x", 1), score("x", 1, task="u")]
    )
    b = run(tmp_path, "b", [score("x", 1, task="v")])
    with pytest.raises(UsageError, match=r"COMPARE-002.*'t by gen'.*'v by gen'"):
        compared(a, b)


def test_tasks_are_paired_by_name_and_the_last_ones_left_with_each_other() -> None:
    assert pair_tasks(["a", "b"], ["a", "c"]) == {"a": "a", "c": "b"}
    assert pair_tasks(["a", "b"], ["c", "d"]) == {}
    assert pair_tasks(["a"], ["a", "b"]) == {"a": "a"}


def test_runs_of_one_model_are_named_by_their_folders(tmp_path: Path) -> None:
    head = manifest("m", [spec("t")])
    runs = [written(tmp_path / name, head, [score("x", 1)]) for name in ("one", "two")]
    assert [side.name for side in compared(*runs).sides] == ["one", "two"]
    assert [side.name for side in compared(runs[0], runs[0]).sides] == ["one (1)", "one (2)"]


def test_answers_that_were_scored_in_two_ways_are_told(tmp_path: Path) -> None:
    def scorers(extract: str) -> dict[str, tuple[ComponentSpec, ...]]:
        return {"t": (ComponentSpec("generated_answer", {"track": "gen", "extract": extract}),)}

    scores = [score("s0", 1.0), score("s1", 0.0)]
    auto, again, whole = (
        run(tmp_path, model, scores, scorers=scorers(extract))
        for model, extract in (("auto", "auto"), ("again", "auto"), ("whole", "whole"))
    )
    authors = run(tmp_path, "authors", scores, scorers={"t": ()})
    unknown = run(tmp_path, "unknown", scores)
    told = "t: gen is scored differently: auto {'extract': 'auto'}, whole {'extract': 'whole'}"
    assert compared(auto, whole).notes == (told,)
    (note,) = compared(auto, authors).notes
    assert note.endswith("authors the dataset author's code")
    for other in (again, unknown):
        assert compared(auto, other).notes == ()
        assert compared(other, auto).notes == ()


def test_samples_that_stand_alone_beside_clusters_are_one_each(tmp_path: Path) -> None:
    def scores(right: set[int]) -> list[Score]:
        # Three of one text, and five by themselves.
        return [score(f"s{at}", float(at in right), cluster="text" if at < 3 else None) for at in range(8)]

    one = headline(run(tmp_path, "a", scores({0, 3})), run(tmp_path, "b", scores({0, 1, 4, 5, 6})))
    assert (one.result.n, one.result.n_units) == (8, 6)
    gaps = np.array([0, 1, 0, -1, 1, 1, 1, 0]) - 3 / 8
    sums = [gaps[:3].sum(), *gaps[3:]]
    assert one.result.stderr == pytest.approx(math.sqrt(6 / 5 * sum(part**2 for part in sums)) / 8)


def test_perplexities_of_subsets_have_no_mean(tmp_path: Path) -> None:
    tasks = [spec("d:x", ["ppl"], family="d"), spec("d:y", ["ppl"], family="d")]
    name = "perplexity_token"
    runs = []
    for model, loss in (("a", 2.0), ("b", 3.0)):
        scores = [
            score(
                f"s{at}",
                math.exp(loss + at),
                task=task.name,
                track="ppl",
                metric=name,
                ratios={name: Ratio(loss + at, 1.0, is_exponential=True)},
            )
            for task in tasks
            for at in range(4)
        ]
        runs.append(written(tmp_path / model, manifest(model, tasks), scores))
    assert [one.task for one in compared(*runs).headlines] == ["d:x", "d:y"]


def test_the_first_run_decides_how_a_metric_is_read(tmp_path: Path) -> None:
    """A metric of one name may be told otherwise by another version of the code that made it."""

    def stored(model: str, value: float, *, higher_is_better: bool, is_share: bool) -> StoredRun:
        scores = [score(f"s{at}", value + at / 100, metric="own") for at in range(4)]
        facts = (None, value, None, None, 4, 4, 0, 0, 0)
        metric = Metric(
            "t", "gen", "own", *facts, None, higher_is_better, is_headline=True, is_share=is_share
        )
        return written(tmp_path / model, manifest(model, [spec("t")]), scores, metrics=[metric])

    low = stored("low", 0.1, higher_is_better=False, is_share=False)
    high = stored("high", 0.9, higher_is_better=True, is_share=True)
    for first, second, better in ((low, high, 0), (high, low, 0)):
        one = headline(first, second)
        assert one.better == better
        assert one.is_share is (first is high)
        assert one.higher_is_better is (first is high)


def test_subsets_of_which_one_has_no_pairs_have_no_mean(tmp_path: Path) -> None:
    tasks = [spec("d:x", family="d"), spec("d:y", family="d")]
    runs = []
    for model, failed in (("a", "s1"), ("b", "s0")):
        scores = [score(f"s{at}", float(at % 2), task="d:x") for at in range(6)]
        scores += [
            score(id_, None, task="d:y", verdict=Verdict.FAILED)
            if id_ == failed
            else score(id_, 1.0, task="d:y")
            for id_ in ("s0", "s1")
        ]
        runs.append(written(tmp_path / model, manifest(model, tasks), scores))
    assert [one.task for one in compared(*runs).headlines] == ["d:x", "d:y"]


def test_a_metric_that_no_summary_tells_of_is_a_share_of_which_more_is_better(tmp_path: Path) -> None:
    runs = []
    for model, more in (("a", 0.0), ("b", 0.2)):
        scores = [score(f"s{at}", 1.0, also={"own": at / 10 + more}) for at in range(4)]
        head = Metric("t", "gen", "accuracy", None, 1.0, None, None, 4, 4, 0, 0, 0, is_headline=True)
        runs.append(written(tmp_path / model, manifest(model, [spec("t")]), scores, metrics=[head]))
    (one,) = (one for one in compared(*runs).metrics if one.metric == "own")
    assert (one.is_share, one.higher_is_better, one.better) == (True, True, 1)
