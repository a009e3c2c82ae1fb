"""The datasets of examples/llmbox over real data: what is asked, and that all of it is scored.

The first row's prompts are kept in `prompts/llmbox` (fakes/kept_prompts.py). After a change that is meant,
`ASSAY_WRITE_PROMPTS=1` updates them; review the difference like any other.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from assay.app.datasets import compile_datasets
from assay.backends.mock import MockBackend
from assay.core.compilation import CompiledDataset
from assay.core.ids import digest
from assay.core.limit import Limit
from assay.core.prompt import Message, Prompt
from assay.core.request import Ask, Request
from assay.core.response import Completion, Response
from assay.core.task import ComponentSpec, TaskSettings
from assay.engine.multi_turn import MultiTurnRunner
from assay.scoring.originals.llmbox.author_metrics import AuthorLists
from cli import assay
from fakes.kept_prompts import blotted, check_kept, described, texts_in

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "llmbox"
PROMPTS = Path(__file__).parent / "prompts" / "llmbox"
ALL_METHODS = ("ppl", "prob", "gen")


class Example(NamedTuple):
    """A file of the folder, and the ways of asking it has."""

    name: str
    selection: str = ""
    methods: tuple[str, ...] = ("gen",)
    shots: tuple[int, ...] = (0, 2)
    cots: tuple[str | None, ...] = (None,)


KNOWN = (
    Example("arc", ":ARC-Easy", ALL_METHODS),
    Example("hellaswag", methods=ALL_METHODS),
    Example("winogrande", methods=("ppl",)),
    Example("mmlu", ":abstract_algebra", ALL_METHODS),
    Example("gsm8k", cots=(None, "base")),
    Example("bbh", ":boolean_expressions", cots=(None, "base")),
    Example("humaneval", shots=(0,)),
    Example("mt_bench", shots=(0,)),
    Example("xquad"),
    Example("ifeval", shots=(0,)),
)


def compiled(example: Example, data: Path, **settings: object) -> list[CompiledDataset]:
    return compile_datasets(
        (f"{EXAMPLES / example.name}.py{example.selection}",),
        TaskSettings(**settings),  # type: ignore[arg-type]  # what the test names
        given={},
        meta=None,
        data_root=str(data),
        split=None,
    )


def asks(one: CompiledDataset) -> list[Ask]:
    """Return what is asked about the first row."""
    return [request.ask for request in one.task.requests(next(one.task.samples()))]


def known(name: str) -> Example:
    return next(example for example in KNOWN if example.name == name)


# --- prompts as they were ---


def snapshot(example: Example, data: Path) -> str:
    parts = []
    own_texts = texts_in(EXAMPLES / f"{example.name}.py")
    for method in example.methods:
        for cot in example.cots:
            for shots in example.shots:
                for is_chat in (False, True):
                    (one,) = compiled(
                        example,
                        data,
                        methods=(method,),
                        shots=shots,
                        cot=cot,
                        is_chat=is_chat,
                        limit=Limit(1, "first"),
                    )
                    by = f"{method}, cot {cot}" if cot else method
                    shown = "\n".join(described(asks(one)))
                    form = "chat" if is_chat else "text"
                    parts.append(f"=== {by}, {shots} shots, {form}, {digest(shown)}")
                    parts.append(blotted(shown, own_texts))
    return "\n".join(parts) + "\n"


@pytest.mark.parametrize("example", KNOWN, ids=lambda example: example.name)
def test_the_first_row_is_asked_as_it_was(example: Example, shared_data: Path) -> None:
    check_kept(PROMPTS / f"{example.name}.txt", snapshot(example, shared_data))


def test_every_file_has_its_prompts_and_its_line_in_the_readme() -> None:
    files = {path.stem for path in EXAMPLES.glob("*.py")}
    assert files == {example.name for example in KNOWN}
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert {name for name in files if f"]({name}.py)" in text} == files
    assert {command[1] for command in commands()} == files


# --- the commands of the README ---


def commands() -> list[tuple[list[str], str]]:
    """Return the arguments of each command, and the file it is about."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    lines = [line.removeprefix("$ assay ") for line in text.splitlines() if line.startswith("$ assay ")]
    return [(shlex.split(line), re.findall(r"llmbox/(\w+)\.py", line)[0]) for line in lines]


@pytest.mark.parametrize(
    ("command", "name"),
    commands(),
    ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else value,
)
def test_every_sample_is_scored_on_the_mock_model(
    command: list[str], name: str, shared_data: Path, workdir: Path
) -> None:
    (workdir / "examples").symlink_to(ROOT / "examples")
    command = [str(shared_data) if word == "DATA" else word for word in command]
    # The mock is also the judge, and both say what a judge says.
    stand_in = ["-m", "mock", "--limit", "5", "--out", "run"]
    if "--judge" in command:
        stand_in += ["--judge", "mock", "--model-arg", "answer=Rating: [[7]]", "--model-arg", "chat=true"]
    result = assay(*command, *stand_in)
    assert result.status == 0, result.out + result.err
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert scores
    assert {score["verdict"] for score in scores} == {"scored"}
    manifest = json.loads((workdir / "run" / "manifest.json").read_text())
    assert len(scores) == sum(len(task["methods"]) * min(5, task["n_rows"]) for task in manifest["tasks"])


# --- built as the original builds its prompts ---


def first_prompt(one: CompiledDataset) -> str:
    prompt = asks(one)[0].prompt
    assert isinstance(prompt, str)
    return prompt


def test_gsm8k_repeats_its_instruction_and_parts_examples_by_an_empty_line(shared_data: Path) -> None:
    (one,) = compiled(known("gsm8k"), shared_data, shots=4, cot="base", limit=Limit(1, "first"))
    block = r"Answer the following question\.\n\nQuestion: [^\n]+\nAnswer:"
    solved = block + r" [^\n]+ So the answer is -?\d+\.\n\n"
    assert re.fullmatch(f"({solved}){{4}}{block}", first_prompt(one))
    # Fewer exemplars than shots: all are shown, with a note.
    (one,) = compiled(known("gsm8k"), shared_data, shots=8, cot="base", limit=Limit(1, "first"))
    assert re.fullmatch(f"({solved}){{4}}{block}", first_prompt(one))
    assert any("there are only 4 examples" in note for note in one.notes)


@pytest.mark.parametrize(
    ("ranking_type", "shows_options", "answer"),
    [("ppl_no_option", False, "0"), ("ppl", True, "A. 0"), ("prob", True, ""), ("generation", True, "")],
)
@pytest.mark.parametrize("shots", [0, 5])
def test_mmlu_shows_labels_and_options_by_the_way_of_ranking(
    shared_data: Path, ranking_type: str, shows_options: bool, answer: str, shots: int
) -> None:
    (one,) = compiled(
        known("mmlu"),
        shared_data,
        shots=shots,
        dataset_args={"ranking_type": ranking_type},
        limit=Limit(1, "first"),
    )
    head = "The following are multiple choice questions (with answers) about abstract algebra.\n\n"
    question = (
        "Question: Find the degree for the given field extension Q(sqrt(2), sqrt(3), sqrt(18)) over Q.\n"
    )
    options = "A. 0\nB. 4\nC. 2\nD. 6\n" if shows_options else ""
    *before, own = first_prompt(one).split(f"\n\n{head}")
    assert own.removeprefix(head) == f"{question}{options}Answer:{' ' + answer if answer else ''}"
    first = "Question: Find all c in Z_3 such that Z_3[x]/(x^2 + c) is a field.\n"
    shown = "A. 0\nB. 1\nC. 2\nD. 3\n" if shows_options else ""
    solved = {"ppl_no_option": "1", "ppl": "B. 1"}.get(ranking_type, "B")
    assert len(before) == shots
    # The five rows of dev in their own order.
    assert before[:1] in ([], [f"{head}{first}{shown}Answer: {solved}"])


class Listening(MockBackend):
    """A chat model that says the same to everything, and notes what it was shown."""

    def __init__(self) -> None:
        super().__init__("", {"answer": "well", "chat": "true"})
        self.shown: list[Prompt] = []

    def run(self, requests: Iterable[Request]) -> Iterator[Response]:
        def noted() -> Iterator[Request]:
            for request in requests:
                self.shown.append(request.ask.prompt)
                yield request

        return super().run(noted())


def test_mt_bench_asks_its_second_question_after_the_first_answer(shared_data: Path) -> None:
    (one,) = compiled(known("mt_bench"), shared_data, is_chat=True)
    sample, backend = next(one.task.samples()), Listening()
    (response,) = MultiTurnRunner(backend).run(one.task.requests(sample))
    first, second = (Message("user", turn) for turn in sample.fields["turns"])
    assert backend.shown == [(first,), (first, Message("assistant", "well"), second)]
    assert isinstance(response.outcome, Completion)
    assert response.outcome.outputs[0].turns == ("well", "well")


def test_bbh_makes_the_prompts_of_the_paper(shared_data: Path) -> None:
    example = Example("bbh")
    tasks = compiled(example, shared_data, shots=3, cot="base", limit=Limit(1, "first"))
    assert len(tasks) == 27
    for one in tasks:
        sample = next(one.task.samples())
        task = one.task.spec.name.removeprefix("bbh:")
        text = (shared_data / "bbh" / "cot-prompts" / f"{task}.txt").read_text(encoding="utf-8")
        published = text.partition("-----\n")[2].strip()
        question = f"\n\nQ: {sample.fields['input']}\nA: Let's think step by step."
        assert first_prompt(one) == published + question


# --- answers as they are judged ---


def lists_of(one: CompiledDataset) -> AuthorLists:
    """Return the author's side of scoring."""
    (named,) = one.task.scorers()
    assert isinstance(named, ComponentSpec)
    author: AuthorLists = named.args["author"]
    return author


def test_gsm8k_judges_real_solutions_as_their_authors_did(shared_data: Path) -> None:
    (one,) = compiled(known("gsm8k"), shared_data)
    author = lists_of(one)
    lines = (shared_data / "gsm8k" / "example_model_solutions.jsonl").read_text(encoding="utf-8").splitlines()
    solved = {row["question"]: row for row in map(json.loads, lines)}
    rows = [solved[sample.fields["question"]] for sample in one.task.samples()]
    models = [key for key in rows[0] if isinstance(rows[0][key], dict)]
    assert len(models) == 4
    for model in models:
        answers = author.predictions([(row[model]["solution"],) for row in rows])
        judged = [answer == right for answer, right in zip(answers, author.references(), strict=True)]
        assert judged == [row[model]["is_correct"] for row in rows]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" We sort them.\nSo the answer is arson aspect newt.", "arson aspect newt"),
        ("So the answer is ] } ].", "] } ]"),
        ("I think the answer is: (B)", "(B)"),
        (" False\n\nmore", "False"),
        ("-219.", "-219"),
    ],
)
def test_bbh_finds_answers_of_every_kind(shared_data: Path, text: str, answer: str) -> None:
    (one,) = compiled(known("bbh"), shared_data, limit=Limit(1))
    assert lists_of(one).predictions([(text,)]) == [answer]


def test_humaneval_passes_its_own_solutions_written_on_or_written_whole(shared_data: Path) -> None:
    (one,) = compiled(known("humaneval"), shared_data, limit=Limit(12, "first"))
    author = lists_of(one)
    (metric,) = author.metrics
    rows = [sample.fields for sample in one.task.samples()]
    solutions = [row["canonical_solution"] for row in rows]
    whole = [f"```python\n{row['prompt']}{row['canonical_solution']}```\nDone." for row in rows]
    wrong = ["    return None\n" for _ in rows]
    for texts, share in ((solutions, 100.0), (whole, 100.0), (wrong, 0.0)):
        predictions = author.predictions([(text,) for text in texts])
        assert metric(predictions, author.references()) == {"pass@1": share}
