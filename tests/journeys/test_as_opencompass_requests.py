"""`assay as opencompass --fidelity faithful` beside what OpenCompass 0.5.4 was seen to send and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.openai_server import saying, serving

CONFIG = """
from opencompass.models import {kind}
from opencompass.openicl.icl_evaluator import AccEvaluator, AccwithDetailsEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer, PPLInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever, ZeroRetriever
from sums import DetailedEvaluator, SumsDataset

TURNS = [dict(role="HUMAN", prompt="Q: {question}"), dict(role="BOT", prompt="A: {answer}")]
models = [dict(type={kind}, abbr="m", {model})]


def entry(abbr, evaluator, reader=dict(), **more):
    return dict(
        abbr=abbr, type=SumsDataset, path="",
        reader_cfg=dict(input_columns=["question"], output_column="answer", **reader),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template=dict(round=TURNS)),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer, stopping_criteria=["\\n"], temperature=0.4),
        ),
        eval_cfg=dict(evaluator=dict(type=evaluator)), **more,
    )


datasets = [{datasets}]
"""
CODE = """
from datasets import Dataset, DatasetDict

from opencompass.datasets.base import BaseDataset
from opencompass.openicl.icl_evaluator import BaseEvaluator


class SumsDataset(BaseDataset):
    @staticmethod
    def load(path):
        rows = [dict(question=f"{n}+1=", answer=str(n + 1), A=str(n + 1), B="9") for n in range(4)]
        return DatasetDict(train=Dataset.from_list(rows[:2]), test=Dataset.from_list(rows))


class DetailedEvaluator(BaseEvaluator):
    def score(self, predictions, references):
        details = [dict(said=p, wanted=r, correct=p == r) for p, r in zip(predictions, references)]
        return dict(share=100 * sum(one["correct"] for one in details) / len(details), details=details)
"""
SHOTS = """dict(
    abbr="shots", type=SumsDataset, path="",
    reader_cfg=dict(input_columns=["question"], output_column="answer", test_range="[2:]"),
    infer_cfg=dict(
        ice_template=dict(
            type=PromptTemplate, template="</E>Q: {question}\\nA: {answer}", ice_token="</E>"
        ),
        prompt_template=dict(
            type=PromptTemplate, ice_token="</E>",
            template={one: "Add.\\n</E>Q: {question}\\nA: {" + one + "}" for one in "AB"},
        ),
        retriever=dict(type=FixKRetriever, fix_id_list=[0, 1]), inferencer=dict(type=PPLInferencer),
    ),
    eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
)"""


@pytest.fixture(autouse=True)
def _code(workdir: Path, empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (workdir / "sums.py").write_text(CODE, encoding="utf-8")


def run(datasets: str, model: str, kind: str = "Assay", status: int = 0) -> Path:
    text = CONFIG.replace("{kind}", kind).replace("{model}", model).replace("{datasets}", datasets)
    Path("run.py").write_text(text, encoding="utf-8")
    result = assay("as", "opencompass", "run.py", "--fidelity", "faithful", "--no-cache")
    assert result.status == status, result.err
    return sorted(Path("outputs/default").iterdir())[-1]


def read(folder: Path, kind: str, name: str) -> Any:
    return json.loads((folder / kind / "m" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("kind", "message", "sent"),
    [
        ("OpenAISDK", "", {"n": 1, "temperature": None, "max_tokens": 33}),
        (
            "OpenAISDK",
            "temperature=0.2, extra_body=dict(top_k=5, ignore_eos=False), "
            "openai_extra_kwargs=dict(top_p=0.9)",
            {"n": 1, "temperature": 0.2, "top_k": 5, "ignore_eos": False, "top_p": 0.9, "max_tokens": 33},
        ),
        ("OpenAISDKStreaming", "", {"n": 1, "temperature": 0.7, "stream": True, "max_tokens": 33}),
        (
            "OpenAI",
            "",
            {
                **{"n": 1, "temperature": 0.7, "max_tokens": 33},
                **{"stop": None, "logprobs": False, "top_logprobs": None},
            },
        ),
        ("OpenAISDK", 'temperature=0.2, path="gpt-5-small"', {"n": 1, "max_completion_tokens": 33}),
    ],
)
def test_a_service_is_sent_the_fields_of_its_class_and_no_others(
    kind: str, message: str, sent: dict[str, Any]
) -> None:
    path = "" if "path" in message else 'path="small", '
    with serving(saying("1")) as server:
        model = f'{path}openai_api_base="{server.url}", key="k", max_out_len=33, {message}'
        run('entry("one", AccEvaluator)', model, kind)
    assert len(server.bodies) == 4
    for body in server.bodies:
        assert {name: value for name, value in body.items() if name not in ("model", "messages")} == sent


def test_rows_that_a_dataset_repeats_are_asked_and_written_one_by_one() -> None:
    with serving(saying("1")) as server:
        model = f'path="small", openai_api_base="{server.url}", key="k"'
        folder = run('entry("two", DetailedEvaluator, n=2, k=2)', model, "OpenAISDK")
    assert len(server.bodies) == 8, "the server may sample: every repeat is a request"
    rows = read(folder, "predictions", "two")
    assert list(rows) == [str(number) for number in range(8)]
    assert [row["gold"] for row in rows.values()] == ["1", "2", "3", "4"] * 2
    assert {row["prediction"] for row in rows.values()} == {"1"}
    found = read(folder, "results", "two")
    assert found["share (2 runs average)"] == found["G-Pass@2_1.0"] == found["two/G-Pass@2_1.0"] == 25.0
    assert found["details"][0] == {
        "example_abbr": "two_test_0",
        **{f"G-Pass@2_{share}": 1.0 for share in (0.0, 0.25, 0.5, 0.75, 1.0)},
        "mG-Pass@2": 1.0,
        "said": ["1", "1"],
        "wanted": ["1", "1"],
        "correct": [True, True],
    }


MOCK = 'model="mock", model_args=dict(answer="3")'


def test_details_are_the_evaluators_own_and_rows_have_their_place_in_the_split() -> None:
    reader = 'reader=dict(test_range="[2:]")'
    datasets = f'entry("own", DetailedEvaluator, {reader}), entry("ours", AccwithDetailsEvaluator, {reader})'
    folder = run(datasets, MOCK)
    assert read(folder, "results", "own")["details"] == [
        {"example_abbr": "own_test_2", "said": ["3"], "wanted": ["3"], "correct": [True]},
        {"example_abbr": "own_test_3", "said": ["3"], "wanted": ["4"], "correct": [False]},
    ]
    assert read(folder, "results", "ours")["details"][0] == {
        "example_abbr": "ours_test_2",
        "prompt": ["Q: 2+1=\nA: "],
        "pred": ["3"],
        "refr": ["3"],
        "is_correct": [True],
    }


def test_examples_of_compared_labels_are_written_apart_from_the_question() -> None:
    row = read(run(SHOTS, MOCK), "predictions", "shots")["0"]
    examples = "Q: 0+1=\nA: 1\nQ: 1+1=\nA: 2\n"
    question = "Add.\nQ: 2+1=\nA: 3"
    assert (row["in-context examples"], row["origin_prompt"]) == (examples, question)
    label = row["label: A"]
    assert (label["testing input"], label["prompt"]) == (question, f"Add.\n{examples}Q: 2+1=\nA: 3")
    # The sum over the bytes of the question, and over all tokens of the prompt.
    n_tokens = label["BPB"] * len(question) / label["PPL"]
    assert n_tokens == pytest.approx(round(n_tokens))


def test_answers_that_are_not_scored_have_no_result(workdir: Path) -> None:
    (workdir / "open.jsonl").write_text('{"question": "1+1="}\n', encoding="utf-8")
    folder = run('{"path": "open.jsonl"}', MOCK, status=3)
    assert (folder / "predictions/m/open.json").is_file()
    assert not (folder / "results/m/open.json").exists()
    (summary,) = (folder / "summary").glob("*.csv")
    assert summary.read_text(encoding="utf-8").splitlines()[1:] == ["open,-,-,-,-"]


@pytest.mark.parametrize("meta", [{}, {"options": "choices"}])
def test_a_chat_is_not_shown_bare_text_of_tables_with_lists_or_examples(
    workdir: Path, meta: dict[str, Any]
) -> None:
    rows = [{"question": f"{n}+1=", "choices": ["1", str(n + 1)], "answer": "B"} for n in range(1, 4)]
    (workdir / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    turns = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
    template = {"begin": ["Bare.", {"role": "SYSTEM", "prompt": "Add."}], "round": turns}
    (workdir / "t.jsonl.meta.json").write_text(json.dumps({**meta, "template": template}), encoding="utf-8")
    shots = () if meta else ("--shots", "1")
    result = assay(
        *("run", "t.jsonl", "-m", "mock", "--model-arg", "chat=true", "--fidelity", "faithful"),
        *("--method", "gen", *shots, "--out", "made"),
    )
    assert result.status == 0, result.err
    sample = json.loads((workdir / "made/samples.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert "Bare." not in json.dumps(sample["contexts"])
    assert "Add." in json.dumps(sample["contexts"])
    manifest = json.loads((workdir / "made/manifest.json").read_text(encoding="utf-8"))
    assert "bare_text" in [difference["name"] for difference in manifest["tasks"][0]["quirks"]]
