"""GlobalE: the order of examples with the most even distribution of predicted labels."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError, BackendError, UsageError
from assay.core.ids import digest, make_random
from assay.core.method import Method
from assay.core.prompt import Prompt
from assay.core.request import Generate, Labels, Request, Span
from assay.core.response import Completion, Failure, Finish, LabelProbs, Likelihood, Outcome, Output
from assay.core.score import Score, Verdict
from assay.dialects.llmbox.globale import build_question, draw_orders, entropy, find_shared_ends
from assay.dialects.llmbox.task import ClassTask
from fakes.classes import compile_one, list_asks
from fakes.rehearsals import Rehearsed

CHOICES = """
from ..metric import Accuracy
from .multiple_choice_dataset import MultipleChoiceDataset

class Sorts(MultipleChoiceDataset):
    instruction = "Q: {question}\\nA:"
    metrics = [Accuracy()]
    def format_instance(self, instance):
        return dict(question=instance["q"], options=list(instance["options"]), target_idx=instance["gold"])
    @property
    def references(self):
        return [row["gold"] for row in self.evaluation_data]
"""
OPTIONS = ["animal", "stone", "tree"]


def rows(words: str, options: list[str] | None = None) -> list[dict[str, Any]]:
    return [{"q": word, "options": options or OPTIONS, "gold": n % 3} for n, word in enumerate(words.split())]


def compiled(
    folder: Path, *, pool: str = "k l m n o p q r", shots: int = 3, **more: Any
) -> Compilation[ClassTask]:
    settings = {"shots": shots, **more.pop("settings", {})}
    args = {"globale": "true", **more.pop("args", {})}
    examples = more.pop("examples", None) or rows(pool)
    return compile_one(folder, CHOICES, rows("a b c"), examples=examples, settings=settings, **args, **more)


def likelihood(value: float) -> Likelihood:
    return Likelihood(value, 1, 1, 1, is_greedy=False, n_prompt_tokens=1)


def by_hash(request: Request) -> Outcome:
    """Answer anything, by a hash of what is asked."""
    number = int(digest(request.ask), 16)
    if isinstance(request.ask, Generate):
        return Completion((Output(f"word{number % 7}\nA: animal", Finish.END, 3),), 1)
    if isinstance(request.ask, Labels):
        shares = tuple((number >> (8 * n)) % 97 + 1.0 for n in range(len(request.ask.labels)))
        return LabelProbs(tuple(share / 300 for share in shares), 1.0, 1)
    return likelihood(-float(number % 1009) / 100)


def words_of(prompt: Prompt) -> list[str]:
    """Return the questions of a prompt, examples first."""
    assert isinstance(prompt, str)
    return re.findall(r"Q: (\S+)", prompt)


def test_the_order_with_the_highest_entropy_wins(tmp_path: Path) -> None:
    """Against the definition: every order, every probe, the most likely label, counted by hand."""
    one = compiled(tmp_path)
    rehearsed = Rehearsed(by_hash)
    before = words_of(list_asks(one)[0]["source"])[:-1]
    (note,) = one.task.prepare(rehearsed)
    best: dict[tuple[str, ...], float] = {}
    for order in permutations(before):
        chosen = []
        for probe in "klmnopqr":
            if probe in before:
                continue
            shown = "\n\n".join(f"Q: {word}\nA: {OPTIONS[ord(word) % ord('k') % 3]}" for word in order)
            prompt = f"{shown}\n\nQ: {probe}\nA:"
            options = [Span(f"{prompt} {option}", len(prompt)) for option in OPTIONS]
            costs = [int(digest(ask), 16) % 1009 for ask in options]
            chosen.append(costs.index(min(costs)))
        shares = [count / len(chosen) for count in Counter(chosen).values()]
        best[order] = -sum(share * math.log2(share) for share in shares)
    found = tuple(words_of(list_asks(one)[0]["source"])[:-1])
    assert best[found] == pytest.approx(max(best.values()))
    assert found == max(best, key=best.__getitem__)
    chosen_ = one.task.spec.chosen["globale_ppl"]
    assert chosen_["entropy_bits"] == pytest.approx(max(best.values()), abs=1e-6)
    assert chosen_["lowest_entropy_bits"] == pytest.approx(min(best.values()), abs=1e-6)
    assert (chosen_["n_orders"], chosen_["n_probes"]) == (6, 5)
    assert tuple("klmnopqr"[row - 1] for row in chosen_["rows_of_pool"]) == found
    assert "highest of 6 orders" in note


def test_probes_are_neither_shown_nor_evaluated(tmp_path: Path) -> None:
    one = compiled(tmp_path, examples=rows("a b k l m n o B"), args={"globale_rows": "50"})
    rehearsed = Rehearsed(by_hash)
    shown = set(words_of(list_asks(one)[0]["source"])[:-1]) | set(
        words_of(list_asks(one, 2)[0]["source"])[:-1]
    )
    one.task.prepare(rehearsed)
    probes = {words_of(request.ask.prompt)[-1] for request in rehearsed.requests}
    assert probes
    assert probes <= set("klmno") - (shown - set("ab"))


@pytest.mark.parametrize("method", ["ppl", "prob", "gen"])
def test_every_method_finds_its_own(tmp_path: Path, method: str) -> None:
    one = compiled(tmp_path, settings={"methods": (method,)})
    one.task.prepare(Rehearsed(by_hash))
    assert set(one.task.spec.chosen) == {f"globale_{method}"}


def test_large_numbers_of_orders_are_drawn(tmp_path: Path) -> None:
    one = compiled(tmp_path, shots=5, pool="k l m n o p q r s t", args={"globale_orders": "10"})
    rehearsed = Rehearsed(by_hash)
    one.task.prepare(rehearsed)
    assert len(rehearsed.tasks) == 10


def test_what_failed_under_one_order_counts_under_none(tmp_path: Path) -> None:
    one = compiled(tmp_path)

    def failing(request: Request) -> Outcome:
        words = words_of(request.ask.prompt)
        is_first_order = words[:-1] == sorted(words[:-1])
        return Failure("timeout", "gone") if is_first_order and words[-1] in "opq" else by_hash(request)

    rehearsed = Rehearsed(failing)
    one.task.prepare(rehearsed)
    probes = {words_of(request.ask.prompt)[-1] for request in rehearsed.requests}
    assert one.task.spec.chosen["globale_ppl"]["n_probes"] == len(probes - set("opq"))


def test_a_model_that_answers_nothing_is_an_error(tmp_path: Path) -> None:
    one = compiled(tmp_path)
    with pytest.raises(BackendError, match=r"LLMBOX-012.*timeout: gone"):
        one.task.prepare(Rehearsed(lambda _: Failure("timeout", "gone")))


def test_a_pool_with_nothing_left_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AuthorError, match=r"LLMBOX-007.*pool of 3 has none.*globale_probes=generated"):
        compiled(tmp_path, pool="k l m")


def test_then_the_model_writes_probes(tmp_path: Path) -> None:
    one = compiled(tmp_path, pool="k l m", args={"globale_probes": "generated", "globale_rows": "8"})
    rehearsed = Rehearsed(by_hash)
    one.task.prepare(rehearsed)
    writing = [request.ask for request in rehearsed.requests if isinstance(request.ask, Generate)]
    assert len(writing) == 8
    assert len({ask.sampling.seed for ask in writing}) == 8
    assert len({ask.prompt for ask in writing}) == 6
    assert all(str(ask.prompt).endswith("\n\nQ:") for ask in writing)
    asked_ = {
        words_of(request.ask.prompt)[-1] for request in rehearsed.requests if isinstance(request.ask, Span)
    }
    assert all(re.fullmatch(r"word\d", word) for word in asked_)
    assert one.task.spec.chosen["globale_ppl"]["n_probes"] == len(asked_)


def test_a_model_cannot_write_options_it_is_not_reported(tmp_path: Path) -> None:
    pool = rows("k") + rows("l m", ["cat", "dog", "cow"])
    with pytest.raises(AuthorError, match=r"LLMBOX-007.*the same options"):
        compiled(tmp_path, examples=pool, args={"globale_probes": "generated"})
    compiled(tmp_path, examples=pool, args={"globale_probes": "generated"}, settings={"methods": ("prob",)})


def test_it_needs_two_examples_and_options(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"globale needs at least 2 examples, not 1"):
        compiled(tmp_path, shots=1)
    free = CHOICES.replace("MultipleChoiceDataset", "GenerationDataset").replace(
        "multiple_choice", "generation"
    )
    with pytest.raises(UsageError, match="has no options"):
        compile_one(tmp_path, free, rows("a"), examples=rows("k l m"), settings={"shots": 2}, globale="true")


def test_what_was_chosen_does_not_make_another_run(tmp_path: Path) -> None:
    from assay.core.model import ModelIdentity
    from assay.core.run import run_fingerprint

    one = compiled(tmp_path)
    model = ModelIdentity("fake", "fake")
    before = run_fingerprint((one.task.spec,), model)
    one.task.prepare(Rehearsed(by_hash))
    assert one.task.spec.chosen
    assert run_fingerprint((one.task.spec,), model) == before
    other = compiled(tmp_path, args={"globale_rows": "4"})
    assert run_fingerprint((other.task.spec,), model) != before


@given(n=st.integers(2, 6), at_most=st.integers(2, 40))
def test_orders_are_different_and_begin_as_drawn(n: int, at_most: int) -> None:
    found = list(draw_orders(n, at_most, make_random(0, "orders")))
    assert len(found) == len(set(found)) == min(at_most, math.factorial(n))
    assert found[0] == tuple(range(n))
    assert all(sorted(order) == list(range(n)) for order in found)


@given(st.lists(st.sampled_from(["A", "B", "C", "D"]), min_size=1, max_size=40))
def test_entropy_is_between_none_and_all(answers: list[str]) -> None:
    value = entropy(
        [Score("t", "s", Method.PPL, "accuracy", Verdict.UNGRADED, answer=one) for one in answers]
    )
    assert -1e-12 <= value <= math.log2(len(set(answers))) + 1e-12


def test_silence_is_no_answer() -> None:
    def of(*answers: str | None) -> float:
        return entropy(
            [Score("t", "s", Method.GEN, "accuracy", Verdict.UNGRADED, answer=one) for one in answers]
        )

    assert of("A", "B") == 1.0
    assert of("A", "B", *[None] * 30) < 0.5
    assert of(None, None) == 0.0


def test_questions_in_what_a_model_wrote() -> None:
    before, after = find_shared_ends(["Q: What is a cat?\nA:", "Q: Where is a dog?\nA:"])
    assert (before, after) == ("Q: ", "\nA:")
    assert build_question(before, " Who?\nA: me\nQ: more", after) == "Q: Who?\nA:"
    assert build_question(before, "Who?", after) == "Q: Who?\nA:"
    assert find_shared_ends(["alpha", "beta"]) == ("", "")
