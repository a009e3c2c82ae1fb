"""`assay as aisbench --mode perf` and `perf_viz`: a server measured by the original's own command line."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cli import Result, assay
from fakes.config_folder import edit, write_configs
from fakes.load_configs import (
    STRING,
    TOKEN_IDS,
    write_conversations,
    write_service,
    write_synthetic,
    write_trace,
)
from fakes.openai_server import failing, poisoned, prompt_of, saying, serving, streaming_model
from fakes.tokenizer_files import write_tokenizers

PARAMETERS = [
    *("E2EL", "TTFT", "TPOT", "ITL", "InputTokens", "OutputTokens", "OutputTokenThroughput"),
]

MEDIA = """
from ais_bench.benchmark.datasets import MMCustomDataset, MMCustomEvaluator
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template.icl_prompt_template_mm import MMPromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever

parts = {
    "text": {"type": "text", "text": "{question}"},
    "image": {"type": "image_url", "image_url": {"url": "file://{image}"}},
}
media_datasets = [
    dict(
        abbr="media",
        type=MMCustomDataset,
        path="mm.jsonl",
        mm_type="path",
        reader_cfg=dict(input_columns=["question", "image", "video", "audio"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(
                type=MMPromptTemplate, template=dict(round=[dict(role="HUMAN", prompt_mm=parts)])
            ),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=MMCustomEvaluator)),
    )
]
"""


@pytest.fixture(autouse=True)
def _folder(workdir: Path, empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def perf(*arguments: str) -> Result:
    return assay("as", "aisbench", "--mode", "perf", *arguments)


def work(workdir: Path) -> Path:
    return sorted((workdir / "outputs" / "default").iterdir())[-1]


def parameters(path: Path) -> dict[str, dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as lines:
        return {row["Performance Parameters"]: row for row in csv.DictReader(lines)}


def common(path: Path) -> dict[str, Any]:
    message = json.loads(path.read_text(encoding="utf-8"))
    return {name: stages["total"] for name, stages in message.items()}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_preset_with_a_made_up_dataset_and_its_files(workdir: Path) -> None:
    with serving(streaming_model) as server:
        url = server.url.removesuffix("/v1")
        named = ("--models", "vllm_api_stream_chat", "--url", url, "--batch-size", "3")
        result = perf(*named, "--datasets", "synthetic_gen_string", "--num-prompts", "8")
        assert result.status == 0, result.err
        assert server.most_under_way <= 3
        # One warm-up request, of a text that is not measured.
        assert len(server.bodies) == 9
        warm, *measured = map(prompt_of, server.bodies)
        assert warm not in measured
        body = server.bodies[-1]
    assert (body["stream"], body["temperature"], "top_p" in body) == (True, 0.01, False)
    assert 1 <= body["max_tokens"] <= 100
    assert "Performance Parameters" in result.out
    assert "│ Max Concurrency          │ total   │ 3" in result.out
    folder = work(workdir) / "performances" / "vllm-api-stream-chat"
    files = ["synthetic.csv", "synthetic.json", "synthetic_details.jsonl", "synthetic_plot.html"]
    assert sorted(path.name for path in folder.iterdir()) == files
    rows = parameters(folder / "synthetic.csv")
    assert list(rows) == PARAMETERS
    assert {row["N"] for row in rows.values()} == {"8"}
    assert rows["OutputTokens"]["Average"] == "3.0"
    reported = common(folder / "synthetic.json")
    assert (reported["Total Requests"], reported["Failed Requests"], reported["Max Concurrency"]) == (8, 0, 3)
    assert reported["Total Generated Tokens"] == 24
    assert reported["Total Input Tokens"] == sum(map(len, measured))
    details = lines(folder / "synthetic_details.jsonl")
    assert sorted(row["id"] for row in details) == sorted(map(str, range(8)))
    own = work(workdir) / "bench" / "vllm-api-stream-chat" / "synthetic"
    for row, call in zip(details, lines(own / "requests.jsonl"), strict=True):
        moments = call["times"]["event_at"]
        # Three words, the end and the usage.
        assert len(moments) == 5
        assert row["ttft"] == moments[0] - call["times"]["began"]
        assert row["latency"] == moments[-1] - call["times"]["began"]
        assert row["tpot"] == (row["latency"] - row["ttft"]) / 2
    page = (folder / "synthetic_plot.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert {path.name for path in own.iterdir()} == {"bench.json", "requests.jsonl", "summary.json"}


def test_token_ids_are_drawn_from_the_vocabulary_of_the_models_tokenizer(workdir: Path) -> None:
    tokenizer = write_tokenizers(workdir / "tokenizers")["letters"].parent
    write_synthetic(workdir / "configs/datasets/ids.py", {"ids": TOKEN_IDS})
    with serving(streaming_model) as server:
        write_service(workdir / "configs/models/mine.py", server.url, path=str(tokenizer))
        result = perf("--models", "mine", "--datasets", "ids", "--num-warmups", "0")
        assert result.status == 0, result.err
        prompts = [body["messages"][0]["content"] for body in server.bodies]
        assert {body["max_tokens"] for body in server.bodies} == {33}, "the model's max_out_len"
        assert all(body["ignore_eos"] is True for body in server.bodies)
    assert len(set(prompts)) == 4
    assert len({text[:4] for text in prompts}) == 1, "prompts have a beginning in common"


def test_a_trace_is_sent_at_its_own_times(workdir: Path, shared_data: Path) -> None:
    path = shared_data / "aisbench_custom" / "test_mooncake_trace.jsonl"
    message = {"path": str(path), "random_seed": 7, "fixed_schedule_end_offset": 500}
    write_trace(workdir / "configs/datasets/mooncake_trace_gen.py", **message)
    with serving(streaming_model) as server:
        write_service(workdir / "configs/models/mine.py", server.url, use_timestamp=True, batch_size=1)
        result = perf("--models", "mine", "--datasets", "mooncake_trace_gen", "--num-warmups", "0")
        assert result.status == 0, result.err
        assert "with no limit on concurrency" in result.err
        assert [body["max_tokens"] for body in server.bodies] == [100, 200, 50]
        assert prompt_of(server.bodies[2]).count("What is the capital of France?") == 1
    calls = lines(work(workdir) / "bench/mine/mooncake-trace/requests.jsonl")
    first = calls[0]["due"]
    assert [round(call["due"] - first, 6) for call in calls] == [0, 0.2, 0.5]
    assert (work(workdir) / "performances/mine/mooncake-trace.csv").is_file()


def test_a_custom_table_with_its_meta_file(workdir: Path) -> None:
    rows = [f'{{"question": "{n} + 1 =", "answer": "{n + 1}"}}' for n in range(3)]
    (workdir / "sums.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    lengths = {"method": "percentage", "params": {"percentage_distribute": [[11, 0.5], [22, 0.5]]}}
    meta = {"request_count": 4, "sampling_mode": "default", "output_config": lengths}
    (workdir / "sums.jsonl.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    with serving(saying("9")) as server:
        named = ("--models", "vllm_api_general", "--url", server.url, "--custom-dataset-path", "sums.jsonl")
        result = perf(*named, "--num-warmups", "0")
        assert result.status == 0, result.err
        assert [body["max_tokens"] for body in server.bodies] == [11, 11, 22, 22]
        assert server.bodies[3]["prompt"] == server.bodies[0]["prompt"]
        assert set(server.paths[1:]) == {"/v1/completions"}
        assert "stream" not in server.bodies[0] or server.bodies[0]["stream"] is False
    assert "stream is off" in result.err
    rows_told = parameters(work(workdir) / "performances/vllm-api-general/sums.csv")
    assert list(rows_told) == [name for name in PARAMETERS if name not in ("TPOT", "ITL")]


def test_pressure_continues_until_the_time_is_up(workdir: Path) -> None:
    write_synthetic(workdir / "configs/datasets/few.py", {"few": {**STRING, "RequestCount": 2}})
    with serving(streaming_model) as server:
        write_service(workdir / "configs/models/mine.py", server.url, batch_size=2, request_rate=50)
        result = perf("--models", "mine", "--datasets", "few", "--pressure", "--pressure-time", "1")
        assert result.status == 0, result.err
        assert len(server.bodies) > 3
        assert server.most_under_way <= 2
    load = json.loads((work(workdir) / "bench/mine/few/bench.json").read_text(encoding="utf-8"))["load"]
    assert load["shape"] == {"type": "closed", "concurrency": 2, "starts_per_s": 50.0}
    assert (load["seconds"], load["goes_round"]) == (1.0, True)


def test_requests_at_a_rate_are_sent_when_they_are_due(workdir: Path) -> None:
    with serving(streaming_model) as server:
        traffic = {"burstiness": 0}
        write_service(workdir / "configs/models/mine.py", server.url, request_rate=100, traffic_cfg=traffic)
        assert perf("--models", "mine", "--datasets", "synthetic_gen_string", "--offline").status == 0
    calls = sorted(lines(work(workdir) / "bench/mine/synthetic/requests.jsonl"), key=lambda call: call["due"])
    gaps = [round(after["due"] - before["due"], 6) for before, after in pairwise(calls)]
    assert gaps == [0.01] * 9


def test_media_are_sent_and_nothing_of_an_evaluator_is_needed(workdir: Path, shared_data: Path) -> None:
    image = sorted((shared_data / "easy_vqa").rglob("*.png"))[0]
    row = {"type": "image", "path": [str(image)], "question": "Which shape?", "answer": "circle"}
    (workdir / "mm.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (workdir / "configs/datasets").mkdir(parents=True)
    (workdir / "configs/datasets/media.py").write_text(MEDIA, encoding="utf-8")
    with serving(streaming_model) as server:
        write_service(workdir / "configs/models/mine.py", server.url)
        result = perf("--models", "mine", "--datasets", "media", "--num-warmups", "0")
        assert result.status == 0, result.err
        ((message,),) = (body["messages"] for body in server.bodies)
    assert [part["type"] for part in message["content"]] == ["image_url", "text"]


def test_conversations_are_carried_on(workdir: Path) -> None:
    turns = ["Hi", "Ho", "Well?"]
    expected = [{"from": "gpt" if n % 2 else "human", "value": text} for n, text in enumerate(turns)]
    (workdir / "chats.json").write_text(json.dumps([{"conversations": expected}]), encoding="utf-8")
    write_conversations(workdir / "configs/datasets/share.py", path="chats.json", disable_shuffle=True)
    with serving(streaming_model) as server:
        write_service(workdir / "configs/models/mine.py", server.url)
        assert perf("--models", "mine", "--datasets", "share", "--num-warmups", "0").status == 0
        _, second = server.bodies
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert second["messages"][1]["content"] != "Ho", "the conversation contains the model's own answer"
    details = lines(work(workdir) / "performances/mine/sharegpt_details.jsonl")
    assert [(row["id"], row["turn_id"]) for row in details] == [("1", 0), ("1", 1)]


def test_failures_are_counted_reported_and_kept_apart(workdir: Path) -> None:
    write_configs(workdir)
    with serving(poisoned("left", failing(503, "too busy"), streaming_model)) as server:
        named = ("--models", "vllm_api_stream_chat", "--url", server.url, "--datasets", "sums_gen")
        result = perf(*named, "--num-warmups", "0")
        assert len(server.bodies) == 10, "nothing is sent twice"
    assert result.status == 3
    assert "5 failed" in result.out
    assert "too busy" in result.out
    folder = work(workdir) / "performances" / "vllm-api-stream-chat"
    # Two datasets of one class are one load; each has its rows.
    assert common(folder / "sumdataset.json")["Failed Requests"] == 5
    assert [row["success"] for row in lines(folder / "sums_left_details.jsonl")] == [False] * 5
    assert all("too busy" in row["error_info"] for row in lines(folder / "sums_left_failed.jsonl"))
    assert [row["success"] for row in lines(folder / "sums_right_details.jsonl")] == [True] * 5
    assert not (folder / "sums_right_failed.jsonl").exists()


def test_a_load_without_an_answer_has_no_tables(workdir: Path) -> None:
    with serving(failing()) as server:
        named = ("--models", "vllm_api_stream_chat", "--url", server.url)
        result = perf(*named, "--datasets", "synthetic_gen_string", "--num-warmups", "0")
    assert result.status == 3
    assert "BENCH-032" in result.err
    assert "no request succeeded" in result.err
    folder = work(workdir) / "performances" / "vllm-api-stream-chat"
    files = ["synthetic_details.jsonl", "synthetic_failed.jsonl", "synthetic_plot.html"]
    assert sorted(path.name for path in folder.iterdir()) == files


def test_it_is_reported_again_without_the_server(workdir: Path) -> None:
    write_synthetic(workdir / "configs/datasets/few.py", {"few": {**STRING, "RequestCount": 40}})
    with serving(streaming_model) as server:
        write_service(workdir / "configs/models/mine.py", server.url, batch_size=2)
        assert perf("--models", "mine", "--datasets", "few").status == 0
    folder = work(workdir) / "performances" / "mine"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    again = perf("--reuse")
    assert again.status == 0, again.err
    assert "sends no requests" in again.err
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert after == before
    viz = ("as", "aisbench", "--mode", "perf_viz", "--reuse")
    reported = assay(*viz, work(workdir).name, "--models", "mine", "--datasets", "few")
    assert reported.status == 0, reported.err
    assert not reported.err
    stable = assay(*viz, "--summarizer", "stable_stage")
    if stable.status == 0:
        assert "│ E2EL                     │ stable  │" in stable.out
        assert '"stable"' in (folder / "few.json").read_text(encoding="utf-8")
    else:
        # Whether two were under way long enough is the machine's affair; then there are no old tables left.
        assert "BENCH-032" in stable.err
        assert not (folder / "few.json").exists()
    other = assay(*viz, "--models", "mine", "--datasets", "synthetic_gen_string")
    assert other.status == 2
    assert "STORE-010" in other.err


def test_counters_of_drafted_tokens(workdir: Path) -> None:
    counts = iter((10, 110))

    async def metrics(asked: web.Request) -> web.Response:
        drafts = next(counts)
        names = {"drafts": drafts, "draft_tokens": 2 * drafts, "accepted_tokens": drafts}
        rows = [f'vllm:spec_decode_num_{name}_total{{engine="0"}} {n}' for name, n in names.items()]
        return web.Response(text="\n".join(rows) + "\n")

    named = ("--models", "vllm_api_stream_chat", "--datasets", "synthetic_gen_string", "--spec-decode")
    with serving(streaming_model, pages={"/metrics": metrics}) as server:
        result = perf(*named, "--url", server.url)
        assert result.status == 0, result.err
    (path,) = (work(workdir) / "performances").glob("spec_decode_127.0.0.1_*.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["n_drafts"], found["acceptance_rate"], found["acceptance_length"]) == (100, 50.0, 2.0)

    async def without(asked: web.Request) -> web.Response:
        return web.Response(text="up 1\n")

    with serving(streaming_model, pages={"/metrics": without}) as server:
        refused = perf(*named, "--url", server.url)
        assert not server.bodies, "reported before the load is sent"
    assert refused.status == 2
    assert "BENCH-031" in refused.err


def test_a_server_that_is_gone_is_reported_and_the_others_continue(workdir: Path) -> None:
    write_synthetic(workdir / "configs/datasets/few.py", {"few": STRING})
    with serving(streaming_model) as server:
        write_service(workdir / "configs/models/gone.py", "http://127.0.0.1:9/", abbr="gone", model="m")
        write_service(workdir / "configs/models/there.py", server.url, abbr="there")
        result = perf("--models", "gone", "there", "--datasets", "few")
    assert result.status == 2
    assert "LOAD-004" in result.err
    assert (work(workdir) / "performances/there/few.csv").is_file()
    assert not (work(workdir) / "performances/gone").exists()


def test_offline_holds_for_the_code_of_datasets_too(workdir: Path) -> None:
    write_configs(workdir)
    reaching = (
        "import socket\n        with socket.socket() as one:\n            one.connect(('127.0.0.1', 9))\n"
    )
    for path in ("sums.py", "configs/datasets/sums/sums.py"):
        edit(workdir / path, "rows =", f"{reaching}        rows =")
    with serving(streaming_model) as server:
        named = ("--models", "vllm_api_stream_chat", "--url", server.url, "--datasets", "sums_gen")
        result = perf(*named, "--offline")
        assert not server.bodies
    assert result.status == 2
    assert "127.0.0.1:9" in result.err


def test_the_plan_alone(workdir: Path) -> None:
    flags = ("--models", "vllm_api_stream_chat", "--request-rate", "5", "--dry-run")
    result = perf(*flags, "--datasets", "synthetic_gen_string")
    assert result.status == 0, result.err
    assert "synthetic: 10 requests" in result.out
    assert '"rate": 5.0' in result.out
    assert not (workdir / "outputs").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("--models", "hf_chat_model", "--datasets", "synthetic_gen_string"),
            "OPENICL-040",
            "serve the model",
        ),
        (("--models", "mock", "--datasets", "synthetic_gen_string"), "MODEL-001", "is not a server"),
        (("--models", "vllm_api_general_chat", "--datasets", "synthetic_gen_tokenid"), "BENCH-021", "--path"),
        (("--models", "vllm_api_general_chat", "--datasets", "synthetic"), "USAGE-009", "'synthetic'"),
        (("--pressure-time", "5"), "USAGE-006", "add --pressure"),
        (("--pressure", "--pressure-time", "0"), "USAGE-006", "from 1 to 86400"),
        (("--custom-dataset-infer-method", "ppl"), "USAGE-006", "answers are generated"),
        (("--num-warmups", "-1"), "USAGE-006", "0 or more"),
        (("--response-anomaly",), "USAGE-006", "--response-anomaly"),
        (("--mode", "perf_viz"), "USAGE-006", "add --reuse"),
        (("--reuse", "20200101_000000"), "STORE-005", "20200101_000000"),
    ],
)
def test_what_is_rejected(workdir: Path, arguments: tuple[str, ...], code: str, message: str) -> None:
    result = perf(*arguments)
    assert result.status == 2
    assert code in result.err
    assert message in result.err
    assert not (workdir / "outputs").exists()


def test_flags_of_the_other_modes_are_reported_to_have_no_effect(workdir: Path) -> None:
    write_configs(workdir)
    speed = ("--pressure", "--num-warmups", "2", "--spec-decode")
    answers = assay("as", "aisbench", "--models", "two", "--datasets", "sums_gen", *speed)
    assert answers.status == 0, answers.err
    for flag in ("--pressure:", "--num-warmups:", "--spec-decode:"):
        assert flag in answers.err
    named = ("--models", "vllm_api_stream_chat", "--datasets", "synthetic_gen_string", "--dry-run")
    assert "--dump-eval-details: speed is measured" in perf(*named, "--dump-eval-details").err
