"""The datasets of examples/ultraeval over real data: what is prepared, asked and scored.

The first row's prompts are kept in `prompts/ultraeval` (fakes/kept_prompts.py). After a change that is meant,
`ASSAY_WRITE_PROMPTS=1` updates them; review the difference like any other.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assay.app.datasets import compile_datasets
from assay.core.compilation import CompiledDataset
from assay.core.ids import digest
from assay.core.request import Ask, Generate, Span
from assay.core.task import TaskSettings
from cli import assay
from fakes.kept_prompts import blotted, check_kept, described, texts_in
from fakes.ultraeval_examples import EXAMPLES, NAMES, prepared_examples

PROMPTS = Path(__file__).parent / "prompts" / "ultraeval"


class Example(NamedTuple):
    """A dataset folder, and the ways of asking it has."""

    name: str
    selection: str = ""
    versions: tuple[tuple[str, str], ...] = (("gen", "v0"), ("ppl", "v0"))
    """Methods, each with the version of the transform."""
    shots: tuple[int, ...] = (0, 2)


KNOWN = (
    Example("arc", ":easy", (("gen", "v0"), ("gen", "v1"), ("prob", "v0"), ("prob", "v1"), ("ppl", "v0"))),
    Example("boolq"),
    Example("gsm8k", "", (("gen", "v0"),), (0, 4)),
    Example("hellaswag", "", (("gen", "v0"), ("prob", "v0"), ("ppl", "v0"))),
    Example("mmlu", ":abstract-algebra", (("gen", "v0"), ("prob", "v0")), (0, 5)),
)


@pytest.fixture(scope="session")
def datasets(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_examples(tmp_path_factory.mktemp("ultraeval"), shared_data)


def compiled(name: str, **settings: object) -> list[CompiledDataset]:
    return compile_datasets(
        (name,),
        TaskSettings(**settings),  # type: ignore[arg-type]  # what the test names
        given={},
        meta=None,
        data_root=None,
        split=None,
    )


def first_asks(one: CompiledDataset) -> list[Ask]:
    return [request.ask for request in one.task.requests(next(one.task.samples()))]


# --- rows as they are prepared ---


def raw_rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def right_texts(data: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the file, the question and the right option of every raw row that has options."""
    for task in ("easy", "challenge"):
        for raw in raw_rows(data / "arc" / f"ARC-{task.capitalize()}" / "validation.jsonl"):
            at = raw["choices"]["label"].index(raw["answerKey"])
            yield f"arc/data/{task}", raw["question"], raw["choices"]["text"][at]
    for raw in raw_rows(data / "boolq" / "validation.jsonl"):
        yield "boolq/data/boolq", raw["question"], "yes" if raw["answer"] is True else "no"
    for raw in raw_rows(data / "hellaswag" / "validation.jsonl"):
        yield "hellaswag/data/hellaswag", raw["ctx_b"], raw["endings"][int(raw["label"])]
    for path in sorted((data / "mmlu" / "test").iterdir()):
        subject = path.stem.removesuffix("_test").replace("_", "-")
        for raw in raw_rows(path):
            options = [raw[f"choice{i}"] for i in range(4)]
            if len(set(options)) == 4:
                yield f"mmlu/data/{subject}", raw["question"], options[int(raw["answer"])]


def test_every_raw_row_is_there_with_its_right_option(datasets: Path, shared_data: Path) -> None:
    expected: dict[str, list[tuple[str, str]]] = {}
    for file, question, right in right_texts(shared_data):
        expected.setdefault(file, []).append((question, right))
    assert sum(map(len, expected.values())) == 570 + 299 + 1000 + 2000 + 14_042 - 9
    for file, wanted in expected.items():
        rows = raw_rows(datasets / f"{file}.jsonl")
        found = [
            (row["question"], option)
            for row in rows
            for option, score in row["target_scores"].items()
            if score == 1
        ]
        assert found == wanted, file


def test_gsm8k_asks_for_the_number_and_shows_the_solution(datasets: Path, shared_data: Path) -> None:
    (one,) = compiled(str(datasets / "gsm8k"), shots=0)
    raw = raw_rows(shared_data / "gsm8k" / "test.jsonl")
    samples = list(one.task.samples())
    assert [sample.fields["question"] for sample in samples] == [row["question"] for row in raw]
    numbers = [row["answer"].rpartition("#### ")[2].replace(",", "") for row in raw]
    assert [sample.targets for sample in samples] == [(number,) for number in numbers]


# --- what is asked ---


def snapshot(example: Example, datasets: Path) -> str:
    folder = datasets / example.name
    own_texts = {text for script in folder.glob("transform*.py") for text in texts_in(script)}
    if example.name == "boolq":
        own_texts |= {"yes", "no"}
    own_texts |= {json.loads(path.read_bytes())["description"] for path in folder.glob("config/*.json")}
    parts = []
    for method, version in example.versions:
        for shots in example.shots:
            for is_chat in (False, True):
                (one,) = compiled(
                    f"{folder}{example.selection}",
                    methods=(method,),
                    shots=shots,
                    is_chat=is_chat,
                    dataset_args={"transform": version},
                )
                shown = "\n".join(described(first_asks(one)))
                form = "chat" if is_chat else "text"
                parts.append(f"=== {method} {version}, {shots} shots, {form}, {digest(shown)}")
                parts.append(blotted(shown, own_texts))
    return "\n".join(parts) + "\n"


@pytest.mark.parametrize("example", KNOWN, ids=lambda example: example.name)
def test_the_first_row_is_asked_as_it_was(example: Example, datasets: Path) -> None:
    check_kept(PROMPTS / f"{example.name}.txt", snapshot(example, datasets))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fidelity", ["corrected", "faithful"])
def test_every_row_can_be_asked(name: str, fidelity: str, datasets: Path) -> None:
    methods = ("gen", "ppl") if any((datasets / name).glob("transform_ppl*")) else ("gen",)
    for one in compiled(str(datasets / name), methods=methods, is_faithful=fidelity == "faithful"):
        for sample in one.task.samples():
            asks = [request.ask for request in one.task.requests(sample)]
            wanted = [Generate, *([Span] * len(sample.choices) if "ppl" in methods else [])]
            assert [type(ask) for ask in asks] == wanted


def test_mmlu_shows_five_solved_rows_after_its_description(datasets: Path) -> None:
    (one,) = compiled(f"{datasets / 'mmlu'}:anatomy", methods=("gen",))
    (ask,) = first_asks(one)
    assert isinstance(ask, Generate)
    assert isinstance(ask.prompt, str)
    block = r"Question: [^\n]+\nA\. [^\n]+\nB\. [^\n]+\nC\. [^\n]+\nD\. [^\n]+\nAnswer:"
    description = "Questions about anatomy with four options. Answer with the letter of the right one."
    assert re.fullmatch(rf"{re.escape(description)}\n\n({block} [A-D]\n\n){{5}}{block}", ask.prompt)


def test_hellaswag_compares_sentences_per_token_and_arc_as_wholes(datasets: Path) -> None:
    (one,) = compiled(str(datasets / "hellaswag"), methods=("ppl",))
    (scorer,) = one.task.scorers()
    assert "'normalised': True" in repr(scorer)
    (other,) = compiled(f"{datasets / 'arc'}:easy", methods=("ppl",))
    assert "'normalised': False" in repr(other.task.scorers()[0])


# --- the README ---


def commands() -> list[tuple[list[str], str]]:
    """Return the arguments of each run, and the dataset it is about."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    lines = [line.removeprefix("$ assay ") for line in text.splitlines() if line.startswith("$ assay run ")]
    return [(shlex.split(line), re.findall(r"datasets/(\w+)", line)[0]) for line in lines]


def test_all_data_is_prepared_by_one_command(datasets: Path, workdir: Path) -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^\$ assay (prepare .*)$", text, re.MULTILINE)
    (workdir / "examples").symlink_to(datasets.parents[1])
    result = assay(*shlex.split(line))
    assert result.status == 0, result.out + result.err
    for name in NAMES:
        assert re.search(rf"^ok +{name} ", result.out, re.MULTILINE)


def test_every_folder_has_its_prompts_and_its_line_in_the_readme() -> None:
    assert [example.name for example in KNOWN] == NAMES
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"](datasets/{name})" in text] == NAMES
    assert {name for _, name in commands()} == set(NAMES)


@pytest.mark.parametrize(
    ("command", "name"),
    commands(),
    ids=lambda value: (
        " ".join(value[1:]).replace("examples/ultraeval/datasets/", "") if isinstance(value, list) else value
    ),
)
def test_every_sample_is_scored_on_the_mock_model(
    command: list[str], name: str, datasets: Path, workdir: Path
) -> None:
    (workdir / "examples").symlink_to(datasets.parents[1])
    result = assay(*command, "-m", "mock", "--limit", "5", "--out", "run")
    assert result.status == 0, result.out + result.err
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert {score["verdict"] for score in scores} <= {"scored", "unanswered"}
    manifest = json.loads((workdir / "run" / "manifest.json").read_text())
    assert len(scores) == sum(len(task["methods"]) * 5 for task in manifest["tasks"])
