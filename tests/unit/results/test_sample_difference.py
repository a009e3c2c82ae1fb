"""Each layer at which two runs can part, and the samples of two runs that are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.app.diff import diff, diff_sample
from assay.core.errors import UsageError
from assay.core.media import Image, Text
from assay.core.prompt import Message
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, make_request
from assay.core.response import (
    Completion,
    Failure,
    Finish,
    LabelProbs,
    Likelihood,
    Outcome,
    Output,
    Response,
)
from assay.core.run import Setting
from assay.core.sample import Sample
from assay.core.score import Score
from assay.faces.cli.diff import _LAYERS
from assay.results.matched_samples import SampleList
from assay.results.read import StoredRun
from assay.results.records import build_sample_record
from assay.results.run_difference import MatchedBy
from assay.results.sample_difference import (
    Layer,
    LayerDifference,
    RunSample,
    find_first_difference,
    find_prompt_divergence,
    find_text_divergence,
    iter_differences,
)
from fakes.scored_folders import manifest, sample, score, spec, written

words = st.text(alphabet="ab 한", max_size=12)


@given(words, words)
def test_texts_part_where_looking_at_each_character_finds_it(a: str, b: str) -> None:
    apart = find_text_divergence(a, b)
    if a == b:
        assert apart is None
        return
    place = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert apart is not None
    assert apart.where == f"character {place}"
    assert f"⟪{a[place:]}⟫" in apart.a
    assert apart.b.startswith(b[:place])


def test_the_place_is_shown_with_what_stands_around_it() -> None:
    a = "x" * 100 + "one\n" + "y" * 100
    b = "x" * 100 + "two"
    apart = find_text_divergence(a, b)
    assert apart is not None
    assert apart.where == "character 100"
    assert apart.a == "…" + "x" * 40 + "⟪one\\n" + "y" * 56 + "…⟫"
    assert apart.b == "…" + "x" * 40 + "⟪two⟫"
    ended = find_text_divergence("ab", "abc")
    assert ended is not None
    assert ended.a == "ab⟪⟫ (end of text)"


def test_conversations_part_at_a_message() -> None:
    a = (Message("system", "be brief"), Message("user", "hello there"))
    b = (Message("system", "be brief"), Message("user", "hello you"))
    apart = find_prompt_divergence(a, b)
    assert apart is not None
    assert apart.where == "message 2 (user), character 6"
    assert find_prompt_divergence(a, a) is None
    for other, where in (
        (a[:1], "number of messages"),
        ((Message("user", "be brief"), a[1]), "message 1 (user), role"),
        ("be brief", "type of the prompt"),
    ):
        found = find_prompt_divergence(a, other)
        assert found is not None
        assert found.where == where


def likelihood(total: float = -2.0, **more: Any) -> Likelihood:
    given: dict[str, Any] = {"n_tokens": 2, "n_chars": 4, "n_bytes": 4, "is_greedy": False, **more}
    return Likelihood(sum_logprob=total, n_prompt_tokens=given.pop("n_prompt_tokens", 7), **given)


def completion(text: str, finish: Finish = Finish.END, **more: Any) -> Completion:
    return Completion((Output(text, finish, 3, **more),), 7)


def seen(
    asks: Sequence[tuple[Ask, Outcome | None]] = (), a_sample: Sample | None = None, *scores: Score
) -> RunSample:
    one = a_sample or sample("s", choices=("x", "y"), labels=("A", "B"), gold=(0,))
    track = {Span: "ppl", Labels: "prob", Generate: "gen"}
    requests = [make_request("t", one.id, track[type(ask)], "r", at, ask) for at, (ask, _) in enumerate(asks)]
    responses = {
        made.id: Response(made.id, made.key, outcome)
        for made, (_, outcome) in zip(requests, asks, strict=True)
        if outcome is not None
    }
    return RunSample(
        build_sample_record("t", one, requests), responses, {each.track: each for each in scores}
    )


SPAN = Span("Q: 1\nA: x", 8)
LABELS = Labels("Q: 1\nA:", ((" A",), (" B",)))
GEN = Generate("Q: 1\nA:", Sampling())
CHAT = Generate((Message("user", "hi"),), Sampling())
SAID = completion("The answer is B")
PARTINGS: list[tuple[Layer, str, RunSample, RunSample]] = [
    (
        Layer.ROW,
        "field 'question'",
        seen(a_sample=sample("s", fields={"question": "one?"})),
        seen(a_sample=sample("s", fields={"question": "two?"})),
    ),
    (Layer.ROW, "gold", seen(a_sample=sample("s", gold=(0,))), seen(a_sample=sample("s", gold=(1,)))),
    (
        Layer.ROW,
        "targets",
        seen(a_sample=sample("s", fields={"q": "1"}, targets=("x",))),
        seen(a_sample=sample("s", fields={"frage": "1"}, targets=("y",))),
    ),
    (
        Layer.PROMPT,
        "gen r 0: character 3",
        seen([(GEN, SAID)]),
        seen([(Generate("Q: 2\nA:", Sampling(max_tokens=1)), completion("x"))]),
    ),
    (
        Layer.PROMPT,
        "ppl r 0: prompt/answer boundary",
        seen([(SPAN, likelihood())]),
        seen([(Span("Q: 1\nA: x", 7), likelihood())]),
    ),
    (Layer.PROMPT, "gen r 1", seen([(GEN, SAID), (GEN, SAID)]), seen([(GEN, SAID)])),
    (
        Layer.TOKENS,
        "ppl r 0: scored token 1",
        seen([(SPAN, likelihood(token_ids=(5, 6, 7)))]),
        seen([(SPAN, likelihood(-9.0, token_ids=(5, 8, 7)))]),
    ),
    (
        Layer.TOKENS,
        "ppl r 0: scored tokens",
        seen([(SPAN, likelihood(token_ids=(5, 6)))]),
        seen([(SPAN, likelihood(token_ids=(5,)))]),
    ),
    (
        Layer.TOKENS,
        "prob r 0: prompt tokens",
        seen([(LABELS, LabelProbs((0.2, 0.3), 0.5, 7))]),
        seen([(LABELS, LabelProbs((0.2, 0.3), 0.5, 8))]),
    ),
    (
        Layer.PARAMETERS,
        "gen r 0: max_tokens",
        seen([(GEN, SAID)]),
        seen([(Generate("Q: 1\nA:", Sampling(max_tokens=9)), completion("else"))]),
    ),
    (
        Layer.PARAMETERS,
        "prob r 0: labels",
        seen([(LABELS, LabelProbs((0.2, 0.3), 0.5, 7))]),
        seen([(Labels("Q: 1\nA:", (("A",), ("B",))), LabelProbs((0.2, 0.3), 0.5, 7))]),
    ),
    (
        Layer.OUTPUT,
        "gen r 0: character 14",
        seen([(GEN, SAID)]),
        seen([(GEN, completion("The answer is C"))]),
    ),
    (
        Layer.OUTPUT,
        "gen r 0: reasoning, character 0",
        seen([(GEN, completion("B", reasoning="hm"))]),
        seen([(GEN, completion("C", reasoning="so"))]),
    ),
    (
        Layer.OUTPUT,
        "gen r 0: finish reason",
        seen([(GEN, SAID)]),
        seen([(GEN, completion("The answer is B", Finish.LENGTH))]),
    ),
    (
        Layer.OUTPUT,
        "ppl r 0: log-likelihood",
        seen([(SPAN, likelihood(-2.0))]),
        seen([(SPAN, likelihood(-2.0003))]),
    ),
    (
        Layer.OUTPUT,
        "prob r 0: probability of label 1",
        seen([(LABELS, LabelProbs((0.2, 0.3), 0.5, 7))]),
        seen([(LABELS, LabelProbs((0.2, 0.3002), 0.5, 7))]),
    ),
    (Layer.OUTPUT, "gen r 0: answer", seen([(GEN, SAID)]), seen([(GEN, Failure("timeout", "no"))])),
    (Layer.OUTPUT, "gen r 0: answer", seen([(GEN, None)]), seen([(GEN, SAID)])),
    (
        Layer.EXTRACTION,
        "gen: rule",
        seen([(GEN, SAID)], None, score("s", 1, answer="B", rule="last_letter")),
        seen([(GEN, SAID)], None, score("s", 0, answer="A", rule="first_letter")),
    ),
    (
        Layer.EXTRACTION,
        "gen: answer",
        seen([(GEN, SAID)], None, score("s", 1, answer="B")),
        seen([(GEN, SAID)], None, score("s", None)),
    ),
    (
        Layer.SCORE,
        "gen: target",
        seen([(GEN, SAID)], None, score("s", 1, answer="B", target="B")),
        seen([(GEN, SAID)], None, score("s", 0, answer="B", target="C")),
    ),
    (
        Layer.SCORE,
        "gen: accuracy",
        seen([(GEN, SAID)], None, score("s", 1, answer="B")),
        seen([(GEN, SAID)], None, score("s", 0.5, answer="B")),
    ),
    (
        Layer.SCORE,
        "gen: f1",
        seen([(GEN, SAID)], None, score("s", 1, also={"f1": 0.5})),
        seen([(GEN, SAID)], None, score("s", 1, also={"f1": 0.6})),
    ),
    (Layer.SCORE, "gen: score", seen([(GEN, SAID)], None, score("s", 1)), seen([(GEN, SAID)])),
]
METHODS = ("ppl", "prob", "gen")


@pytest.mark.parametrize(("layer", "where", "a", "b"), PARTINGS)
def test_the_first_layer_that_differs(layer: Layer, where: str, a: RunSample, b: RunSample) -> None:
    for one, other in ((a, b), (b, a)):
        finding = find_first_difference(one, other, METHODS)
        assert finding is not None
        assert finding.layer is layer
        assert finding.where.startswith(where)
        assert finding.a != finding.b
    assert find_first_difference(a, a, METHODS) is None
    assert find_first_difference(b, b, METHODS) is None


def test_every_layer_is_reached_by_a_parting() -> None:
    assert {layer for layer, *_ in PARTINGS} == set(Layer)


def test_findings_come_in_the_order_of_layers() -> None:
    a = seen([(GEN, SAID), (LABELS, LabelProbs((0.2,), 0.2, 7))], None, score("s", 1, answer="B"))
    b = seen(
        [(Generate("Q: 2\nA:", Sampling(seed=1)), completion("x")), (LABELS, LabelProbs((0.4,), 0.4, 9))],
        sample("s", choices=("x", "z"), labels=("A", "B"), gold=(0,)),
        score("s", 0, answer="C"),
    )
    layers = [finding.layer for finding in iter_differences(a, b, METHODS)]
    assert layers == sorted(layers, key=list(Layer).index)
    assert set(layers) == set(Layer)


def test_numbers_within_the_tolerance_are_the_same_and_methods_left_out_are_not_looked_at() -> None:
    a, b = seen([(SPAN, likelihood(-2.0))]), seen([(SPAN, likelihood(-2.0001))])
    assert find_first_difference(a, b, METHODS) is None
    assert find_first_difference(a, b, METHODS, tolerance=1e-6) is not None
    assert find_first_difference(a, b, ("gen",), tolerance=1e-6) is None


def test_media_are_what_is_in_them() -> None:
    def shown(path: str, sha256: str) -> RunSample:
        picture = Image(path=path, sha256=sha256)
        return seen([(Generate((Message("user", (picture, Text("what?"))),), Sampling()), SAID)])

    assert find_first_difference(shown("a.png", "11"), shown("b.png", "11"), METHODS) is None
    finding = find_first_difference(shown("a.png", "11"), shown("a.png", "22"), METHODS)
    assert finding is not None
    assert finding.layer is Layer.PROMPT


Row = tuple[str, Sample, Sequence[tuple[Request, Outcome]]]


def run(folder: Path, samples: Sequence[Sample], answer: Callable[[Sample], str], **more: Any) -> StoredRun:
    task = more.pop("task", "t")
    rows: list[Row] = []
    for one in samples:
        requests = make_request(task, one.id, "gen", "answer", 0, Generate(str(one.fields), Sampling()))
        rows.append((task, one, [(requests, completion(answer(one)))]))
    scores = [score(one.id, float(answer(one) == "yes"), task, answer=answer(one)) for one in samples]
    return written(folder, manifest("m", [spec(task)], **more), scores, rows)


def numbered(n: int, prefix: str = "s", **more: Any) -> list[Sample]:
    return [
        sample(f"{prefix}{at}", at + 1, fields={"question": f"what is {at}?"}, targets=(f"t{at}",), **more)
        for at in range(n)
    ]


def test_runs_with_other_ids_are_matched_by_row(tmp_path: Path) -> None:
    a = run(tmp_path / "a", numbered(6), lambda one: "yes")
    b = run(tmp_path / "b", numbered(6, "other")[::-1], lambda one: "no" if one.origin.row == 3 else "yes")
    found = diff(a, b)
    assert found.matched_by is MatchedBy.ROW
    # Their fields are the same, and so are the prompts.
    assert (found.n, found.n_same) == (6, 5)
    (example,) = next(one for one in found.layers if one.n).examples
    assert (example.sample_id, example.other_id) == ("s2", "other2")


def test_rows_that_have_nothing_in_common_are_matched_by_content(tmp_path: Path) -> None:
    shuffled = [
        sample(f"x{at}", 7 - row, fields={"frage": f"what is {row}?", "nr": "1"}, targets=(f"t{row}",))
        for at, row in enumerate((3, 1, 4, 0, 5))
    ]
    a = run(tmp_path / "a", numbered(6), lambda one: "yes")
    b = run(tmp_path / "b", shuffled, lambda one: "yes", task="other")
    found = diff(a, b)
    assert found.matched_by is MatchedBy.CONTENT
    assert (found.n, found.n_only_a, found.n_only_b) == (5, 1, 0)
    pairs = {one.sample_id: one.other_id for layer in found.layers for one in layer.examples}
    assert pairs.items() <= {("s0", "x3"), ("s1", "x1"), ("s3", "x0"), ("s4", "x2"), ("s5", "x4")}


@pytest.mark.parametrize(("n_shared", "way"), [(4, MatchedBy.ROW), (5, MatchedBy.ID)])
def test_half_of_the_samples_must_fit_for_a_way_to_be_believed(
    tmp_path: Path, n_shared: int, way: MatchedBy
) -> None:
    a = run(tmp_path / "a", numbered(10), lambda one: "yes")
    b = run(tmp_path / "b", [*numbered(10)[:n_shared], *numbered(10, "other")[n_shared:]], lambda one: "yes")
    assert diff(a, b).matched_by is way


def test_a_smaller_run_is_matched_by_its_ids(tmp_path: Path) -> None:
    a = run(tmp_path / "a", numbered(20), lambda one: "yes")
    b = run(tmp_path / "b", numbered(20)[4:7], lambda one: "yes")
    found = diff(a, b)
    assert (found.matched_by, found.n, found.n_only_a, found.n_same) == (MatchedBy.ID, 3, 17, 3)


def test_runs_of_other_data_are_refused(tmp_path: Path) -> None:
    a = run(tmp_path / "a", numbered(3), lambda one: "yes")
    others = [sample(f"z{at}", at + 1, fields={"q": f"else {at}"}, targets=("no",)) for at in range(3)]
    b = run(tmp_path / "b", others, lambda one: "yes")
    with pytest.raises(UsageError, match=r"COMPARE-005"):
        diff(a, b)


def test_methods_that_one_lacks_are_refused(tmp_path: Path) -> None:
    a = run(tmp_path / "a", numbered(3), lambda one: "yes")
    with pytest.raises(UsageError, match=r"COMPARE-006.*'ppl'"):
        diff(a, a, ["ppl"])


def test_a_sample_that_one_lacks_is_refused(tmp_path: Path) -> None:
    a = run(tmp_path / "a", numbered(4), lambda one: "yes")
    b = run(tmp_path / "b", numbered(4)[1:], lambda one: "no")
    with pytest.raises(UsageError, match=r"COMPARE-007.*'s0'"):
        diff_sample(a, b, "s0")
    found = diff_sample(a, b, "row:3")
    assert [one.layer for one in found.findings] == [Layer.OUTPUT, Layer.EXTRACTION, Layer.SCORE]


def test_what_differs_before_any_sample_comes_first(tmp_path: Path) -> None:
    a = run(tmp_path / "a", numbered(3), lambda one: "yes", settings={"seed": Setting(0, "default")})
    b = run(
        tmp_path / "b",
        numbered(3),
        lambda one: "no",
        settings={"seed": Setting(4, "flag")},
        versions={"torch": "2"},
    )
    found = diff(a, b)
    assert [(fact.what, fact.a, fact.b) for fact in found.facts] == [
        ("setting seed", "0 (from default)", "4 (from flag)"),
        ("version of torch", "none", "2"),
    ]
    (result,) = found.results
    assert (result.what, result.a, result.b) == ("t gen accuracy", "100.0 % (n = 3)", "0.0 % (n = 3)")
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found


def test_a_list_of_samples_does_not_match_another_task(tmp_path: Path) -> None:
    a = run(tmp_path / "a", numbered(3), lambda one: "yes")
    own, other = SampleList(a.path, {"t": "t"}), SampleList(a.path, {"t": "u"})
    assert own.match(own) is not None
    assert own.match(other) is None
    assert len(SampleList(a.path, {"other": "t"})) == 0


def test_the_command_names_every_layer() -> None:
    assert list(Layer) == list(_LAYERS)


def test_a_finding_is_plain(tmp_path: Path) -> None:
    finding = find_first_difference(*PARTINGS[0][2:], METHODS)
    assert finding == LayerDifference(Layer.ROW, "field 'question'", "'one?'", "'two?'")


def test_a_sample_of_one_task_is_not_taken_for_that_of_another(tmp_path: Path) -> None:
    tasks = [spec("x"), spec("y")]

    def stored(name: str, *places: tuple[str, str]) -> StoredRun:
        scores = [score(id_, 1.0, task=task) for task, id_ in places]
        samples = [(task, sample(id_), ()) for task, id_ in places]
        return written(tmp_path / name, manifest(name, tasks), scores, samples)

    a = stored("a", ("x", "s0"), ("x", "s1"), ("y", "s0"))
    b = stored("b", ("x", "s1"), ("y", "s0"))
    assert diff_sample(a, b, "s1").task == "x"
    with pytest.raises(UsageError, match=r"COMPARE-007.*'s0'"):
        diff_sample(a, b, "s0")
