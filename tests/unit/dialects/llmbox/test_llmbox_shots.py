"""Few-shot examples: never the row itself, and the same for all rows and methods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.core.limit import Limit
from assay.core.prompt import Message
from fakes.classes import compile_one, compile_text, list_asks

CHOICE = """
class Choice(MultipleChoiceDataset):
    instruction = "{{q}}{{'\\n' + options if options}}\\nA:"

    def format_instance(self, instance):
        return dict(q=instance["q"], options=["yes", "no"], target_idx=instance["answer"])
"""


def row(n: int) -> dict[str, Any]:
    return {"q": f"question {n}", "answer": n % 2}


POOL = [row(100 + n) for n in range(12)]


def shots_of(source: str) -> list[str]:
    """Return the questions that a prompt shows before its own."""
    return [part.split("\n")[0] for part in source.split("\n\n")[:-1]]


def questions_shown(one: Any) -> list[list[str]]:
    return [shots_of(list_asks(one, n)[0]["source"]) for n in range(one.task.spec.n_samples)]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_the_same_for_all_rows_and_never_the_row_itself(tmp_path: Path, data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=8))
    pool = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=8))
    n = data.draw(st.integers(1, 5))
    seed = data.draw(st.integers(0, 3))
    one = compile_one(
        tmp_path,
        CHOICE,
        [row(number) for number in numbers],
        examples=[row(number) for number in pool],
        settings={"shots": n, "seed": seed},
    )
    shown = questions_shown(one)
    for number, examples in zip(numbers, shown, strict=True):
        assert f"question {number}" not in examples
        available = sum(other != number for other in pool)
        assert len(examples) == min(n, available)
    # Rows that are not in the pool see the very same, in the same order.
    assert (
        len({tuple(examples) for number, examples in zip(numbers, shown, strict=True) if number not in pool})
        <= 1
    )


def test_a_twin_with_another_id_is_no_example(tmp_path: Path) -> None:
    rows = [row(1) | {"id": "a"}, row(1) | {"id": "b"}, row(1) | {"id": "b"}, row(2) | {"id": "c"}]
    one = compile_one(tmp_path, CHOICE, rows, examples=rows, settings={"shots": 3})
    assert questions_shown(one) == [["question 2"]] * 3 + [["question 1"] * 3]


def test_rows_that_are_their_own_examples(tmp_path: Path) -> None:
    """The very same dicts: formatting changes rows, and examples must not see that."""
    text = CHOICE.replace("return dict(", "instance['answer']\n        instance.update(").replace(
        'target_idx=instance["answer"])', "target_idx=instance['answer'])\n        return instance"
    ) + (
        "    def load_raw_dataset(self, *_):\n"
        f"        self.evaluation_data = {[row(n) for n in range(4)]!r}\n"
        "        self.example_data = self.evaluation_data\n"
    )
    one = compile_one(tmp_path, text, settings={"shots": 2})
    for number, examples in enumerate(questions_shown(one)):
        assert len(examples) == 2
        assert f"question {number}" not in examples


def test_independent_of_limit_order_and_method(tmp_path: Path) -> None:
    rows = [row(n) for n in range(8)]

    def shown(some: list[dict[str, Any]], **more: Any) -> dict[str, list[str]]:
        one = compile_one(tmp_path, CHOICE, some, examples=[*POOL, *rows], settings={"shots": 4} | more)
        sources = [list_asks(one, n)[0]["source"] for n in range(one.task.spec.n_samples)]
        return {source.split("\n\n")[-1].split("\n")[0]: shots_of(source) for source in sources}

    whole = shown(rows)
    assert len(whole) == 8
    assert shown(rows[::-1]) == whole
    for method in ("prob", "gen"):
        assert shown(rows, methods=(method,)) == whole
    for limit in (Limit(3), Limit(3, which="first")):
        part = shown(rows, limit=limit)
        assert len(part) == 3
        assert part == {question: whole[question] for question in part}
    assert shown(rows, seed=1) != whole


def test_the_originals_draw(tmp_path: Path) -> None:
    rows = [row(n) for n in range(3)]
    one = compile_one(tmp_path, CHOICE, rows, examples=POOL, settings={"shots": 5, "is_faithful": True})
    np.random.seed(2023)
    expected = [POOL[at]["q"] for at in np.random.choice(len(POOL), 5, replace=False)]
    assert questions_shown(one) == [expected] * 3
    # A pool that is not larger than requested is shown whole, including the row itself.
    few = compile_one(tmp_path, CHOICE, rows, examples=rows, settings={"shots": 5, "is_faithful": True})
    assert questions_shown(few) == [[r["q"] for r in rows]] * 3
    assert any("3 examples" in note for note in few.notes)


def test_the_originals_draw_follows_a_seed_that_was_given(tmp_path: Path) -> None:
    settings = {"shots": 5, "is_faithful": True, "has_default_seed": False}
    shown = []
    for seed in (7, 0):
        one = compile_one(tmp_path, CHOICE, [row(0)], examples=POOL, settings={**settings, "seed": seed})
        expected = np.random.RandomState(seed).choice(len(POOL), 5, replace=False)
        assert questions_shown(one) == [[POOL[at]["q"] for at in expected]]
        assert one.task.spec.settings["seed"] == seed
        shown.append(questions_shown(one))
    assert shown[0] != shown[1]


def test_the_originals_generator_continues_from_subset_to_subset(tmp_path: Path) -> None:
    for subset in ("x", "y", "z"):
        folder = tmp_path / "data" / "sets" / subset
        folder.mkdir(parents=True)
        for split, some in (("test", [row(0)]), ("dev", POOL)):
            lines = "".join(json.dumps(one) + "\n" for one in some)
            (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    splits = 'load_args = ("sets",)\n    evaluation_set = "test"\n    example_set = "dev"\n    instruction ='
    text = CHOICE.replace("instruction =", splits, 1)
    settings = {"shots": 3, "is_faithful": True, "methods": ("ppl", "prob")}
    several = compile_text(tmp_path, text, hub=tmp_path / "data", settings=settings)
    generator = np.random.RandomState(2023)
    for one in several:
        expected = [POOL[at]["q"] for at in generator.choice(len(POOL), 3, replace=False)]
        # Each method is a separate run of the original, with a fresh start.
        assert questions_shown(one) == [expected]


def test_examples_bounded_by_tokens(tmp_path: Path) -> None:
    """Whole examples, the longest beginning that fits; tokens are words here, counted without the gaps."""
    rows, pool = [row(0)], POOL[:4]
    whole = compile_one(tmp_path, CHOICE, rows, examples=pool, settings={"shots": 4})
    (every,) = questions_shown(whole)
    sizes = {}
    for limit in range(1, 20):
        one = compile_one(
            tmp_path, CHOICE, rows, examples=pool, settings={"shots": 4}, max_example_tokens=str(limit)
        )
        (shown,) = questions_shown(one)
        assert shown == every[: len(shown)]
        sizes[limit] = len(shown)
        (request, *_) = one.task.requests(next(iter(one.task.samples())))
        assert (request.n_shots, request.n_shots_left_out) == (len(shown), 4 - len(shown))
    # "question 100\nA: yes" is 4 words; joined without a gap, the next example shares one.
    assert [sizes[n] for n in (3, 4, 6, 7, 9, 10, 13, 19)] == [0, 1, 1, 2, 2, 3, 4, 4]


def test_the_original_leaves_out_what_is_beyond_1024_tokens(tmp_path: Path) -> None:
    long = [row(n) | {"q": f"question {n} " + "word " * 600} for n in range(50, 53)]
    for faithful, expected in ((True, 1), (False, 3)):
        one = compile_one(
            tmp_path, CHOICE, [row(0)], examples=long, settings={"shots": 3, "is_faithful": faithful}
        )
        (request, *_) = one.task.requests(next(iter(one.task.samples())))
        assert request.n_shots == expected
        assert ("example_tokens" in {difference.name for difference in one.task.spec.differences}) is True


def test_fewer_examples_when_asked(tmp_path: Path) -> None:
    one = compile_one(tmp_path, CHOICE, [row(0)], examples=POOL, settings={"shots": 3})
    sample = next(iter(one.task.samples()))
    for n in (None, 5, 3, 2, 1, 0):
        requests = one.task.requests(sample, shots=n)
        kept = 3 if n is None else min(n, 3)
        assert {(r.n_shots, r.n_shots_left_out) for r in requests} == {(kept, 3 - kept)}


def own(body: str) -> str:
    return f"{CHOICE}\n    def construct_examples(self, instance=None):\n        {body}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('return "Look: " + instance["q"]', "Look: question 0\n\nquestion 0\nA:"),
        ('return "Look\\n"', "Look\nquestion 0\nA:"),
        ('return ""', "question 0\nA:"),
        (
            "from utilization.model.model_utils.conversation import Conversation\n"
            '        return Conversation.from_chat(user="U", assistant="V")',
            "U V\n\nquestion 0\nA:",
        ),
    ],
)
def test_examples_of_the_authors_own(tmp_path: Path, body: str, expected: str) -> None:
    one = compile_one(tmp_path, own(body), [row(0)], settings={"shots": 1})
    assert list_asks(one)[0]["source"] == expected
    chat = compile_one(tmp_path, own(body), [row(0)], settings={"shots": 1}, model_type="chat")
    messages = list_asks(chat, role="option")[0]["source"]
    assert messages[-1].role == "assistant"
    if "Conversation" in body:
        assert messages[:2] == (Message("user", "U"), Message("assistant", "V"))
    else:
        assert messages[0].content == expected
    none = compile_one(tmp_path, own(body), [row(0)])
    assert list_asks(none)[0]["source"] == "question 0\nA:"


def test_the_base_classs_examples_do_not_show_the_row_either(tmp_path: Path) -> None:
    text = own("return super().construct_examples(instance)")
    rows = [row(n) for n in range(5)]
    made = compile_one(tmp_path, text, rows, examples=rows, settings={"shots": 4})
    plain = compile_one(tmp_path, CHOICE, rows, examples=rows, settings={"shots": 4})
    assert questions_shown(made) == questions_shown(plain)
    for number, examples in enumerate(questions_shown(made)):
        assert f"question {number}" not in examples


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("pass", "returned NoneType"),
        ("return [1]", "returned list"),
        ('raise RuntimeError("no")', "construct_examples raised RuntimeError: no"),
        (
            "from utilization.model.model_utils.conversation import Conversation\n"
            '        return Conversation.from_chat(assistant="V")',
            "roles",
        ),
    ],
)
def test_examples_that_cannot_be_used_are_reported_before_the_run(
    tmp_path: Path, body: str, message: str
) -> None:
    with pytest.raises(AuthorError, match=rf"LLMBOX-003.*{message}"):
        compile_one(tmp_path, own(body), [row(0)], settings={"shots": 1})


def test_a_broken_example_is_reported_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(AuthorError, match=r"LLMBOX-004.*target_idx is 5"):
        compile_one(tmp_path, CHOICE, [row(0)], examples=[row(1) | {"answer": 5}], settings={"shots": 1})
