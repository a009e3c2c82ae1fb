"""Prompts: boundaries, templates, right answers, and few-shot examples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.app.run import task_settings
from assay.app.settings import RunSettings
from assay.backends.registry import open_backend
from assay.core.errors import AssayError, AuthorError
from assay.core.limit import Limit
from assay.core.prompt import final_text
from assay.core.request import Generate, Labels, Request, Span
from assay.core.task import Task, TaskSettings
from assay.dialects.shared.template import compile_template
from assay.dialects.table.compile import compile_table
from assay.dialects.table.meta import TableMeta
from assay.engine.limit import LimitedTask
from cli import assay
from fakes.families import CHAT, MakeModel
from fakes.tables import table


def mcq(n: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"row{n}",
        "question": f"what is {n}?",
        "A": "x",
        "B": "y",
        "answer": "AB"[n % 2],
        **changes,
    }


def compiled(path: str, message: TableMeta | None = None, **settings: Any) -> Task:
    return compile_table(path, TaskSettings(**settings), message).task


# --- joins ---


@pytest.mark.parametrize("end", ["Answer:", "Answer: ", "Answer:   ", "Answer:\n", "Answer"])
@pytest.mark.parametrize("is_chat", [False, True])
def test_spaces_at_the_join_belong_to_the_answer_and_are_never_doubled(
    tmp_path: Path, end: str, is_chat: bool
) -> None:
    """L10 L37: however the template ends, an answer is never set off twice, nor by a space of the context."""
    message = TableMeta(human_prompt="{question}\n{option_list}", bot_prompt=end + "{answer}")
    methods = ("ppl", "prob", "gen")
    task = compiled(table(tmp_path, [mcq(1)]), message, methods=methods, is_chat=is_chat, score_by="pmi")
    requests = task.requests(next(task.samples()))
    # Spaces that the author wrote are kept as they are, but they stand on the answer's side.
    joiner = end[len(end.rstrip(" ")) :] or ("" if end.endswith("\n") else " ")
    options = [one.ask for one in requests if one.role == "option"]
    for label, ask in zip("AB", options, strict=True):
        assert isinstance(ask, Span)
        text = final_text(ask.prompt)
        assert text[: ask.start].endswith(end.rstrip(" "))
        assert text[ask.start :] == joiner + label
    alone = [one.ask for one in requests if one.role == "unconditional"]
    assert [ask.prompt for ask in alone] == [joiner + label for label in "AB"]  # The same text alone.
    (labels,) = [one.ask for one in requests if isinstance(one.ask, Labels)]
    assert not final_text(labels.prompt).endswith(" ")
    (written,) = [one.ask for one in requests if isinstance(one.ask, Generate)]
    assert not final_text(written.prompt).endswith(" ")


# --- templates ---


@pytest.mark.parametrize("value", ["07", "[1, 2]", "1e3", "True", "{{ 7 * 7 }}", "null"])
@pytest.mark.parametrize("template", ["{a}", "{{ a }}"])
def test_a_rendered_value_stays_the_text_that_it_is(value: str, template: str) -> None:
    """L11: nothing that looks like a number, a list or a template is turned into one."""
    assert compile_template(template).render({"a": value}) == value


@pytest.mark.parametrize("value", ["07", "[1, 2]", "1.0"])
def test_an_option_and_a_target_stay_the_text_that_they_are(tmp_path: Path, value: str) -> None:
    """L11: an answer `07` is not 7, and an answer `[1, 2]` is one answer and not two."""
    (free,) = compiled(table(tmp_path, [{"question": "q", "answer": value}])).samples()
    assert free.targets == (value,)
    (choice,) = compiled(table(tmp_path, [mcq(1, A=value, answer=value)])).samples()
    assert (choice.choices, choice.gold) == ((value, "y"), (0,))


def test_a_field_that_is_missing_names_the_row_and_a_last_newline_stays(tmp_path: Path) -> None:
    """L11: a hole in the data is an error with its row before a model is loaded, never an empty text."""
    rows = [mcq(1, hint="h"), mcq(2)]
    for template in ("{{ question }} {{ hint }}\n", "{question} {hint}\n"):
        with pytest.raises(AuthorError, match=r"row 2"):
            compiled(table(tmp_path, rows), TableMeta(template=template))
    assert compile_template("{{ a }}\n").render({"a": "x"}) == "x\n"


# --- gold ---


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        (["A", "C"], "found 'C', expected one of A B"),
        (["0", "2"], "expected"),
        ([0, 2], "expected"),
        (["x", "z"], "found 'z', expected the text of one option"),
        ([["A", "C"]], "expected one of A B"),
        (["e"], "expected one of A B"),
    ],
)
def test_gold_outside_the_options_is_an_error_of_the_data(
    tmp_path: Path, answers: list[Any], found: str
) -> None:
    """L13: found before a model is loaded, with row and column; never a warning and a zero."""
    rows = [mcq(n, answer=answer) for n, answer in enumerate(answers)]
    with pytest.raises(AuthorError, match="TABLE-011") as caught:
        compiled(table(tmp_path, rows))
    (problem,) = caught.value.problems
    assert problem.where is not None
    assert (problem.where.row, problem.where.column) == (len(rows), "answer")
    assert found in problem.what


# --- solved examples ---


def prompts(task: Task) -> dict[str, str]:
    """Return each sample's prompt by its id."""
    found = {}
    for sample in task.samples():
        (one,) = task.requests(sample)
        assert isinstance(one.ask.prompt, str)
        found[sample.id] = one.ask.prompt
    return found


def test_examples_of_a_question_do_not_depend_on_limit_order_or_neighbours(tmp_path: Path) -> None:
    """L15: the prompt of row k is the same alone, under any limit, asked first or last, after any other."""
    path = table(tmp_path, [mcq(n) for n in range(60)])
    whole = prompts(compiled(path, shots=3))
    assert len({prompt.split("\n\n")[0] for prompt in whole.values()}) > 20  # They are drawn for each row.
    for limit in (Limit(5), Limit(40), Limit(500), Limit(7, "first"), Limit(7, "last")):
        part = prompts(LimitedTask(compiled(path, shots=3), limit, seed=0))
        assert len(part) == min(limit.n, 60)
        assert part.items() <= whole.items()
    task = compiled(path, shots=3)
    samples = list(task.samples())
    backwards = {sample.id: task.requests(sample)[0].ask.prompt for sample in reversed(samples)}
    assert backwards == whole
    assert task.requests(samples[9])[0].ask.prompt == whole["row9"]
    sliced = prompts(compiled(path, TableMeta(test_range="[20:30]"), shots=3))
    assert sliced.items() <= whole.items()
    assert prompts(compiled(path, shots=3, seed=1)) != whole


def test_no_global_generator_is_touched(tmp_path: Path) -> None:
    """L15: drawing examples moves no one else's random numbers, and no one else's move them."""
    import random

    path = table(tmp_path, [mcq(n) for n in range(20)])
    before = random.getstate()
    one = prompts(compiled(path, shots=2))
    assert random.getstate() == before
    try:
        random.setstate(random.Random(99).getstate())
        assert prompts(compiled(path, shots=2)) == one
    finally:
        random.setstate(before)


@pytest.mark.parametrize("policy", ["first", "random"])
@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_question_never_is_among_its_own_examples(tmp_path: Path, policy: str, is_elsewhere: bool) -> None:
    """L14: neither the row nor a copy under another id, in other case, spacing or with another answer."""
    rows = [mcq(n) for n in range(8)]
    copies = [mcq(n, id=f"copy{n}", question=f"  What IS\t{n}? ", answer="BA"[n % 2]) for n in range(8)]
    path, more = table(tmp_path, [*rows, *copies]), dict[str, Any]()
    if is_elsewhere:
        path, more = table(tmp_path, rows), {"shots_from": table(tmp_path, [*copies, *rows], "dev.jsonl")}
    for seed in range(4):
        task = compiled(path, shots=5, shot_policy=policy, seed=seed, **more)
        for sample in task.samples():
            (one,) = task.requests(sample)
            assert isinstance(one.ask.prompt, str)
            *shots, question = one.ask.prompt.split("\n\n")
            own = " ".join(sample.fields["question"].casefold().split())
            assert len(shots) == 5
            assert own in " ".join(question.casefold().split())
            assert all(own not in " ".join(shot.casefold().split()) for shot in shots)


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_row_is_never_given_fewer_examples_in_silence(tmp_path: Path, is_elsewhere: bool) -> None:
    """L14 L35: when its copies are kept out and too few are left, that is an error, no shorter prompt."""
    pool = [*(mcq(1, id=f"copy{n}") for n in range(4)), mcq(2), mcq(3)]
    path, more = table(tmp_path, pool), dict[str, Any]()
    if is_elsewhere:
        path, more = table(tmp_path, [mcq(1)]), {"shots_from": table(tmp_path, pool, "dev.jsonl")}
    with pytest.raises(AssayError, match=r"TABLE-013.*only 2 of 6 rows .*4 have the same prompt"):
        compiled(path, shots=3, **more)
    assert all(prompt.count("\n\n") == 2 for prompt in prompts(compiled(path, shots=2, **more)).values())


@pytest.mark.parametrize("source", ["default", "file", "env", "flag"])
def test_the_number_of_examples_has_one_precedence_and_is_recorded(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """L35: flag over environment over file over default; what was used and who said it is in the manifest."""
    table(workdir, [mcq(n) for n in range(9)])
    expected, more = 0, ["--model", "mock", "--out", "run"]
    if source != "default":
        (workdir / "assay.toml").write_text("shots = 1\n")
        expected = 1
    if source in ("env", "flag"):
        monkeypatch.setenv("ASSAY_SHOTS", "2")
        expected = 2
    if source == "flag":
        more += ["--shots", "3"]
        expected = 3
    assert assay("run", "data.jsonl", *more).status == 0
    manifest = json.loads((workdir / "run" / "manifest.json").read_text())
    # Nobody said it: the dataset decides, and a table has none.
    message = None if source == "default" else expected
    assert manifest["settings"]["shots"] == {"value": message, "source": source}
    assert manifest["tasks"][0]["settings"]["shots"] == expected
    for line in (workdir / "run" / "samples.jsonl").read_text().splitlines():
        (context,) = json.loads(line)["contexts"]
        assert context.count("\n\n") == expected


# --- chat or text ---


@pytest.mark.parametrize(("name", "template"), [("tiny-Instruct-chat", None), ("tiny-base", CHAT)])
def test_a_model_chats_when_it_has_a_template_whatever_its_name_says(
    make_model: MakeModel, tmp_path: Path, name: str, template: str | None
) -> None:
    """L36: the form of the prompt follows from the tokenizer's template and from nothing else."""
    folder = tmp_path / name
    folder.symlink_to(make_model(template=template), target_is_directory=True)
    card = open_backend(f"hf:{folder}", {}).card
    assert card.is_chat == (template is not None)
    path = table(tmp_path, [mcq(1)])
    forms = {"auto": template is not None, "on": True, "off": False}
    for chat, expected in forms.items():
        values = msgspec.convert({"chat": chat}, RunSettings)
        task = compile_table(path, task_settings(values, card)).task
        requests: Sequence[Request] = task.requests(next(task.samples()))
        assert isinstance(requests[0].ask.prompt, tuple) == expected
        assert task.spec.settings["form"] == ("chat" if expected else "text")
