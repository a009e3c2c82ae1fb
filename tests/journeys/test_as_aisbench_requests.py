"""`assay as aisbench` beside what AISBench 3.1.20260630 was seen to send and write, on the same flags."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.openai_server import Body, Model, choice, error, poisoned, prompt_of, reply, saying, serving

FAITHFUL = ("--fidelity", "faithful")
QA = '{"question": "What is 431 times 254?", "answer": "109474"}\n'
QA_PROMPT = "Question: What is 431 times 254?\nAnswer: "
MCQ = "question,A,B,answer\nWhere is the river?,here,there,B\n"
MCQ_PROMPT = "Question: Where is the river?\nA. here\nB. there\nAnswer: "
RIVERS = """
from ais_bench.benchmark.openicl.icl_evaluator import AccEvaluator
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever
from ais_bench.benchmark.datasets import CustomDataset
from ais_bench.benchmark.utils.postprocess.text_postprocessors import first_capital_postprocess

rivers_datasets = [
    dict(
        type=CustomDataset,
        abbr=f"rivers_{part}",
        path=f"rivers_{part}.jsonl",
        reader_cfg=dict(input_columns=["question"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(
                type=PromptTemplate, template=dict(round=[dict(role="HUMAN", prompt="{question}")])
            ),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
        eval_cfg=dict(
            evaluator=dict(type=AccEvaluator),
            pred_postprocessor=dict(type=first_capital_postprocess),
            dataset_postprocessor=dict(type=first_capital_postprocess),
        ),
    )
    for part in ("one", "two")
]
"""
GROUPS = """
summarizer = dict(attr="accuracy", summary_groups=[dict(name="rivers", subsets=["rivers_one", "rivers_two"])])
"""


@pytest.fixture(autouse=True)
def _files(workdir: Path, empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = [{"question": f"Where is river {n}?", "answer": f"{'AB'[n % 2]} is right"} for n in range(20)]
    for part, own in (("one", rows), ("two", rows[:4])):
        text = "".join(json.dumps(row) + "\n" for row in own)
        (workdir / f"rivers_{part}.jsonl").write_text(text, encoding="utf-8")
    (workdir / "qa.jsonl").write_text(QA, encoding="utf-8")
    (workdir / "mcq.csv").write_text(MCQ, encoding="utf-8")
    for name, text in (("datasets/rivers", RIVERS), ("summarizers/grouped", GROUPS)):
        path = workdir / f"configs/{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_model(url: str, kind: str = "VLLMCustomAPIChat", **fields: Any) -> None:
    """Write the config of a service, as AISBench's own are written."""
    host, _, port = url.removeprefix("http://").removesuffix("/v1").partition(":")
    entry = {
        **{"attr": "service", "abbr": "m", "model": "small", "host_ip": host, "host_port": int(port)},
        **{"max_out_len": 64, "batch_size": 1, "retry": 2, "stream": False},
        **{"generation_kwargs": {"temperature": 0.01, "ignore_eos": False}, **fields},
    }
    text = ", ".join(f"{name}={value!r}" for name, value in entry.items())
    path = Path("configs/models/logged.py")
    path.parent.mkdir(parents=True, exist_ok=True)
    imported = f"from ais_bench.benchmark.models import {kind}\n"
    path.write_text(f"{imported}\nmodels = [dict(type={kind}, {text})]\n", encoding="utf-8")


def run(*flags: str, status: int = 0) -> Any:
    result = assay("as", "aisbench", "--models", "logged", "--no-cache", *flags)
    assert result.status == status, result.err
    return result


def folder() -> Path:
    return sorted(Path("outputs/default").iterdir())[-1]


def results(name: str) -> dict[str, Any]:
    content = (folder() / "results" / "m" / f"{name}.json").read_text(encoding="utf-8")
    made: dict[str, Any] = json.loads(content)
    return made


def table() -> list[list[str]]:
    (path,) = (folder() / "summary").glob("*.csv")
    return [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("mode", [(), FAITHFUL])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.01, "ignore_eos": False},
        {"temperature": 0, "seed": None},
        {"temperature": 0.7, "top_p": 0.9, "top_k": 20, "seed": 7, "stop": ["<end>"], "ignore_eos": True},
    ],
)
def test_a_body_holds_what_the_config_says_and_nothing_else(
    settings: dict[str, Any], mode: tuple[str, ...]
) -> None:
    with serving(saying("B")) as server:
        write_model(server.url, generation_kwargs=settings)
        run("--datasets", "rivers", "--num-prompts", "1", *mode)
    assert server.bodies[0] == {
        **{"model": "small", "max_tokens": 64, "stream": False, **settings},
        "messages": [{"role": "user", "content": "Where is river 0?"}],
    }


@pytest.mark.parametrize("mode", [(), FAITHFUL])
def test_answers_stream_only_where_the_config_says_so(mode: tuple[str, ...]) -> None:
    with serving(saying("B")) as server:
        write_model(server.url, kind="VLLMCustomAPI", stream=True)
        run("--datasets", "rivers", "--num-prompts", "1", *mode)
    assert server.bodies[0]["stream"] is True
    assert server.bodies[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("mode", [(), FAITHFUL])
@pytest.mark.parametrize(("data", "prompt"), [("qa.jsonl", QA_PROMPT), ("mcq.csv", MCQ_PROMPT)])
def test_a_custom_dataset_has_aisbench_s_prompt(data: str, prompt: str, mode: tuple[str, ...]) -> None:
    with serving(saying("B")) as server:
        write_model(server.url)
        run("--custom-dataset-path", data, *mode)
        write_model(server.url, kind="VLLMCustomAPI")
        run("--custom-dataset-path", data, *mode)
    chat, text = server.bodies
    assert chat["messages"] == [{"role": "user", "content": prompt}]
    assert (text["prompt"], "stop" in text) == (prompt, False)


def test_reasoning_is_cut_off_a_custom_answer_as_the_model_s_config_says() -> None:
    with serving(saying("Hm, 7?</think>109474")) as server:
        write_model(server.url, pred_postprocessor={"type": "extract_non_reasoning_content"})
        run("--custom-dataset-path", "qa.jsonl", *FAITHFUL)
    assert results("qa") == {"accuracy": 100.0}


def _failing_rows(status: int) -> Model:
    return poisoned("river 3", lambda body: error(status, "out of order"), saying("B"))


@pytest.mark.parametrize("mode", [(), FAITHFUL])
def test_reuse_sends_failed_rows_again(mode: tuple[str, ...]) -> None:
    models = [_failing_rows(400)]
    with serving(lambda body: models[0](body)) as server:
        write_model(server.url)
        run("--datasets", "rivers", *mode, status=3)
        models[0], n_before = saying("B"), len(server.bodies)
        run("--datasets", "rivers", "--reuse", *mode)
    again = server.bodies[n_before:]
    assert {prompt_of(body).count("river 3?") for body in again} == {1}
    assert len(again) == 2, "once for each dataset"
    assert results("rivers_one") == {"accuracy": 50.0}


def test_failed_rows_are_marked_and_left_out_by_default() -> None:
    with serving(_failing_rows(400)) as server:
        write_model(server.url)
        result = run("--datasets", "rivers", status=3)
    assert results("rivers_two") == {"accuracy": 33.3333333333}
    assert "33.33*" in result.out
    assert "* m, rivers_two: 1 of 4 rows failed and are not in the score" in result.out
    assert [row[4] for row in table() if row[0] == "rivers_two"] == ["33.33"], "files hold plain numbers"


def test_failed_rows_are_wrong_answers_under_faithful() -> None:
    with serving(_failing_rows(500)) as server:
        write_model(server.url)
        result = run("--datasets", "rivers", *FAITHFUL, status=3)
    assert results("rivers_two") == {"accuracy": 25.0}
    assert "1 of 4 rows of rivers_two failed; they count as wrong, as in the original" in result.err
    prompts = Counter(prompt_of(body) for body in server.bodies)
    assert {prompts[prompt] for prompt in prompts if "river 3?" in prompt} == {2}, "no HTTP 500 is retried"


def _in_turn(answers: dict[str, list[str]]) -> Model:
    """Answer a prompt with one text after the other."""
    left = {key: list(texts) for key, texts in answers.items()}

    def respond(body: Body) -> Body:
        key = next(key for key in left if key in prompt_of(body))
        return reply(choice(body, left[key].pop(0)))

    return respond


_THREE_EACH = {"first?": ["1", "1", "1"], "second?": ["0", "0", "0"], "third?": ["3", "0", "0"]}


def _write_three() -> None:
    rows = [("first", "1"), ("second", "2"), ("third", "3")]
    text = "".join(
        json.dumps({"question": f"{name}?", "answer": gold, "A": "x", "B": "y"}) + "\n" for name, gold in rows
    )
    Path("three.jsonl").write_text(text, encoding="utf-8")


def test_several_answers_to_a_row_count_together() -> None:
    _write_three()
    with serving(_in_turn(_THREE_EACH)) as server:
        write_model(server.url, generation_kwargs={"temperature": 0.7, "num_return_sequences": 3})
        run("--custom-dataset-path", "three.jsonl", "--custom-dataset-data-type", "qa")
    assert len(server.bodies) == 9
    assert not any("num_return_sequences" in body for body in server.bodies)
    assert {name: round(value, 2) for name, value in results("three").items()} == {
        "accuracy (3 runs average)": 44.44,
        "avg@3": 44.44,
        "pass@3": 66.67,
        "cons@3": 33.33,
    }
    assert [row[2] for row in table()[1:]] == list(results("three"))


@pytest.mark.parametrize(
    ("mode", "together"), [((), {"pass@3": 33.33, "cons@3": 33.33}), (FAITHFUL, {"pass@3": 100, "cons@3": 0})]
)
def test_faithful_mixes_rows_as_aisbench_does(mode: tuple[str, ...], together: dict[str, float]) -> None:
    text = "question,A,B,answer\nfirst?,1,2,A\nsecond?,1,2,B\nthird?,1,2,B\n"
    Path("mcq.csv").write_text(text, encoding="utf-8")
    with serving(saying("A")) as server:
        write_model(server.url, generation_kwargs={"temperature": 0.7, "num_return_sequences": 3})
        run("--custom-dataset-path", "mcq.csv", *mode)
    assert {body.get("num_return_sequences") for body in server.bodies} == {3 if mode else None}
    assert {name: round(value, 2) for name, value in results("mcq").items()} == {
        "accuracy (3 runs average)": 33.33,
        "avg@3": 33.33,
        **together,
    }


_OPTIONS = "question,A,B,answer\nfirst?,1,2,A\nsecond?,1,2,B\n"


def _losing_one(body_of_first: str) -> Model:
    """Answer A, but fail the second request for one of the prompts."""
    n_asked: Counter[str] = Counter()

    def respond(body: Body) -> Any:
        n_asked[prompt_of(body)] += 1
        is_lost = body_of_first in prompt_of(body) and n_asked[prompt_of(body)] == 2
        return error(400, "out of order") if is_lost else reply(choice(body, "A"))

    return respond


@pytest.mark.parametrize("temperature", [0.7, 0])
def test_of_several_answers_to_a_row_one_may_fail_alone_under_faithful(temperature: float) -> None:
    Path("mcq.csv").write_text(_OPTIONS, encoding="utf-8")
    with serving(_losing_one("first?")) as server:
        write_model(server.url, generation_kwargs={"temperature": temperature, "num_return_sequences": 3})
        flags = ("--custom-dataset-path", "mcq.csv", "--dump-eval-details", *FAITHFUL)
        result = run(*flags, status=3)
        n_before = len(server.bodies)
        run(*flags, "--reuse")
    assert n_before == 6
    assert len(server.bodies) == 7, "the answer that failed is asked for again, and no other"
    assert "1 of 6 answers of mcq failed; they count as wrong, as in the original" in result.err
    kept = (folder() / "predictions/m/mcq.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in kept] == [0, 0, 0, 1, 1, 1]
    assert results("mcq")["accuracy (3 runs average)"] == 50.0


def test_details_of_several_answers_under_faithful_are_mixed_as_in_the_original() -> None:
    Path("mcq.csv").write_text(_OPTIONS, encoding="utf-8")
    with serving(_losing_one("first?")) as server:
        write_model(server.url, generation_kwargs={"temperature": 0.7, "num_return_sequences": 3})
        run("--custom-dataset-path", "mcq.csv", "--dump-eval-details", *FAITHFUL, status=3)
    found = results("mcq")
    # All first answers, then all second ones: three in a row count for one row. The one that failed is last.
    assert [one["pred"] for one in found["details"]] == [["A", "A", "A"], ["A", "", "A"]]
    assert [one["refr"] for one in found["details"]] == [["A", "B", "A"], ["B", "A", "B"]]
    assert [one["example_abbr"] for one in found["details"]] == ["mcq_test_0", "mcq_test_1"]
    assert "type" not in found


def test_details_of_several_answers_name_each_answer() -> None:
    text = RIVERS.replace("AccEvaluator", "EMEvaluator")
    Path("configs/datasets/rivers.py").write_text(text, encoding="utf-8")
    with serving(saying("B is it")) as server:
        write_model(server.url, generation_kwargs={"temperature": 0.7, "num_return_sequences": 2})
        run("--datasets", "rivers", "--dump-eval-details")
    first = results("rivers_two")["details"]["0"]
    assert (first["predictions"], first["references"]) == (["B", "B"], ["A", "A"])
    assert first["correct"] == [False, False]


def test_reuse_at_another_address_continues_under_faithful() -> None:
    models = [_failing_rows(400)]
    with serving(lambda body: models[0](body)) as server:
        write_model(server.url)
        run("--datasets", "rivers", *FAITHFUL, status=3)
    models[0] = saying("B")
    with serving(lambda body: models[0](body)) as other:
        write_model(other.url)
        run("--datasets", "rivers", "--reuse", *FAITHFUL)
    assert len(other.bodies) == 2, "the rows that failed, once for each dataset"
    (manifest,) = [
        content
        for path in folder().glob("runs/m/*/manifest.json")
        if other.url in (content := path.read_text(encoding="utf-8"))
    ]
    assert "reuses the answers of" in manifest


def test_likelihoods_are_asked_for_as_texts_under_faithful() -> None:
    Path("configs/datasets/rivers.py").write_text(
        RIVERS.replace("GenInferencer", "PPLInferencer")
        .replace(
            'template=dict(round=[dict(role="HUMAN", prompt="{question}")])',
            'template={"A is right": "{question} A", "B is right": "{question} B"}',
        )
        .replace("pred_postprocessor=dict(type=first_capital_postprocess),", "")
        .replace("dataset_postprocessor=dict(type=first_capital_postprocess),", ""),
        encoding="utf-8",
    )

    def respond(body: Body) -> Body:
        words = body["prompt"].split(" ")
        texts = [words[0], *(f" {word}" for word in words[1:])]
        tokens = [
            None if not at else {"7": {"logprob": -float(at), "rank": 1, "decoded_token": text}}
            for at, text in enumerate(texts)
        ]
        made = choice(body, "x") | {"prompt_logprobs": tokens}
        return reply(made, prompt_tokens=len(texts), completion_tokens=1)

    with serving(respond) as server:
        write_model(server.url, "VLLMCustomAPI", generation_kwargs={"temperature": 0.3, "top_k": 4})
        run("--datasets", "rivers", "--dump-eval-details", *FAITHFUL)
    prompts = [body for body in server.bodies if "river" in body["prompt"]]
    assert len(prompts) == 40, "the likelihood of a text that two datasets share is asked for once"
    for body in prompts:
        assert {name: value for name, value in body.items() if name not in ("model", "prompt")} == {
            **{"max_tokens": 64, "stream": False, "temperature": 0.3, "top_k": 4, "prompt_logprobs": 0}
        }
    line = json.loads(
        (folder() / "predictions/m/rivers_two.jsonl").read_text(encoding="utf-8").splitlines()[0]
    )
    assert line["origin_prompt"] == ["Where is river 0? A", "Where is river 0? B"]
    detail = results("rivers_two")["details"]["0"]
    assert detail["prompt"] == line["origin_prompt"]
    assert detail["origin_prediction"] == detail["predictions"] == line["prediction"]


def test_groups_have_the_name_of_the_metric_that_their_members_share() -> None:
    with serving(saying("B")) as server:
        write_model(server.url)
        run("--datasets", "rivers", "--summarizer", "grouped")
    assert [row[0:1] + row[2:] for row in table()[3:]] == [
        ["rivers", "accuracy", "gen", "50.00"],
        ["rivers", "naive_average", "gen", "50.00"],
    ]


def test_the_rate_of_answers_found_has_a_row_and_gold_is_as_the_data_has_it() -> None:
    with serving(saying("B")) as server:
        write_model(server.url)
        run("--datasets", "rivers", "--dump-extract-rate", "--dump-eval-details", *FAITHFUL)
    assert [row[2] for row in table()[1:]] == ["accuracy", "extract_rate"] * 2
    for ending in ("txt", "md"):
        (path,) = (folder() / "summary").glob(f"*.{ending}")
        assert "extract_rate" in path.read_text(encoding="utf-8")
    first, *_ = (folder() / "predictions/m/rivers_two.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(first)["gold"] == "A is right"
    found = results("rivers_two")
    assert (found["type"], found["extract_rate"]) == ("GEN", 100.0)
    assert found["details"]["0"] == {
        "prompt": [{"role": "HUMAN", "prompt": "Where is river 0?"}],
        "origin_prediction": "B",
        "predictions": "B",
        "references": "A",
    }


def test_a_share_is_written_without_noise() -> None:
    answers = {f"river {n}?": ["AB"[n % 2] if n < 11 else "C"] * 2 for n in range(20)}
    with serving(_in_turn(answers)) as server:
        write_model(server.url)
        run("--datasets", "rivers")
    content = (folder() / "results/m/rivers_one.json").read_text(encoding="utf-8")
    assert '"accuracy": 55.0\n' in content


def test_a_missing_meta_file_is_named_by_its_flag() -> None:
    result = assay(
        *("as", "aisbench", "--models", "mock", "--custom-dataset-path", "mcq.csv"),
        *("--custom-dataset-meta-path", "nope.json"),
    )
    assert result.status == 2
    assert "--custom-dataset-meta-path: the file 'nope.json' does not exist" in result.err


def test_a_file_of_the_config_folder_is_one_file() -> None:
    with serving(saying("B")) as server:
        write_model(server.url)
        assert "files have this name" not in run("--datasets", "rivers", "--num-prompts", "1").err


def test_an_installed_package_needs_no_root(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs = workdir / "site/ais_bench/benchmark/configs/datasets/own"
    configs.mkdir(parents=True)
    (workdir / "site/ais_bench/__init__.py").touch()
    (configs / "installed_gen.py").write_text(RIVERS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(workdir / "site"))
    found = assay("as", "aisbench", "--datasets", "installed_gen", "--search")
    assert found.status == 0, found.err
    assert "installed_gen.py" in found.out


def test_a_load_of_a_custom_dataset_has_the_same_prompt() -> None:
    with serving(saying("B")) as server:
        write_model(server.url, generation_kwargs={"ignore_eos": True})
        run("--custom-dataset-path", "qa.jsonl", "--mode", "perf", "--num-warmups", "0")
    (body,) = server.bodies
    assert body == {
        **{"model": "small", "max_tokens": 64, "stream": False, "ignore_eos": True},
        "messages": [{"role": "user", "content": QA_PROMPT}],
    }
