from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from assay.core.difference import AS_ORIGINAL
from assay.core.errors import AssayError
from assay.core.method import Method
from assay.core.prompt import Message, Prompt
from assay.core.request import Generate, Span
from assay.core.task import TaskSettings
from assay.dialects.shared.dialogue import RoleMarks
from assay.dialects.table.compile import CompiledTable, ModelDefaults, compile_table
from assay.dialects.table.meta import TableMeta
from fakes.tables import table


def compiled(path: str, message: TableMeta | None = None, **settings: Any) -> CompiledTable:
    return compile_table(path, TaskSettings(**settings), message)


def golds(one: CompiledTable) -> list[tuple[int, ...]]:
    return [sample.gold for sample in one.task.samples()]


def test_options_in_a_list_field(tmp_path: Path) -> None:
    rows = [
        {"ctx": "A man", "endings": ["runs", "sleeps"], "label": "1"},
        {"ctx": "A dog", "endings": ["barks", "drives", "flies"], "label": "2"},
        {"ctx": "A cat", "endings": ["meows", "codes"], "label": "0"},
    ]
    message = TableMeta(options="endings", output_column="label", template="{ctx}")
    one = compiled(table(tmp_path, rows), message, methods=("ppl",))
    assert golds(one) == [(1,), (2,), (0,)]
    assert one.survey.layout.answer_form == "index0"
    requests = one.task.requests(next(one.task.samples()))
    assert requests[0].ask == Span("A man runs", len("A man"))
    assert requests[1].ask == Span("A man sleeps", len("A man"))


def test_arc_rows_with_labels_of_their_own(tmp_path: Path) -> None:
    rows = [
        {"question": "q1", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "B"},
        {"question": "q2", "choices": {"text": ["x", "y", "z"], "label": ["1", "2", "3"]}, "answerKey": "1"},
    ]
    one = compiled(table(tmp_path, rows))
    samples = list(one.task.samples())
    assert [sample.labels for sample in samples] == [("A", "B"), ("1", "2", "3")]
    assert golds(one) == [(1,), (0,)]


@pytest.mark.parametrize(
    ("answers", "gold"),
    [(["A", "C"], [(0,), (2,)]), (["red", "blue"], [(0,), (2,)]), (["1", "3"], [(0,), (2,)])],
)
def test_answers_by_letter_text_and_index(
    tmp_path: Path, answers: list[str], gold: list[tuple[int, ...]]
) -> None:
    rows = [{"question": f"q{a}", "A": "red", "B": "green", "C": "blue", "answer": a} for a in answers]
    assert golds(compiled(table(tmp_path, rows, "data.csv"))) == gold


def test_an_ambiguous_index_is_asked_about_and_can_be_settled(tmp_path: Path) -> None:
    rows = [
        {"question": f"q{a}", "A": "red", "B": "green", "C": "blue", "D": "red", "answer": a} for a in "23"
    ]
    path = table(tmp_path, rows, "data.csv")
    with pytest.raises(AssayError, match="TABLE-010") as caught:
        compiled(path)
    assert f"assay run {path} --answer-is index1\n" in str(caught.value)
    assert golds(compiled(path, TableMeta(answer_is="index1"))) == [(1,), (2,)]
    assert golds(compiled(path, TableMeta(answer_is="index0"))) == [(2,), (3,)]


def test_numbers_that_begin_at_1_count_from_1(tmp_path: Path) -> None:
    rows = [{"question": f"q{a}", "A": "red", "B": "green", "C": "blue", "answer": a} for a in "12"]
    one = compiled(table(tmp_path, rows, "data.csv"))
    assert golds(one) == [(0,), (1,)]
    assert "no answer is 0" in one.survey.reasons["answer"]


def test_missing_answers_are_kept_unscored(tmp_path: Path) -> None:
    rows = [
        {"question": "q1", "A": "1", "B": "2", "answer": ""},
        {"question": "q2", "A": "1", "B": "2", "answer": "B"},
    ]
    one = compiled(table(tmp_path, rows, "data.csv"))
    assert [sample.is_graded for sample in one.task.samples()] == [False, True]
    assert one.survey.n_without_answer == 1
    qa = compiled(table(tmp_path, [{"question": "why?"}]), TableMeta(no_answers=True))
    assert qa.survey.layout.answer_column is None
    assert [sample.is_graded for sample in qa.task.samples()] == [False]


def test_rows_may_have_fewer_options(tmp_path: Path) -> None:
    rows = [
        {"question": "q1", "A": "1", "B": "2", "C": "3", "answer": "C"},
        {"question": "q2", "A": "1", "B": "2", "C": "", "answer": "A"},
    ]
    one = compiled(table(tmp_path, rows, "data.csv"))
    assert [len(sample.choices) for sample in one.task.samples()] == [3, 2]
    faithful = compiled(table(tmp_path, rows, "data.csv"), is_faithful=True)
    assert [len(sample.choices) for sample in faithful.task.samples()] == [3, 3]


def test_the_kind_is_found_from_the_whole_file_and_not_the_first_row(tmp_path: Path) -> None:
    rows = [
        {"question": "q1", "A": "1", "answer": "A", "B": "2"},
        {"question": "q2", "A": "1", "answer": "A"},
    ]
    with pytest.raises(AssayError, match=r"TABLE-009.*row 2.*1 option,"):
        compiled(table(tmp_path, rows))


def test_round_templates_with_roles(tmp_path: Path) -> None:
    message = TableMeta(
        template={
            "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Be brief."}],
            "round": [
                {"role": "HUMAN", "prompt": "{question}"},
                {"role": "BOT", "prompt": "The answer is {answer}"},
            ],
        }
    )
    rows = [{"question": "q1", "answer": "x"}]
    text = compiled(table(tmp_path, rows), message).task
    assert text.requests(next(text.samples()))[0].ask.prompt == "Be brief.\nq1\nThe answer is"
    chat = compiled(table(tmp_path, rows), message, is_chat=True).task
    assert chat.requests(next(chat.samples()))[0].ask.prompt == (
        Message("system", "Be brief."),
        Message("user", "q1"),
    )


def test_jinja_prompts_see_options(tmp_path: Path) -> None:
    rows = [{"question": "q", "A": "1", "B": "2", "answer": "A"}]
    message = TableMeta(template="{{ question | upper }}\n{{ option_list }}\nAnswer: {{ answer }}")
    task = compiled(table(tmp_path, rows), message, methods=("ppl",)).task
    assert task.requests(next(task.samples()))[1 - 1].ask == Span("Q\nA. 1\nB. 2\nAnswer: A", 19)


def test_a_prompt_without_the_options_scores_their_text(tmp_path: Path) -> None:
    rows = [{"question": "q", "A": "one", "B": "two", "answer": "A"}]
    message = TableMeta(human_prompt="{question}", bot_prompt="It is {answer}")
    one = compiled(table(tmp_path, rows), message, methods=("ppl",))
    asks = [
        request.ask for request in one.task.requests(next(one.task.samples())) if request.role == "option"
    ]
    assert asks == [Span("q\nIt is one", 7), Span("q\nIt is two", 7)]
    with pytest.raises(AssayError, match=r"TABLE-007.*prob"):
        compiled(table(tmp_path, rows), message, methods=("prob",))


def test_ppl_over_texts_beside_prob_over_labels(tmp_path: Path) -> None:
    rows = [{"question": "q", "A": "one", "B": "two", "answer": "A"}]
    one = compiled(table(tmp_path, rows), TableMeta(ppl_target="text"), methods=("ppl", "prob"))
    requests = one.task.requests(next(one.task.samples()))
    assert requests[0].ask == Span("Question: q\nAnswer: one", len("Question: q\nAnswer:"))
    assert requests[-1].ask.prompt == "Question: q\nA. one\nB. two\nAnswer:"


def test_shots_come_from_another_file_and_are_read_as_the_dataset(tmp_path: Path) -> None:
    rows = [{"question": f"q{i}", "A": "1", "B": "2", "answer": "AB"[i % 2]} for i in range(3)]
    dev = [{"question": f"d{i}", "A": "1", "B": "2", "answer": "AB"[i % 2]} for i in range(4)]
    path, shots = table(tmp_path, rows, "test.csv"), table(tmp_path, dev, "dev.csv")
    one = compiled(path, shots=2, shots_from=shots)
    ask = one.task.requests(next(one.task.samples()))[0].ask
    assert isinstance(ask, Generate)
    assert ask.prompt == (
        "Question: d0\nA. 1\nB. 2\nAnswer: A\n\nQuestion: d1\nA. 1\nB. 2\nAnswer: B\n\n"
        "Question: q0\nA. 1\nB. 2\nAnswer:"
    )
    assert ask.sampling.stop == ("\n\n", "\nQuestion:")
    before = one.task.spec.data_hash
    table(tmp_path, dev[:3], "dev.csv")
    assert compiled(path, shots=2, shots_from=shots).task.spec.data_hash != before


SHOT_ROWS = [{"question": f"q{i}", "A": "one", "B": "two", "answer": "AB"[i % 2]} for i in range(6)]
SYSTEM = TableMeta(
    template={
        "begin": [{"role": "SYSTEM", "prompt": "Be brief."}],
        "round": [
            {"role": "HUMAN", "prompt": "{question}\n{option_list}"},
            {"role": "BOT", "prompt": "Answer: {answer}"},
        ],
    }
)


def questions(prompt: Prompt) -> list[str]:
    """Return the questions that a prompt holds, in their order."""
    text = prompt if isinstance(prompt, str) else "\n".join(message.text for message in prompt)
    return re.findall(r"q\d", text)


@pytest.mark.parametrize("is_chat", [False, True])
@pytest.mark.parametrize("is_faithful", [False, True])
def test_fewer_shots_leave_out_whole_examples(tmp_path: Path, is_chat: bool, is_faithful: bool) -> None:
    task = compiled(
        table(tmp_path, SHOT_ROWS),
        SYSTEM,
        methods=("ppl", "prob", "gen"),
        shots=4,
        is_chat=is_chat,
        is_faithful=is_faithful,
        score_by="pmi",
    ).task
    sample = list(task.samples())[5]
    full = task.requests(sample)
    assert task.requests(sample, shots=4) == task.requests(sample, shots=99) == full
    for n in range(4):
        fewer = task.requests(sample, shots=n)
        assert [r.id for r in fewer] == [r.id for r in full]
        for before, after in zip(full, fewer, strict=True):
            if after.role == "unconditional":
                assert after == before
                continue
            assert (after.n_shots, after.n_shots_left_out) == (n, 4 - n)
            *shots, question = questions(before.ask.prompt)
            kept = shots[:n] if is_faithful else shots[4 - n :]
            assert questions(after.ask.prompt) == [*kept, question] == [*kept, "q5"]
            if isinstance(after.ask.prompt, str):
                # What is left is a part of the whole, to the letter, with no example begun or broken off.
                assert after.ask.prompt.startswith("Be brief.\nq")
                assert is_faithful or before.ask.prompt[-len(after.ask.prompt) :] == after.ask.prompt
            else:
                assert after.ask.prompt[0] == Message("system", "Be brief.")
                assert len(after.ask.prompt) == len(before.ask.prompt) - 2 * (4 - n)


def test_no_shots_left_is_the_prompt_of_a_run_without_shots(tmp_path: Path) -> None:
    path = table(tmp_path, SHOT_ROWS)
    for is_chat in (False, True):
        bare, shown = (
            compiled(path, methods=("ppl", "prob"), is_chat=is_chat, shots=shots).task for shots in (0, 3)
        )
        for sample in bare.samples():
            assert [r.ask for r in shown.requests(sample, shots=0)] == [r.ask for r in bare.requests(sample)]


def test_a_sample_among_the_examples_changes_them_for_itself_alone(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "A": f"a{n}", "B": f"b{n}", "answer": "AB"[n % 2]} for n in range(6)]
    path, shots = table(tmp_path, rows[2:], "test.csv"), table(tmp_path, rows[:4], "dev.csv")
    task = compiled(path, methods=("prob",), shots=2, shots_from=shots).task
    shown = [re.findall(r"q\d", str(task.requests(one)[0].ask.prompt)) for one in task.samples()]
    assert shown == [["q0", "q1", f"q{n}"] for n in range(2, 6)]
    path = table(tmp_path, [rows[4], rows[1], rows[5]], "mixed.csv")
    task = compiled(path, methods=("prob",), shots=2, shots_from=shots).task
    shown = [re.findall(r"q\d", str(task.requests(one)[0].ask.prompt)) for one in task.samples()]
    assert shown == [["q0", "q1", "q4"], ["q0", "q2", "q1"], ["q0", "q1", "q5"]]


def test_too_many_shots(tmp_path: Path) -> None:
    rows = [{"question": f"q{i}", "answer": "x"} for i in range(3)]
    with pytest.raises(AssayError, match=r"TABLE-013.*only 2 of 3 rows .*never its own example"):
        compiled(table(tmp_path, rows), shots=3)


def test_rows_that_ask_the_same_of_another_context_are_examples_for_each_other(tmp_path: Path) -> None:
    rows = [{"context": f"Ann did {i}.", "question": "What next?", "answer": "x"} for i in range(3)]
    path = table(tmp_path, rows)
    shown = compiled(path, TableMeta(human_prompt="{context} {question}"), shots=2).task
    for sample in shown.samples():
        (asked,) = shown.requests(sample)
        assert all(str(row["context"]) in str(asked.ask) for row in rows)
    with pytest.raises(
        AssayError, match=r"only 0 of 3 rows .* 3 have the same prompt as the row to be answered"
    ):
        compiled(path, TableMeta(human_prompt="{question}"), shots=2)


def test_a_row_with_its_options_shuffled_is_no_example(tmp_path: Path) -> None:
    rows = [{"question": "q", "A": a, "B": b, "answer": "A"} for a, b in (("x", "y"), ("y", "x"))]
    with pytest.raises(AssayError, match=r"TABLE-013.*only 0 of 2"):
        compiled(table(tmp_path, rows), shots=1)


def test_ids_are_the_datasets_own_or_content_hashes(tmp_path: Path) -> None:
    rows = [{"id": "a", "question": "q", "answer": "1"}, {"id": "b", "question": "q", "answer": "1"}]
    assert [sample.id for sample in compiled(table(tmp_path, rows)).task.samples()] == ["a", "b"]
    bare = [{"question": "q", "answer": "1"}] * 2 + [{"question": "r", "answer": "1"}]
    ids = [sample.id for sample in compiled(table(tmp_path, bare)).task.samples()]
    assert ids[0][:-2] == ids[1][:-2]
    assert (ids[0][-2:], ids[1][-2:]) == ("-1", "-2")
    assert len(set(ids)) == 3
    moved = [sample.id for sample in compiled(table(tmp_path, bare[::-1])).task.samples()]
    assert moved[0] == ids[2]


def test_ids_that_repeat_are_replaced_with_a_note_or_rejected(tmp_path: Path) -> None:
    rows = [{"id": "a", "question": "q1", "answer": "1"}, {"id": "a", "question": "q2", "answer": "1"}]
    one = compiled(table(tmp_path, rows))
    assert len({sample.id for sample in one.task.samples()}) == 2
    assert any("has repeated values" in note for note in one.notes)
    with pytest.raises(AssayError, match="TABLE-012"):
        compiled(table(tmp_path, rows), TableMeta(id_column="id"))


def test_groups_and_clusters(tmp_path: Path) -> None:
    rows = [{"question": "q", "answer": "1", "category": "x", "passage": 7}]
    (sample,) = compiled(table(tmp_path, rows), TableMeta(cluster_column="passage")).task.samples()
    assert (sample.group, sample.cluster) == ("x", "7")


def test_test_range(tmp_path: Path) -> None:
    rows = [{"question": f"q{i}", "answer": "1"} for i in range(10)]
    one = compiled(table(tmp_path, rows), TableMeta(test_range="[2:5]"))
    assert [sample.fields["question"] for sample in one.task.samples()] == ["q2", "q3", "q4"]
    assert (one.task.spec.n_samples, one.task.spec.n_rows) == (3, 10)


def test_several_acceptable_answers(tmp_path: Path) -> None:
    rows = [{"question": "q", "answer": ["yes", "yeah"]}]
    (sample,) = compiled(table(tmp_path, rows)).task.samples()
    assert sample.targets == ("yes", "yeah")


def test_differences_that_touch_the_task_are_recorded(tmp_path: Path) -> None:
    rows = [{"question": "q", "answer": "1"}]
    names = {
        difference.name: difference for difference in compiled(table(tmp_path, rows)).task.spec.differences
    }
    assert "exact_qa" in names
    assert "abstain" not in names
    faithful = {
        difference.name: difference
        for difference in compiled(table(tmp_path, rows), is_faithful=True).task.spec.differences
    }
    assert names["exact_qa"].here != faithful["exact_qa"].here == AS_ORIGINAL
    assert "nearest_shot_first" not in names
    assert "nearest_shot_first" in {
        difference.name
        for difference in compiled(
            table(tmp_path, [*rows, {"question": "r", "answer": "2"}]), shots=1
        ).task.spec.differences
    }


def test_rows_a_jinja_prompt_fails_on_are_all_named(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"question": "q", "facts": {"a": 1}, "answer": "1"} for _ in range(3)]
    rows[1]["facts"] = None
    message = TableMeta(template="{{ question }} {{ facts.a + 1 }}")
    with pytest.raises(AssayError, match=r"TABLE-015.*row 2") as caught:
        compiled(table(tmp_path, rows), message)
    assert caught.value.total == 1


@pytest.mark.parametrize("hole", [{}, {"question": None}])
def test_a_row_without_a_field_that_the_prompt_shows_is_an_error(
    tmp_path: Path, hole: dict[str, Any]
) -> None:
    rows = [
        {"question": "a?", "A": "1", "B": "2", "answer": "A"},
        {"A": "1", "B": "2", "answer": "A", **hole},
    ]
    with pytest.raises(AssayError, match=r"TABLE-005.*row 2.*\{question\}"):
        compiled(table(tmp_path, rows))
    nested: list[dict[str, Any]] = [{"q": {"stem": "w?"}, "answer": "x"}, {"q": {"z": 1}, "answer": "x"}]
    with pytest.raises(AssayError, match=r"TABLE-005.*row 2.*\{q.stem\}"):
        compiled(table(tmp_path, nested), TableMeta(template="{q.stem}"))


def test_list_options_are_found_in_any_row(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"question": "a?", "answer": "x"},
        {"question": "b?", "choices": ["x", "y"], "answer": "x"},
    ]
    for order in (rows, rows[::-1]):
        with pytest.raises(AssayError, match=r"TABLE-009.*has 0 options"):
            compiled(table(tmp_path, order))


def test_names_that_look_alike_are_one_name(tmp_path: Path) -> None:
    whole, parted = "분류", "\u1107\u116e\u11ab\u1105\u1172"
    rows = [{"question": f"q{n}", "answer": "a", "group": name} for n, name in enumerate((whole, parted))]
    one = compiled(table(tmp_path, rows, f"{parted}.jsonl"), TableMeta(category_column="group"))
    assert one.task.spec.name == whole
    assert {sample.group for sample in one.task.samples()} == {whole}
    assert one.survey.group_counts == {whole: 2}
    # What the model reads stays as it was written.
    assert [sample.fields["group"] for sample in one.task.samples()] == [whole, parted]


def test_answers_may_name_option_columns_that_the_prompt_shows_by_letters(tmp_path: Path) -> None:
    rows = [
        {"question": "q1", "opt1": "red", "opt2": "green", "opt3": "blue", "answer": "opt2"},
        {"question": "q2", "opt1": "red", "opt2": "green", "opt3": "blue", "answer": "opt1"},
    ]
    message = TableMeta(options=("opt1", "opt2", "opt3"))
    one = compiled(table(tmp_path, rows), message, methods=("gen", "ppl"))
    sample = next(one.task.samples())
    assert golds(one) == [(1,), (0,)]
    assert sample.labels == ("A", "B", "C")
    asks = [request.ask for request in one.task.requests(sample)]
    question = "Question: q1\nA. red\nB. green\nC. blue\nAnswer:"
    assert isinstance(asks[0], Generate)
    assert asks[0].prompt == question
    assert asks[1] == Span(f"{question} A", len(question))


@pytest.mark.parametrize(
    ("columns", "answers", "gold"),
    [
        (("choice1", "choice2"), ("choice2", "choice1"), [(1,), (0,)]),
        (("red one", "blue one"), ("blue one", "red one"), [(1,), (0,)]),
        (("opt1", "opt2"), ("B", "A"), [(1,), (0,)]),
        (("opt1", "opt2"), (["opt1", "opt2"], "opt2"), [(0, 1), (1,)]),
    ],
)
def test_answers_by_the_name_of_the_options_column(
    tmp_path: Path, columns: tuple[str, str], answers: tuple[Any, Any], gold: list[tuple[int, ...]]
) -> None:
    rows = [
        {"question": f"q{at}", columns[0]: "x", columns[1]: "y", "answer": answer}
        for at, answer in enumerate(answers)
    ]
    assert golds(compiled(table(tmp_path, rows), TableMeta(options=columns))) == gold


def test_an_answer_that_names_no_option_says_how_to_label_them(tmp_path: Path) -> None:
    rows = [{"question": "q", "opt1": "x", "opt2": "y", "answer": "first"}]
    with pytest.raises(AssayError, match=r"TABLE-011") as raised:
        compiled(table(tmp_path, rows), TableMeta(options=("opt1", "opt2")))
    assert "option_labels" in str(raised.value)
    rows = [{"question": f"q{one}", "opt1": "x", "opt2": "y", "answer": one} for one in ("opt1", "opt9")]
    with pytest.raises(AssayError, match="expected one of A B"):
        compiled(table(tmp_path, rows, "other.jsonl"), TableMeta(options=("opt1", "opt2")))


def test_letters_name_the_options_of_rows_with_labels_of_their_own(tmp_path: Path) -> None:
    rows = [
        {"question": "q1", "choices": {"text": ["x", "y"], "label": ["A", "B"]}, "answerKey": "B"},
        {"question": "q2", "choices": {"text": ["z", "w"], "label": ["1", "2"]}, "answerKey": "1"},
    ]
    one = compiled(table(tmp_path, rows), TableMeta(human_prompt="{question} {A} or {B}?"))
    prompts = [one.task.preview_prompt(sample, Method.GEN) for sample in one.task.samples()]
    assert prompts == ["q1 x or y?\nAnswer:", "q2 z or w?\nAnswer:"]


def test_what_the_models_config_says_holds_where_the_table_says_nothing(tmp_path: Path) -> None:
    rows = [{"question": "2+2?", "answer": "4"}, {"question": "3+3?", "answer": "6"}]
    path = table(tmp_path, rows)
    model = ModelDefaults(33, ("ZZZ",))

    def sampling(message: TableMeta | None = None, **settings: Any) -> Any:
        one = compile_table(path, TaskSettings(is_chat=True, **settings), message, model=model)
        ask = one.task.requests(next(one.task.samples()))[0].ask
        assert isinstance(ask, Generate)
        return ask.sampling

    assert (sampling().max_tokens, sampling().stop) == (33, ("ZZZ",))
    own = sampling(TableMeta(max_tokens=7, stop=("\n",)))
    assert (own.max_tokens, own.stop) == (7, ("\n", "ZZZ"))
    given = sampling(max_tokens=9, stop=("END",))
    assert (given.max_tokens, given.stop) == (9, ("END",))
    assert sampling(samples=3).n == 3


def test_the_roles_of_a_text_model_are_marked(tmp_path: Path) -> None:
    rows = [
        {"question": "q1", "A": "x", "B": "y", "answer": "B"},
        {"question": "q2", "A": "x", "B": "y", "answer": "A"},
    ]
    marks = RoleMarks("<s>", {"user": ("<u>", "</u>"), "assistant": ("<b>", "</b>")})
    settings = TaskSettings(methods=(Method.GEN, Method.PPL), shots=1)
    one = compile_table(table(tmp_path, rows), settings, model=ModelDefaults(marks=marks))
    asks = [request.ask for request in one.task.requests(next(one.task.samples()))]
    shot = "<u>Question: q2\nA. x\nB. y</u><b>Answer: A</b>"
    question = f"<s>{shot}<u>Question: q1\nA. x\nB. y</u><b>Answer:"
    assert isinstance(asks[0], Generate)
    assert asks[0].prompt == question
    assert asks[1] == Span(f"{question} A", len(question))


def test_a_column_in_the_template_is_not_unused(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "hint": "h", "note": "x", "answer": str(n)} for n in range(3)]
    for template in ("{question} {hint}", "{{ question }} {{ hint }}"):
        one = compiled(table(tmp_path, rows), TableMeta(template=template))
        assert dict(one.facts).get("unused") == "note"


def test_conversations_are_found_in_a_column_or_in_a_field_of_its_objects(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    for row in (
        {"talk": turns},
        {"talk": {"messages": turns}},
        {"talk": "a text", "talk.messages": turns},
    ):
        one = compiled(table(tmp_path, [row, row]), is_chat=True)
        assert one.task.requests(next(one.task.samples()))[0].ask.prompt == (Message("user", "q"),)
