"""The collection of examples/leap over real data: what is asked, which answer is right, that all is scored.

The first document's prompts are kept in `prompts/leap` (fakes/kept_prompts.py). After a change that is meant,
`ASSAY_WRITE_PROMPTS=1` updates them; review the difference like any other.
"""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assay.app.datasets import compile_datasets
from assay.core.compilation import CompiledDataset
from assay.core.ids import digest
from assay.core.limit import Limit
from assay.core.prompt import final_text
from assay.core.request import Ask, Generate, Span
from assay.core.task import TaskSettings
from cli import assay
from fakes.kept_prompts import blotted, check_kept, described, texts_in

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "leap"
PROMPTS = Path(__file__).parent / "prompts" / "leap"


class Example(NamedTuple):
    """A dataset of the collection, and the ways of asking it has."""

    name: str
    file: str
    methods: tuple[str, ...] = ("ppl", "prob")


KNOWN = (
    Example("klue_ynat", "klue"),
    Example("klue_sts", "klue"),
    Example("korsts", "kornlu"),
    Example("kornli", "kornlu"),
    Example("xquad", "xquad", ("gen",)),
)
NAMES = [example.name for example in KNOWN]


def compiled(name: str, data: Path, **settings: object) -> CompiledDataset:
    (one,) = compile_datasets(
        (f"{EXAMPLES}:{name}",),
        TaskSettings(**settings),  # type: ignore[arg-type]  # what the test names
        given={},
        meta=None,
        data_root=str(data),
        split=None,
    )
    return one


def asks_of(one: CompiledDataset) -> Iterator[list[Ask]]:
    """Yield what is asked about each document."""
    for sample in one.task.samples():
        yield [request.ask for request in one.task.requests(sample)]


# --- the rows, read without the classes ---


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tab_separated(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


class Row(NamedTuple):
    """A question with its answer, as the document's examples would write them."""

    question: str
    answer: str


TOPICS = ("과학", "경제", "사회", "생활", "세계", "스포츠", "정치")
RELATIONS = {"entailment": " 참", "neutral": " 중립", "contradiction": " 모순"}


def ynat_rows(data: Path) -> list[Row]:
    rows = json_lines(data / "klue" / "ynat" / "validation.json")
    return [Row(row["title"], f" ({TOPICS[row['label']]})") for row in rows]


def nli_rows(data: Path, split: str) -> list[Row]:
    rows = tab_separated(data / "kor_nlu" / "KorNLI" / f"xnli.{split}.ko.tsv")
    return [
        Row(
            f"전제: {row['sentence1'].strip()}\n가설: {row['sentence2'].strip()}\n관계:",
            RELATIONS[row["gold_label"]],
        )
        for row in rows
    ]


def xquad_rows(data: Path) -> list[Row]:
    articles = json.loads((data / "xquad" / "xquad.en.json").read_text(encoding="utf-8"))["data"]
    return [
        Row(
            f"Passage: {paragraph['context']}\nQuestion: {question['question'].strip()}\nAnswer:",
            f" {question['answers'][0]['text']}",
        )
        for article in articles
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]


ROWS: dict[str, Callable[[Path], list[Row]]] = {
    "klue_ynat": ynat_rows,
    "kornli": lambda data: nli_rows(data, "test"),
    "xquad": xquad_rows,
}
"""The datasets whose texts stand in a prompt as they stand in the file."""
LEADS = {
    "kornli": "전제를 읽고 가설이 참인지, 중립인지, 모순인지 답하세요.\n\n",
    "xquad": "Answer each question with a few words of its passage.\n\n",
}


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_asked_as_the_class_says_with_its_right_answer(name: str, shared_data: Path) -> None:
    one = compiled(name, shared_data, shots=0)
    rows = ROWS[name](shared_data)
    samples = list(one.task.samples())
    assert len(samples) == len(rows)
    for sample, asks, row in zip(samples, asks_of(one), rows, strict=True):
        context = LEADS.get(name, "") + row.question
        if sample.choices:
            assert [final_text(ask.prompt) for ask in asks] == [f"{context} {one}" for one in sample.choices]
            assert [sample.choices[right] for right in sample.gold] == [row.answer.strip()]
        else:
            (ask,) = asks
            assert isinstance(ask, Generate)
            assert (ask.prompt, ask.sampling.stop) == (context, ("\n",))
            assert sample.targets == (row.answer.strip(),)


@pytest.mark.parametrize("name", ["klue_sts", "korsts"])
def test_pairs_of_sentences_are_asked_as_in_the_document(name: str, shared_data: Path) -> None:
    if name == "klue_sts":
        raw = json_lines(shared_data / "klue" / "sts" / "validation.json")
        same = [row["labels"]["binary-label"] == 1 for row in raw]
    else:
        raw = tab_separated(shared_data / "kor_nlu" / "KorSTS" / "sts-test.tsv")
        same = [float(row["score"]) >= 3 for row in raw]
    samples = list((one := compiled(name, shared_data, shots=0)).task.samples())
    assert [sample.gold for sample in samples] == [(int(is_same),) for is_same in same]
    marks = re.compile(r"[\s'\".,()]|n't")
    for asks, row in zip(asks_of(one), raw, strict=True):
        found = [
            re.fullmatch(r"문장1: (.*)\n문장2: (.*)\n정답:( 다름| 같음)", final_text(ask.prompt))
            for ask in asks
        ]
        assert [match and match[3] for match in found] == [" 다름", " 같음"]
        # Blanks beside marks are taken away, and nothing else.
        for match in found:
            assert match is not None
            shown = [marks.sub("", match[number]) for number in (1, 2)]
            assert shown == [marks.sub("", row["sentence1"]), marks.sub("", row["sentence2"])]


# --- the original's draws ---


def faithful_texts(rows: list[Row], pool: list[Row], n_shots: int, *, is_training: bool) -> Iterator[str]:
    """Yield the contexts of the first documents as the original makes them: one generator serves all."""
    generator = random.Random(42)
    order = list(rows)
    generator.shuffle(order)
    for row in order[:20]:
        drawn = generator.sample(pool, n_shots if is_training else n_shots + 1)
        shown = drawn if is_training else [one for one in drawn if one != row][:n_shots]
        yield "".join(f"{one.question}{one.answer}\n\n" for one in shown) + row.question


@pytest.mark.parametrize(("name", "n_shots"), [("klue_ynat", 5), ("kornli", 3), ("xquad", 1)])
def test_faithful_prompts_are_those_of_the_original(name: str, n_shots: int, shared_data: Path) -> None:
    rows = ROWS[name](shared_data)
    pool = nli_rows(shared_data, "dev") if name == "kornli" else rows
    expected = [LEADS.get(name, "") + text for text in faithful_texts(rows, pool, n_shots, is_training=False)]
    one = compiled(name, shared_data, is_faithful=True, limit=Limit(20, "first"))
    for asks, context in zip(asks_of(one), expected, strict=True):
        texts = [final_text(ask.prompt) for ask in asks]
        assert all(text.startswith(context) for text in texts)
        assert isinstance(asks[0], Span) or texts == [context]


def test_korsts_draws_its_examples_from_the_training_rows(shared_data: Path) -> None:
    raw = tab_separated(shared_data / "kor_nlu" / "KorSTS" / "sts-train.tsv")
    training = {re.sub(r"[\s'\".,()]", "", row["sentence1"] + row["sentence2"]) for row in raw}
    one = compiled("korsts", shared_data, limit=Limit(50))
    for asks in asks_of(one):
        *solved, _ = final_text(asks[0].prompt).split("\n\n")
        assert len(solved) == 2
        for text in solved:
            match = re.fullmatch(r"문장1: (.*)\n문장2: (.*)\n정답: (?:다름|같음)", text)
            assert match is not None
            assert re.sub(r"[\s'\".,()]", "", match[1] + match[2]) in training


# --- prompts as they were ---


def snapshot(example: Example, data: Path) -> str:
    own_texts = texts_in(EXAMPLES / f"{example.file}.py")
    parts = []
    for method in example.methods:
        for shots in (0, None):
            for form in ("text", "chat", "faithful"):
                one = compiled(
                    example.name,
                    data,
                    methods=(method,),
                    shots=shots,
                    is_chat=form == "chat",
                    is_faithful=form == "faithful",
                    limit=Limit(1, "first"),
                )
                shown = "\n".join(described(next(asks_of(one))))
                n_shots = one.task.spec.settings["shots"]
                parts.append(f"=== {method}, {n_shots} shots, {form}, {digest(shown)}")
                parts.append(blotted(shown, own_texts))
    return "\n".join(parts) + "\n"


@pytest.mark.parametrize("example", KNOWN, ids=lambda example: example.name)
def test_the_first_document_is_asked_as_it_was(example: Example, shared_data: Path) -> None:
    check_kept(PROMPTS / f"{example.name}.txt", snapshot(example, shared_data))


# --- the README ---


def commands() -> list[list[str]]:
    """Return the arguments of each command."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    return [shlex.split(line) for line in re.findall(r"^\$ assay (.*)$", text, re.MULTILINE)]


def meant(dataset: str) -> set[str]:
    """Return the datasets that a command of the README names."""
    return {
        "examples/leap": set(NAMES),
        "examples/leap:klue_ynat,korsts": {"klue_ynat", "korsts"},
        "examples/leap/klue.py::STS": {"klue_sts"},
        "examples/leap:kor*": {"korsts", "kornli"},
        "examples/leap/xquad.py": {"xquad"},
    }[dataset]


def test_the_readme_names_every_file_and_the_registry_every_dataset() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f"]({path.name})" in text
    for name in NAMES:
        assert f"`{name}`" in text
    assert {name for command in commands() for name in meant(command[1])} == set(NAMES)


@pytest.mark.parametrize("command", commands(), ids=lambda command: " ".join(command[:2]))
def test_every_document_is_scored_on_the_mock_model(
    command: list[str], shared_data: Path, workdir: Path
) -> None:
    (workdir / "examples").symlink_to(ROOT / "examples")
    command = [str(shared_data) if word == "DATA" else word for word in command]
    if command[0] == "check":
        result = assay(*command)
        assert result.status == 0, result.out + result.err
        assert "5 datasets: 5 ok" in result.out
        return
    result = assay(*command, "-m", "mock", "--limit", "5", "--out", "run")
    assert result.status == 0, result.out + result.err
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert {score["verdict"] for score in scores} == {"scored"}
    manifest = json.loads((workdir / "run" / "manifest.json").read_text())
    assert {task["name"] for task in manifest["tasks"]} == meant(command[1])
    assert len(scores) == sum(len(task["methods"]) * 5 for task in manifest["tasks"])


def test_the_registry_decides_which_metric_comes_first(shared_data: Path, workdir: Path) -> None:
    result = assay(
        "run", str(EXAMPLES), "--data-root", str(shared_data), "-m", "mock", "--limit", "9", "--out", "run"
    )
    assert result.status == 0, result.err
    summary = json.loads((workdir / "run" / "summary.json").read_text())
    first: dict[str, str] = {}
    for metric in summary:
        first.setdefault(metric["task"], metric["metric"])
    expected = {"klue_ynat": "macro_f1", "klue_sts": "acc", "korsts": "acc", "kornli": "acc", "xquad": "f1"}
    assert {name: first[name] for name in NAMES} == expected
