"""APE: the instruction with which the model scores best on held-out rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError, BackendError
from assay.core.ids import digest
from assay.core.prompt import Message
from assay.core.request import Generate, Kind, Request, Span
from assay.core.response import Completion, Failure, Finish, Likelihood, Outcome, Output
from assay.dialects.llmbox.ape import build_proposal_prompt, clean_instruction
from assay.dialects.llmbox.prompts import PromptExamples, Shot, build_opening
from assay.dialects.llmbox.task import ClassTask
from fakes.classes import compile_one, free_class, list_asks
from fakes.rehearsals import Rehearsed

CHOICES = """
from ..metric import Accuracy
from .multiple_choice_dataset import MultipleChoiceDataset

class Sorts(MultipleChoiceDataset):
    instruction = "Q: {question}\\nA:"
    metrics = [Accuracy()]
    def format_instance(self, instance):
        return dict(question=instance["q"], options=["yes", "no"], target_idx=instance["gold"])
    @property
    def references(self):
        return [row["gold"] for row in self.evaluation_data]
"""
FREE = free_class("Opposites", "{q} ->")
PROPOSALS = ("Say no.", "Say yes.", "Answer the question.", "Be quiet.")


def rows(words: str) -> list[dict[str, Any]]:
    return [{"q": word, "gold": int(word < "p"), "a": word.upper()} for word in words.split()]


def compiled(
    folder: Path, text: str = CHOICES, *, pool: str = "k l m n o p q r s t", **more: Any
) -> Compilation[ClassTask]:
    args = {"ape": "true", "ape_proposals": "6", "ape_examples": "2", "ape_rows": "5", **more.pop("args", {})}
    return compile_one(folder, text, rows("a b"), examples=rows(pool), **args, **more)


class Model:
    """Proposes from a list; with `good` before a question it is right, else it says yes."""

    def __init__(self, good: str) -> None:
        self.good = good
        self.n_proposed = 0

    def __call__(self, request: Request) -> Outcome:
        ask = request.ask
        if isinstance(ask, Generate):
            self.n_proposed += 1
            text = f' "{PROPOSALS[self.n_proposed % 4]}"\nand more'
            return Completion((Output(text, Finish.END, 5),), 1)
        assert isinstance(ask, Span)
        assert isinstance(ask.prompt, str)
        message = ask.prompt[ask.start :].strip()
        word = ask.prompt[: ask.start].rpartition("Q: ")[2][:1]
        right = "yes" if word >= "p" else "no"
        is_led = ask.prompt.startswith(f"Instruction: {self.good}\n\n")
        value = -1.0 if message == (right if is_led else "yes") else -2.0
        return Likelihood(value, 1, 1, 1, is_greedy=False, n_prompt_tokens=1)


@pytest.mark.parametrize("good", PROPOSALS)
def test_the_proposal_that_serves_best_becomes_the_instruction(tmp_path: Path, good: str) -> None:
    one = compiled(tmp_path)
    (note,) = one.task.prepare(Rehearsed(Model(good)))
    assert list_asks(one)[0] == {"source": f"Instruction: {good}\n\nQ: a\nA:", "target": "yes"}
    chosen = one.task.spec.chosen["ape"]["ppl"]
    assert chosen["instruction"] == good
    assert (chosen["by"], chosen["value"], chosen["n_proposals"], chosen["n_rows"]) == ("Accuracy", 1.0, 4, 5)
    assert chosen["lowest_value"] < 1.0
    assert repr(good) in note


def test_a_metric_without_values_of_samples_compares_no_proposals(tmp_path: Path) -> None:
    own = """
class Overall:
    def __call__(self, predictions, references):
        return {"Overall": sum(p == r for p, r in zip(predictions, references)) / len(predictions)}
"""
    text = CHOICES.replace("\nclass Sorts", f"{own}\nclass Sorts").replace("[Accuracy()]", "[Overall()]")
    with pytest.raises(BackendError, match=r"LLMBOX-012.*Overall has no values per sample.*last_score_l"):
        compiled(tmp_path, text).task.prepare(Rehearsed(Model("Say no.")))


def test_rows_archived_teach_nothing(tmp_path: Path) -> None:
    one = compiled(tmp_path, pool="a k l m n o p q r s t", settings={"shots": 2})
    rehearsed = Rehearsed(Model("Say no."))
    one.task.prepare(rehearsed)
    learned: set[str] = set()
    compared: set[str] = set()
    shown: set[str] = set()
    for request in rehearsed.requests:
        text = str(request.ask.prompt)
        questions = [part[0] for part in text.split("Q: ")[1:]]
        if isinstance(request.ask, Generate):
            learned.update(questions)
        else:
            compared.add(questions[-1])
            shown.update(questions[:-1])
    assert len(compared) == 5
    assert compared.isdisjoint(learned | shown | {"a", "b"})
    assert learned.isdisjoint({"a", "b"})


def test_an_example_that_is_evaluated_itself_teaches_nothing(tmp_path: Path) -> None:
    one = compiled(tmp_path, pool="a b k l m n o", settings={"shots": 5})
    rehearsed = Rehearsed(Model("Say no."))
    one.task.prepare(rehearsed)
    writing = [str(request.ask.prompt) for request in rehearsed.requests if isinstance(request.ask, Generate)]
    assert "Q: a\n" in list_asks(one, 1)[0]["source"]
    assert writing
    assert not any("Q: a\n" in text or "Q: b\n" in text for text in writing)


def test_each_proposal_is_a_draw_of_its_own(tmp_path: Path) -> None:
    rehearsed = Rehearsed(Model("Say no."))
    compiled(tmp_path).task.prepare(rehearsed)
    writing = [request for request in rehearsed.requests if isinstance(request.ask, Generate)]
    assert len({request.key for request in writing}) == len({request.ask for request in writing}) == 6
    again = Rehearsed(Model("Say no."))
    compiled(tmp_path).task.prepare(again)
    assert [request.key for request in again.requests] == [request.key for request in rehearsed.requests]
    other = Rehearsed(Model("Say no."))
    compiled(tmp_path, settings={"seed": 1}).task.prepare(other)
    assert other.requests[0].key != rehearsed.requests[0].key


def test_free_answers_are_compared_by_their_likelihood(tmp_path: Path) -> None:
    one = compiled(tmp_path, FREE)
    assert one.task.kinds == {Kind.GENERATE, Kind.SPAN}

    def value(ask: Any) -> float:
        return -float(int(digest(ask), 16) % 1009)

    def model(request: Request) -> Outcome:
        if isinstance(request.ask, Generate):
            return Completion((Output(f"Do {request.index}", Finish.END, 2),), 1)
        return Likelihood(value(request.ask), 1, 1, 1, is_greedy=False, n_prompt_tokens=1)

    rehearsed = Rehearsed(model)
    one.task.prepare(rehearsed)
    sums: dict[str, list[float]] = {}
    for request in rehearsed.requests:
        if isinstance(request.ask, Span):
            text = str(request.ask.prompt)
            first, _, rest = text.partition("\n\n")
            word = rest[0]
            assert rest == f"{word} -> {word.upper()}"
            assert text[request.ask.start :] == f" {word.upper()}"
            sums.setdefault(first.removeprefix("Instruction: "), []).append(value(request.ask))
    assert {len(values) for values in sums.values()} == {5}
    best = max(sums, key=lambda name: sum(sums[name]))
    assert one.task.spec.chosen["ape"]["gen"]["instruction"] == best
    assert list_asks(one)[0]["source"] == f"Instruction: {best}\n\na ->"


def test_it_is_before_the_examples(tmp_path: Path) -> None:
    one = compiled(tmp_path, settings={"shots": 1})
    one.task.prepare(Rehearsed(Model("Say no.")))
    first, example, last = list_asks(one)[0]["source"].split("\n\n")
    assert (first, last) == ("Instruction: Say no.", "Q: a\nA:")
    assert example.startswith("Q: ")


def test_in_a_conversation_it_begins_the_first_turn() -> None:
    shown = PromptExamples((Shot("one", "1"),))
    found = build_opening(shown, "two", is_chat=True, system="Be brief.", lead="Instruction: count.")
    assert found.question_prompt == (
        Message("system", "Be brief."),
        Message("user", "Instruction: count.\n\none"),
        Message("assistant", "1"),
        Message("user", "two"),
    )
    assert build_opening(PromptExamples(), "", is_chat=True, lead="L").question_prompt == (
        Message("user", "L"),
    )
    assert (
        build_opening(shown, "two", is_chat=False, system="S", lead="L").question_prompt
        == "S\n\nL\n\none 1\n\ntwo"
    )


def test_what_a_model_is_shown_to_propose() -> None:
    text = build_proposal_prompt([Shot("1 + 1", "2"), Shot("1 + 2", "3")], is_chat=False)
    assert isinstance(text, str)
    assert "Input: 1 + 1\nOutput: 2\n\nInput: 1 + 2\nOutput: 3\n\n" in text
    assert text.endswith("The instruction was:")
    talk = build_proposal_prompt([Shot("1 + 1", "2")], is_chat=True)
    assert not isinstance(talk, str)
    assert [message.role for message in talk] == ["user"]
    assert "Input: 1 + 1\nOutput: 2\n\n" in talk[0].content


@pytest.mark.parametrize(
    ("written", "meant"),
    [(' "Add them."\nSure', "Add them."), ("\n\nAdd.", "Add."), ("“Add.”", "Add."), (' "" ', "")],
)
def test_a_proposal_is_the_first_line_without_marks(written: str, meant: str) -> None:
    assert clean_instruction(written) == meant


def test_too_few_rows_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(AuthorError, match=r"LLMBOX-007.*of 2 rows, 2 are neither"):
        compiled(tmp_path, pool="k l")
    compiled(tmp_path, pool="k l m")
    with pytest.raises(AuthorError, match="LLMBOX-007"):
        compile_one(tmp_path, CHOICES, rows("a b"), ape="true")


@pytest.mark.parametrize(
    "outcome",
    [Failure("timeout", "gone"), Completion((Output(' "" ', Finish.END, 1),), 1)],
    ids=["fails", "empty"],
)
def test_a_model_without_proposals_is_an_error(tmp_path: Path, outcome: Outcome) -> None:
    with pytest.raises(BackendError, match=r"LLMBOX-012.*ape"):
        compiled(tmp_path).task.prepare(Rehearsed(lambda _: outcome))


def test_references_worked_out_beforehand_are_worked_out_again(tmp_path: Path) -> None:
    text = CHOICES.replace("@property", "@functools.cached_property").replace(
        "from ..metric", "import functools\nfrom ..metric"
    )
    one = compiled(tmp_path, text)
    one.task.prepare(Rehearsed(Model("Say no.")))
    assert one.task.spec.chosen["ape"]["ppl"]["value"] == 1.0
