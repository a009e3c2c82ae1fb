"""Solved examples: never the document itself, by seed, task and document alone; or as the original."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError
from assay.core.limit import Limit
from assay.core.prompt import Message
from assay.core.request import Span
from assay.dialects.leap import examples
from assay.dialects.leap.authoring import Task
from assay.dialects.leap.task import LeapTask
from fakes.leap_tasks import CHOICE, FREE, asks, before, compile_one, contexts, questions


def shown(context: str) -> list[str]:
    """Return the examples of a context, without the question."""
    return context.split("\n\n")[:-1]


def by_id(one: Compilation[LeapTask]) -> dict[str, str]:
    return {sample.id: context for sample, context in zip(one.task.samples(), contexts(one), strict=True)}


SLOW = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@SLOW
@given(n_shots=st.integers(0, 4), seed=st.integers(0, 9), twins=st.integers(0, 3), n=st.integers(1, 8))
def test_a_draw_depends_on_seed_task_and_document_alone(
    tmp_path: Path, n_shots: int, seed: int, twins: int, n: int
) -> None:
    rows = questions(8)
    rows += rows[:twins]
    one = compile_one(tmp_path, CHOICE, {"validation": rows}, shots=n_shots, seed=seed)
    part = compile_one(tmp_path, CHOICE, None, shots=n_shots, seed=seed, limit=Limit(n))
    whole = by_id(one)
    assert whole.items() >= by_id(part).items()
    # Asked in another order, or again, each gets the same.
    samples = list(one.task.samples())
    assert {s.id: before(one.task.requests(s)[0].ask) for s in reversed(samples)} == whole
    for context in whole.values():
        *examples, question = context.split("\n\n")
        assert len(examples) == n_shots
        assert not any(example.startswith(question) for example in examples)
        # Rows that stand twice may be shown twice, but never more often than they stand there.
        assert all(examples.count(example) <= 1 + (twins > 0) for example in examples)


def test_training_documents_that_equal_the_scored_one_are_replaced(tmp_path: Path) -> None:
    rows = questions(4)
    one = compile_one(tmp_path, CHOICE, {"train": rows, "validation": rows}, shots=3)
    for context in contexts(one):
        *examples, question = context.split("\n\n")
        assert len({*examples}) == 3
        assert not any(example.startswith(question) for example in examples)


NUMBERED = (
    CHOICE
    + """
    def validation_docs(self):
        rows = enumerate(self.dataset["validation"])
        return [{**row, "number": number, "noise": float("nan")} for number, row in rows]
"""
)


@pytest.mark.parametrize("shots", [1, 3])
def test_copies_that_are_not_equal_are_no_examples_either(tmp_path: Path, shots: int) -> None:
    """Two loadings of a row with NaN in it differ, and so do numbered copies of one question."""
    rows = questions(4)
    one = compile_one(tmp_path, NUMBERED, {"validation": rows + rows[:2]}, shots=shots)
    for context in contexts(one):
        *examples, question = context.split("\n\n")
        assert len(examples) == shots
        assert not any(example.startswith(question) for example in examples)


def test_the_context_is_description_examples_and_question(tmp_path: Path) -> None:
    text = CHOICE + '    def description(self):\n        return "Answer in a word."\n'
    rows = {"train": questions(1, first=9), "validation": questions(1)}
    one = compile_one(tmp_path, text, rows, shots=1)
    assert contexts(one) == ["Answer in a word.\n\nIs 9 even? no\n\nIs 0 even?"]
    assert contexts(compile_one(tmp_path, text, rows, shots=0)) == ["Answer in a word.\n\nIs 0 even?"]


def test_the_class_says_how_many_and_a_flag_wins(tmp_path: Path) -> None:
    text = CHOICE + "    def n_shot(self):\n        return 2\n"
    rows = {"train": questions(5), "validation": questions(2, first=10)}
    assert [len(shown(context)) for context in contexts(compile_one(tmp_path, text, rows))] == [2, 2]
    assert [len(shown(context)) for context in contexts(compile_one(tmp_path, text, rows, shots=3))] == [3, 3]
    assert compile_one(tmp_path, text, rows).task.spec.settings["shots"] == 2


def original(docs: list[Any], pool: list[Any] | None, k: int, n: int | None) -> list[str]:
    """Return the contexts that the document's own order of calls gives, written down independently."""
    rnd = random.Random()
    rnd.seed(42)
    docs = list(docs)
    validation = list(docs)
    rnd.shuffle(docs)
    made = []
    for doc in docs[:n]:
        examples: list[Any] = []
        if k and pool is not None:
            examples = rnd.sample(pool, k)
        elif k:
            examples = [one for one in rnd.sample(validation, k + 1) if one != doc][:k]
        solved = "".join(f"{one['q']} {one['a']}\n\n" for one in examples)
        made.append(solved + doc["q"])
    return made


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("has_training", [True, False])
@pytest.mark.parametrize("n", [None, 4])
def test_the_faithful_way_is_the_originals(tmp_path: Path, k: int, has_training: bool, n: int | None) -> None:
    docs, pool = questions(9), questions(6, first=3)
    rows = {"validation": docs, **({"train": pool} if has_training else {})}
    limit = None if n is None else Limit(n)
    one = compile_one(tmp_path, CHOICE, rows, shots=k, is_faithful=True, limit=limit, seed=7)
    assert contexts(one) == original(docs, pool if has_training else None, k, n)


def test_fewer_examples_are_those_nearest_to_the_question(tmp_path: Path) -> None:
    rows = {"train": questions(9), "validation": questions(1, first=20)}
    one = compile_one(tmp_path, CHOICE, rows, shots=4)
    (sample,) = one.task.samples()
    whole = shown(contexts(one)[0])
    for n in range(4):
        (request, *_) = one.task.requests(sample, shots=n)
        context = before(request.ask)
        assert isinstance(context, str)
        assert shown(context) == whole[4 - n :]
        assert (request.n_shots, request.n_shots_left_out) == (n, 4 - n)


OWN_CONTEXT = (
    CHOICE
    + """
    def fewshot_context(self, doc, num_fewshot, rnd):
        drawn = [rnd.randrange(1000) for _ in range(num_fewshot)]
        return f"{drawn} {doc['q']}"
"""
)


def test_an_authors_own_context_is_honoured(tmp_path: Path) -> None:
    one = compile_one(tmp_path, OWN_CONTEXT, {"validation": questions(2)}, shots=2)
    first, second = contexts(one)
    assert first.endswith("] Is 0 even?")
    assert first.partition("]")[0] != second.partition("]")[0]
    assert contexts(one) == [first, second]
    (ask, *_) = asks(one, shots=1)
    fewer = before(ask)
    assert isinstance(fewer, str)
    assert fewer.count(",") == 0
    shared = random.Random(42)
    docs = [0, 1]
    shared.shuffle(docs)
    drawn = [[shared.randrange(1000) for _ in range(2)] for _ in docs]
    faithful = contexts(compile_one(tmp_path, OWN_CONTEXT, None, shots=2, is_faithful=True))
    assert faithful == [f"{numbers} Is {at} even?" for numbers, at in zip(drawn, docs, strict=True)]


OWN_EXAMPLES = (
    CHOICE
    + """
    def fewshot_examples(self, k, rnd):
        return self.dataset["train"][:k]
"""
)


def test_an_authors_own_examples_are_honoured_without_the_document_itself(tmp_path: Path) -> None:
    rows = questions(4)
    one = compile_one(tmp_path, OWN_EXAMPLES, {"train": rows, "validation": rows}, shots=2)
    firsts = [[example[:4] for example in shown(context)] for context in contexts(one)]
    assert firsts == [["Is 1", "Is 2"], ["Is 0", "Is 2"], ["Is 0", "Is 1"], ["Is 0", "Is 1"]]


def test_a_chat_has_a_turn_for_each_example(tmp_path: Path) -> None:
    text = CHOICE + '    def description(self):\n        return "Answer in a word."\n'
    rows = {"train": questions(1, first=9), "validation": questions(1)}
    one = compile_one(tmp_path, text, rows, shots=1, is_chat=True)
    (ask, _) = asks(one)
    assert isinstance(ask, Span)
    assert ask.prompt == (
        Message("user", "Answer in a word.\n\nIs 9 even?"),
        Message("assistant", "no"),
        Message("user", "Is 0 even?"),
        Message("assistant", "yes"),
    )
    assert ask.start == 0
    faithful = compile_one(tmp_path, text, rows, shots=1, is_chat=True, is_faithful=True)
    assert asks(faithful)[0].prompt == "Answer in a word.\n\nIs 9 even? no\n\nIs 0 even? yes"


def test_an_authors_own_context_is_one_message(tmp_path: Path) -> None:
    text = (
        FREE
        + "    def fewshot_context(self, doc, num_fewshot, rnd, description=None):\n        return doc['q']\n"
    )
    one = compile_one(tmp_path, text, {"validation": questions(1)}, is_chat=True)
    assert asks(one)[0].prompt == (Message("user", "Is 0 even?"),)


def test_too_few_examples(tmp_path: Path) -> None:
    with pytest.raises(
        AuthorError, match=r"LEAP-006.*3 examples were requested, but validation_docs\(\) has only 2"
    ):
        compile_one(tmp_path, CHOICE, {"validation": questions(3)}, shots=3)
    with pytest.raises(AuthorError, match="LEAP-006"):
        compile_one(tmp_path, CHOICE, {"validation": questions(3)}, shots=3, is_faithful=True)


def test_what_an_author_draws_depends_on_the_document_alone(tmp_path: Path) -> None:
    text = CHOICE.replace(
        '        return doc["q"]\n', '        return doc["q"] + str(random.randrange(10**9))\n'
    )
    text = "import random\n" + text
    rows = {"validation": questions(6)}
    every = set(contexts(compile_one(tmp_path, text, rows)))
    assert len(every) == 6
    assert set(contexts(compile_one(tmp_path, text, rows, limit=Limit(2)))) < every
    assert set(contexts(compile_one(tmp_path, text, rows, seed=1))).isdisjoint(every)


def test_examples_among_many_copies_of_the_document_take_few_draws() -> None:
    """A draw that grew by one document at a time would compare half a million of them."""

    class Counting(random.Random):
        n_draws = 0

        def sample(self, *args: Any, **more: Any) -> list[Any]:
            self.n_draws += 1
            return super().sample(*args, **more)

    class Texts:
        def doc_to_text(self, doc: dict[str, str]) -> str:
            return doc["q"]

        doc_to_target = doc_to_text

    pool = [{"q": "same"}] * 1_000 + [{"q": "other"}]
    rnd = Counting(0)
    answers = examples._AnswerCheck(cast(Task, Texts()), {"q": "same"})
    assert examples._draw_examples(answers, pool, 1, rnd, "training_docs()") == [{"q": "other"}]
    assert rnd.n_draws <= 10
