from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.core.prompt import Message, final_text
from assay.core.request import Generate, Labels, Span
from assay.core.task import ComponentSpec
from assay.dialects.ultraeval.script import Generator
from assay.dialects.ultraeval.task import LetterForm, infer_letter_form
from fakes.transforms import (
    FREE,
    GEN,
    PPL,
    choice_rows,
    compile_only,
    config,
    free_rows,
    list_requests,
    write_dataset,
)

DRAWING = """
def transform(data, num_sample, r, dataset_name):
    text, answer = f"{r.randrange(10**6)} {data['question']}=", data["answer"]
    return {"input": text, "output": answer, "processed_output": answer}
"""
SPOKEN = """
def transform(data, num_sample, r, dataset_name):
    text = f"{dataset_name} {num_sample} {data['question']}="
    return {"input": text, "output": data["answer"], "processed_output": data["answer"]}
"""


def prompts(folder: Path, **settings: Any) -> list[Any]:
    every = []
    for requests in list_requests(compile_only(folder, **settings)):
        for one in requests:
            assert isinstance(one.ask, Generate)
            every.append(one.ask.prompt)
    return every


@pytest.fixture
def free(tmp_path: Path) -> Path:
    return write_dataset(tmp_path, free_rows(9), {"transform_gen_v0.py": FREE})


@pytest.fixture
def choice(tmp_path: Path) -> Path:
    scripts = {"transform_gen_v0.py": GEN, "transform_ppl_v0.py": PPL}
    return write_dataset(tmp_path, choice_rows(9), scripts)


def test_an_example_is_input_and_output_with_nothing_between(free: Path) -> None:
    first = prompts(free, shots=2)[0]
    *shots, question = first.split("\n\n")
    assert len(shots) == 2
    assert question == "Q: 0+1\nA:"
    for shot in shots:
        asked_, answer = shot.removeprefix("Q: ").split("\nA: ")
        assert eval(asked_) == int(answer)  # noqa: S307
        assert asked_ != "0+1"


def test_the_description_is_before_everything(tmp_path: Path) -> None:
    message = {"sums_gen.json": {**config(), "description": "Add.\n", "fewshot": 1}}
    folder = write_dataset(tmp_path, free_rows(4), {"transform_gen_v0.py": FREE}, message)
    assert all(prompt.startswith("Add.\n\n\nQ: ") for prompt in prompts(folder))
    assert all(prompt.count("Q: ") == 2 for prompt in prompts(folder))
    assert all(prompt.count("Q: ") == 1 for prompt in prompts(folder, shots=0))
    instead = prompts(folder, dataset_args={"description": "Sum"})
    assert all(prompt.startswith("Sum\n\nQ: ") for prompt in instead)


def test_a_transform_is_reported_the_whole_name_and_the_number_of_examples(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path, free_rows(5), {"transform_gen_v0.py": SPOKEN})
    assert prompts(folder)[0] == "sums_sums_gen 0 0+1="
    assert prompts(folder, shots=3)[0].endswith("sums_sums_gen 3 0+1=")


def test_draws_depend_on_seed_and_row_alone(free: Path, tmp_path: Path) -> None:
    whole = prompts(free, shots=3)
    assert prompts(free, shots=3) == whole
    assert prompts(free, shots=3, seed=1) != whole
    # Fewer rows to ask, in another order: the pool is the same file, so look at single samples.
    one = compile_only(free, shots=3)
    for number, sample in reversed(list(enumerate(one.task.samples()))):
        (request,) = one.task.requests(sample)
        assert isinstance(request.ask, Generate)
        assert request.ask.prompt == whole[number]


def test_a_row_and_its_twins_are_never_among_its_examples(tmp_path: Path) -> None:
    rows = [*free_rows(5), *free_rows(2), {**free_rows(1)[0], "answer": "another"}]
    folder = write_dataset(tmp_path, rows, {"transform_gen_v0.py": FREE})
    for prompt in prompts(folder, shots=4):
        *shots, question = prompt.split("\n\n")
        assert len(shots) == 4
        assert not any(shot.startswith(question) for shot in shots)
    with pytest.raises(AuthorError, match=r"ULTRAEVAL-008.*6 examples were requested, but only 5 rows"):
        compile_only(folder, shots=6)


def test_examples_can_come_from_another_file(free: Path, tmp_path: Path) -> None:
    other = tmp_path / "solved.jsonl"
    other.write_text('{"question": "7+7", "answer": "14"}\n{"question": "8+8", "answer": "16"}\n')
    first = prompts(free, shots=2, shots_from=str(other))[0]
    assert first == "Q: 7+7\nA: 14\n\nQ: 8+8\nA: 16\n\nQ: 0+1\nA:"


def test_a_run_knows_what_stood_in_the_file_of_examples(free: Path, tmp_path: Path) -> None:
    other = tmp_path / "solved.jsonl"

    def data_hash(answer: str) -> str:
        other.write_text(f'{{"question": "7+7", "answer": "{answer}"}}\n', encoding="utf-8")
        return compile_only(free, shots=1, shots_from=str(other)).task.spec.data_hash

    assert data_hash("14") == data_hash("14")
    assert data_hash("14") != data_hash("15")
    assert data_hash("14") != compile_only(free, shots=1).task.spec.data_hash


def original_prompts(rows: list[dict[str, Any]], k: int, seed: int, copies: int = 1) -> list[str]:
    """What the original's rules give, written down once more from the facts: see faithful mode."""
    rnd = random.Random(seed)
    made = []
    for row in rows:
        for _ in range(copies):
            head = ""
            if k:
                some = [one for one in rnd.sample(rows, k + 1) if one != row][:k]
                # The empty line at the end is there without any example, too.
                head = "\n\n".join(f"Q: {one['question']}\nA: {one['answer']}" for one in some) + "\n\n"
            made.append(f"{head}Q: {row['question']}\nA: ")
    return made


@given(n=st.integers(4, 9), k=st.integers(0, 3), seed=st.integers(0, 5), twins=st.integers(0, 2))
def test_faithful_draws_are_the_originals(
    tmp_path_factory: pytest.TempPathFactory, n: int, k: int, seed: int, twins: int
) -> None:
    rows = free_rows(n) + free_rows(twins)
    folder = write_dataset(tmp_path_factory.mktemp("x"), rows, {"transform_gen_v0.py": FREE})
    found = prompts(folder, shots=k, seed=seed, is_faithful=True)
    assert found == original_prompts(rows, k, seed)


def test_faithful_prompts_whose_examples_were_all_dropped_begin_with_an_empty_line(tmp_path: Path) -> None:
    rows = [free_rows(1)[0]] * 4
    folder = write_dataset(tmp_path, rows, {"transform_gen_v0.py": FREE})
    assert set(prompts(folder, shots=2, is_faithful=True)) == {"\n\nQ: 0+1\nA: "}
    described = {"description": "Add."}
    folder = write_dataset(
        tmp_path, rows, {"transform_gen_v0.py": FREE}, {"sums_gen.json": config(**described)}
    )
    assert set(prompts(folder, shots=2, is_faithful=True)) == {"Add.\n\n\n\nQ: 0+1\nA: "}
    assert set(prompts(folder, shots=0, is_faithful=True)) == {"Add.\n\nQ: 0+1\nA: "}


def test_faithful_samples_have_examples_of_their_own(free: Path) -> None:
    found = prompts(free, shots=2, seed=3, is_faithful=True, samples=2)
    assert found == original_prompts(free_rows(9), 2, 3, copies=2)
    assert len(prompts(free, shots=2, samples=2)) == 9


def test_faithful_scripts_that_draw_share_the_generator(tmp_path: Path) -> None:
    rows = free_rows(5)
    folder = write_dataset(tmp_path, rows, {"transform_gen_v0.py": DRAWING})
    rnd, expected = random.Random(0), []
    for row in rows:
        some = [one for one in rnd.sample(rows, 3) if one != row][:2]
        state = rnd.getstate()
        texts = []
        for one in some:
            texts.append(f"{rnd.randrange(10**6)} {one['question']}={one['answer']}\n\n")
            rnd.setstate(state)
        expected.append("".join(texts) + f"{rnd.randrange(10**6)} {row['question']}=")
    assert prompts(folder, shots=2, is_faithful=True) == expected


def test_a_script_that_fails_by_chance_is_reported_like_any_other(tmp_path: Path) -> None:
    lucky = DRAWING.replace("    text,", "    assert r.random() < 0.9\n    text,")
    folder = write_dataset(tmp_path, free_rows(12), {"transform_gen_v0.py": lucky})
    seed = next(seed for seed in range(999) if _compiles(folder, seed))
    with pytest.raises(AuthorError, match=r"ULTRAEVAL-005.*AssertionError"):
        compile_only(folder, shots=3, seed=seed, is_faithful=True)


def _compiles(folder: Path, seed: int) -> bool:
    try:
        compile_only(folder, seed=seed)
    except AuthorError:
        return False
    return True


def test_a_script_that_draws_does_so_by_row(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path, free_rows(6), {"transform_gen_v0.py": DRAWING})
    alone = prompts(folder)
    assert alone == prompts(folder)
    assert len({prompt.split()[0] for prompt in alone}) == 6
    # As an example a row looks as it does when it is asked.
    for prompt in prompts(folder, shots=2):
        *shots, _ = prompt.split("\n\n")
        for shot in shots:
            assert any(shot.startswith(other.split()[0]) for other in alone)


def test_options_alone_are_scored_on_request(choice: Path) -> None:
    (whole, *_), (alone, *_) = (
        list_requests(compile_only(choice, methods=("ppl",), **more)) for more in ({}, {"score_by": "sum"})
    )
    text = "Question 0? first 0"
    assert whole[0].ask == Span(text, 0, scores_first_token=False)
    # The space before an option belongs to it.
    assert alone[0].ask == Span(text, len("Question 0?"))
    assert [one.index for one in whole] == [0, 1, 2]


@pytest.mark.parametrize(
    ("postprocess", "normalised"),
    [("general_torch_ppl_norm", True), ("general_torch_ppl", False), ("", False)],
)
def test_a_config_can_ask_for_likelihoods_by_length(
    tmp_path: Path, postprocess: str, normalised: bool
) -> None:
    configs = {"sums_ppl.json": config(method="loglikelihood", postprocess=postprocess)}
    folder = write_dataset(tmp_path, choice_rows(2), {"transform_ppl_v0.py": PPL}, configs)
    (scorer,) = compile_only(folder, methods=("ppl",)).task.scorers()
    assert isinstance(scorer, ComponentSpec)
    assert scorer.name == "sentence_likelihood"
    assert scorer.args["normalised"] is normalised


@pytest.mark.parametrize("is_chat", [False, True])
def test_pmi_asks_for_the_scored_text_without_its_prompt(choice: Path, is_chat: bool) -> None:
    one = compile_only(choice, methods=("ppl",), score_by="pmi", shots=1, is_chat=is_chat)
    sample = next(iter(one.task.samples()))
    requests = one.task.requests(sample)
    assert [request.role for request in requests] == ["option", "unconditional"] * len(sample.choices)
    for option, alone in zip(requests[::2], requests[1::2], strict=True):
        assert isinstance(option.ask, Span)
        assert alone.ask == Span(final_text(option.ask.prompt)[option.ask.start :], 0)
        assert (option.n_shots, alone.n_shots) == (1, 0)


def test_a_chat_has_turns(choice: Path) -> None:
    one = compile_only(choice, methods=("gen", "prob", "ppl"), shots=1, is_chat=True)
    gen, prob, first, *_ = list_requests(one)[0]
    assert isinstance(gen.ask, Generate)
    assert [message.role for message in gen.ask.prompt if isinstance(message, Message)] == [
        "user",
        "assistant",
        "user",
    ]
    assert isinstance(prob.ask, Labels)
    assert prob.ask.prompt[-1] == Message("assistant", "(")
    assert isinstance(first.ask, Span)
    assert first.ask.prompt[-1] == Message("assistant", "first 0")
    assert first.ask.start == 0
    faithful = list_requests(compile_only(choice, is_chat=True, is_faithful=True))[0][0]
    assert isinstance(faithful.ask, Generate)
    assert isinstance(faithful.ask.prompt, str)


def test_spaces_at_the_end_are_kept_in_faithful_prompts(free: Path) -> None:
    assert prompts(free)[0] == "Q: 0+1\nA:"
    assert prompts(free, is_faithful=True)[0] == "Q: 0+1\nA: "


def test_fewer_examples_are_left_out_from_the_front(free: Path) -> None:
    one = compile_only(free, shots=3)
    sample = next(iter(one.task.samples()))
    (whole,), (less,) = one.task.requests(sample), one.task.requests(sample, shots=1)
    assert isinstance(whole.ask, Generate)
    assert isinstance(less.ask, Generate)
    assert str(whole.ask.prompt).endswith(str(less.ask.prompt))
    assert (less.n_shots, less.n_shots_left_out) == (1, 2)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("(A)", "A"), ("(B)", "B")], LetterForm("(", ")")),
        ([(" A", "A"), (" B", "B")], LetterForm(" ", "")),
        ([("A", "A")], LetterForm("", "")),
        ([("Answer: A", "A"), ("Answer: B", "B")], LetterForm("Answer: ", "")),
        ([("first", "A"), ("second", "B")], None),
        ([("(A)", "A"), ("(C)", "B")], None),
        ([], None),
    ],
)
def test_the_form_of_letters(pairs: list[tuple[str, str]], expected: LetterForm | None) -> None:
    assert infer_letter_form(pairs) == expected


def test_prob_needs_letters(tmp_path: Path) -> None:
    scripts = {"transform_gen_v0.py": GEN.replace('letter = f"({chr(65 + right)})"', 'letter = "it"')}
    folder = write_dataset(tmp_path, choice_rows(3), scripts)
    with pytest.raises(AuthorError, match=r"ULTRAEVAL-007.*is not a letter"):
        compile_only(folder, methods=("prob",))


def test_the_generator_is_seeded_when_it_is_used() -> None:
    assert not Generator().begin(0, "a").is_used
    one, other = Generator().begin(0, "a"), Generator().begin(0, "a")
    numbers = [one.random(), one.randrange(100), one.sample(range(50), 3)]
    assert one.is_used
    assert numbers == [other.random(), other.randrange(100), other.sample(range(50), 3)]
    assert one.begin(0, "b").random() != Generator().begin(0, "a").random()
    assert one.begin(0, "a").getstate() == Generator().begin(0, "a").getstate()
