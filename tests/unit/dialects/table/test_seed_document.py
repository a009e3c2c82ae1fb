"""The original's custom-dataset document: every format, meta file and command it shows works."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assay.app.datasets import locate
from assay.core.prompt import Message
from assay.core.request import Generate, Labels, Span
from assay.core.task import TaskSettings
from assay.dialects.table.compile import CompiledTable, compile_table


def blocks(seeds: Path, language: str) -> list[str]:
    text = (seeds / "opencompass.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def compiled(path: Path, **settings: object) -> CompiledTable:
    return compile_table(str(path), TaskSettings(**settings))  # type: ignore[arg-type]


@pytest.fixture
def tables(seeds: Path, tmp_path: Path) -> dict[str, Path]:
    """Return the document's four tables as files."""
    made = {}
    for suffix in ("jsonl", "csv"):
        for kind, block in zip(("mcq", "qa"), blocks(seeds, suffix), strict=True):
            path = tmp_path / f"test_{kind}.{suffix}"
            path.write_text(block, encoding="utf-8")
            made[f"{kind}.{suffix}"] = path
    return made


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_kind_and_method_are_found_without_flags(tables: dict[str, Path], suffix: str) -> None:
    mcq, qa = compiled(tables[f"mcq.{suffix}"]), compiled(tables[f"qa.{suffix}"])
    assert (mcq.survey.layout.data_type, qa.survey.layout.data_type) == ("mcq", "qa")
    assert mcq.task.spec.methods == qa.task.spec.methods == ("gen",)
    assert (mcq.task.spec.name, mcq.survey.n_rows, qa.survey.n_rows) == ("test_mcq", 4, 4)
    assert [sample.gold for sample in mcq.task.samples()] != []
    assert all(len(sample.targets) == 1 for sample in qa.task.samples())


PROMPT = "Question: 127+545+588+620+556+199=\nA. 2632\nB. 2635\nC. 2645\nAnswer:"


def test_mcq_prompts(tables: dict[str, Path]) -> None:
    task = compiled(tables["mcq.csv"], methods=("ppl", "prob", "gen")).task
    requests = task.requests(next(task.samples()))
    options = [request.ask for request in requests if request.role == "option"]
    assert options == [Span(f"{PROMPT} {label}", len(PROMPT)) for label in "ABC"]
    assert {request.role for request in requests if request.track == "ppl"} == {"option"}
    (labels,) = [request.ask for request in requests if request.track == "prob"]
    assert labels == Labels(PROMPT, ((" A", "A"), (" B", "B"), (" C", "C")))
    (answer,) = [request.ask for request in requests if request.track == "gen"]
    assert isinstance(answer, Generate)
    assert answer.prompt == PROMPT
    assert answer.sampling.stop == ("\nQuestion:",)


def test_only_pmi_asks_for_options_without_their_question(tables: dict[str, Path]) -> None:
    task = compiled(tables["mcq.csv"], methods=("ppl",), score_by="pmi").task
    requests = task.requests(next(task.samples()))
    alone = [request.ask for request in requests if request.role == "unconditional"]
    assert alone == [Span(f" {label}", 0) for label in "ABC"]
    for score_by in ("sum", "per_token", "per_char", "per_byte"):
        task = compiled(tables["mcq.csv"], methods=("ppl",), score_by=score_by).task
        assert {request.role for request in task.requests(next(task.samples()))} == {"option"}


def test_mcq_prompts_for_a_chat_model(tables: dict[str, Path]) -> None:
    task = compiled(tables["mcq.csv"], methods=("ppl", "gen"), is_chat=True).task
    requests = task.requests(next(task.samples()))
    user = Message("user", PROMPT.removesuffix("\nAnswer:"))
    assert requests[0].ask == Span((user, Message("assistant", "Answer: A")), len("Answer:"))
    assert isinstance(requests[-1].ask, Generate)
    assert requests[-1].ask.prompt == (user,)
    assert requests[-1].ask.sampling.stop == ()


def test_qa_prompt_is_the_question(tables: dict[str, Path]) -> None:
    task = compiled(tables["qa.jsonl"]).task
    (request,) = task.requests(next(task.samples()))
    assert request.ask.prompt == "752+361+181+933+235+986="


def test_faithful_prompts_are_the_originals(tables: dict[str, Path]) -> None:
    task = compiled(tables["mcq.csv"], methods=("ppl", "gen"), is_faithful=True).task
    requests = task.requests(next(task.samples()))
    assert [request.ask for request in requests[:3]] == [
        Span(f"{PROMPT} {label}", 0, scores_first_token=False) for label in "ABC"
    ]
    assert requests[3].ask.prompt == f"{PROMPT} "


def test_the_first_meta_example(seeds: Path, tables: dict[str, Path]) -> None:
    path = tables["mcq.csv"]
    path.with_name("test_mcq.csv.meta.json").write_text(blocks(seeds, "json")[0], encoding="utf-8")
    task = compiled(path, methods=("ppl", "gen")).task
    requests = task.requests(list(task.samples())[1])
    answer = requests[-1].ask
    assert isinstance(answer.prompt, str)
    assert answer.prompt.startswith("Question: 127 + 545 + 588 + 620 + 556 + 199 =\nA. 2632\n")
    assert answer.prompt.endswith("Question: 735+603+102+335+605=\nA. 2376\nB. 2380\nC. 2410\nAnswer:")
    # The bot's turn is separate, so there is a line break between the prompt and the label.
    assert requests[0].ask.prompt == answer.prompt + " \nA"


def test_the_second_meta_example(seeds: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(
        '{"my_question": "2+2=", "X": "3", "Y": "4", "Z": "5", "W": "6", "my_answer": "Y"}\n',
        encoding="utf-8",
    )
    path.with_name("mine.jsonl.meta.json").write_text(blocks(seeds, "json")[1], encoding="utf-8")
    one = compiled(path, methods=("ppl", "prob", "gen"))
    (sample,) = one.task.samples()
    assert (sample.labels, sample.choices, sample.gold) == (("X", "Y", "Z", "W"), ("3", "4", "5", "6"), (1,))
    assert any("comma" in note for note in one.notes)
    prompt = "Question: 2+2=\nX. 3\nY. 4\nZ. 5\nW. 6\nAnswer:"
    requests = one.task.requests(sample)
    assert requests[0].ask == Span(f"{prompt} X", len(prompt))
    assert requests[-1].ask.prompt == prompt


def test_the_config_example(seeds: Path, tables: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = [text for text in blocks(seeds, "python") if "datasets" in text]
    folder = tables["mcq.csv"].parent
    (folder / "xxx").mkdir()
    for path in list(tables.values()):
        path.rename(folder / "xxx" / path.name)
    (folder / "eval_custom.py").write_text(block, encoding="utf-8")
    monkeypatch.chdir(folder)
    found = locate("eval_custom.py", None, None)
    assert [(one.path, one.given.data_type, one.given.infer_method) for one in found] == [
        ("xxx/test_mcq.csv", "mcq", "ppl"),
        ("xxx/test_qa.jsonl", "qa", "gen"),
    ]


def test_options_may_be_among_the_input_columns(tmp_path: Path) -> None:
    """A meta file like the document's second example lists the options in `input_columns`."""
    rows = [("Y", "n0"), ("X", "n1"), ("Y", "n2")]
    for names in ("ABC", "XYZ", ("the first", "the second", "the third")):
        path = tmp_path / "mine.jsonl"
        lines = [
            {
                "stem": text,
                **dict(zip(names, ("tin", "rye", "wool"), strict=True)),
                "key": names["XY".index(key)],
            }
            for key, text in rows
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        meta = {"template": "{stem}", "input_columns": ["stem", *names], "output_column": "key"}
        path.with_name("mine.jsonl.meta.json").write_text(json.dumps(meta), encoding="utf-8")
        samples = list(compiled(path, methods=("gen",)).task.samples())
        assert [sample.choices for sample in samples] == [
            ("tin", "rye", "wool")[: 2 if " " in names[0] else 3]
        ] * 3
        assert [sample.gold for sample in samples] == [(1,), (0,), (1,)]
