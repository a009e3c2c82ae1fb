"""`assay as aisbench`: configs by name, stages, services, and the files that the original writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.config_folder import edit, write_configs
from fakes.openai_server import saying, serving

CONFIG = "configs/datasets/sums/sums_gen.py"


@pytest.fixture(autouse=True)
def _configs(workdir: Path, empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write_configs(workdir)


def tree(workdir: Path) -> Path:
    return sorted((workdir / "outputs" / "default").iterdir())[-1]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(folder: Path) -> list[list[str]]:
    (path,) = (folder / "summary").glob("*.csv")
    return [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]


def test_names_become_runs_files_and_a_summary(workdir: Path) -> None:
    result = assay("as", "aisbench", "--models", "two", "--datasets", "SUMS_gen")
    assert result.status == 0, result.err
    folder = tree(workdir)
    assert [row[0] for row in table(folder)] == ["dataset", "sums_left", "sums_right"]
    heading, left, _ = table(folder)
    assert heading == ["dataset", "version", "metric", "mode", "says-b", "says-a"]
    assert (left[2:], len(left[1])) == (["accuracy", "gen", "100.00", "0.00"], 6)
    first, *_ = lines(folder / "predictions" / "says-b" / "sums_left.jsonl")
    assert first == {
        "data_abbr": "sums_left",
        "id": 0,
        "success": True,
        "uuid": first["uuid"],
        "origin_prompt": "left: 0 + 1 =\nA. 0\nB. 1",
        "prediction": "B",
        "gold": "B",
    }
    chat, *_ = lines(folder / "predictions" / "says-a" / "sums_left.jsonl")
    assert chat["origin_prompt"] == [{"role": "HUMAN", "prompt": "left: 0 + 1 =\nA. 0\nB. 1"}]
    results = json.loads((folder / "results" / "says-a" / "sums_right.json").read_text(encoding="utf-8"))
    assert results == {"accuracy": 0.0}, "details only where they are asked for"
    assert {path.suffix for path in (folder / "summary").iterdir()} == {".txt", ".csv", ".md"}
    (kept,) = (folder / "configs").iterdir()
    values: dict[str, Any] = {}
    exec(kept.read_text(encoding="utf-8"), values)  # noqa: S102 (written by the command itself)
    assert [one["abbr"] for one in values["models"]] == ["says-b", "says-a"]


def test_details_and_how_many_answers_were_found(workdir: Path) -> None:
    flags = ("--dump-eval-details", "--dump-extract-rate", "--num-prompts", "2")
    assert assay("as", "aisbench", "--models", "two", "--datasets", "sums_gen", *flags).status == 0
    results = json.loads(
        (tree(workdir) / "results" / "says-b" / "sums_left.json").read_text(encoding="utf-8")
    )
    assert results["extract_rate"] == 100
    assert results["type"] == "GEN"
    assert list(results["details"]) == ["0", "1"]
    assert results["details"]["1"] == {
        "prompt": "left: 1 + 1 =\nA. 1\nB. 2",
        "origin_prediction": "B",
        "predictions": "B",
        "references": "B",
        "correct": True,
    }


def test_likelihoods_are_written_by_label(workdir: Path) -> None:
    assert assay("as", "aisbench", "--models", "mock", "--datasets", "sums_ppl").status == 0
    folder = tree(workdir)
    first, *_ = lines(folder / "predictions" / "mock" / "sums_left_ppl.jsonl")
    losses = {one["label"]: one["ppl"] for one in first["ppl_list"]}
    assert first["prediction"] == min(losses, key=lambda label: losses[label])
    assert table(folder)[1][2:4] == ["accuracy", "ppl"]


def test_inference_now_evaluation_later_and_again_without_a_model(workdir: Path) -> None:
    asked = assay("as", "aisbench", "--models", "two", "--datasets", "sums_gen", "--mode", "infer")
    assert asked.status == 0, asked.err
    folder = tree(workdir)
    assert f"--mode eval --reuse {folder.name}" in asked.out
    assert not (folder / "results").exists()
    # The models are gone: what was asked of them is all that is left.
    edit(workdir / "configs/models/two.py", 'model="mock"', 'model="hf:/nowhere"')
    again = ("as", "aisbench", "--models", "two", "--datasets", "sums_gen", "--reuse")
    first = assay(*again, "--mode", "eval")
    assert first.status == 0, first.err
    assert [row[4:] for row in table(folder)[1:]] == [["100.00", "0.00"], ["100.00", "0.00"]]
    # Another post-processor reads the same answers.
    edit(workdir / CONFIG, "import SumDataset", "import SumDataset, always_b")
    edit(workdir / CONFIG, "eval_cfg=dict(", "eval_cfg=dict(pred_postprocessor=dict(type=always_b), ")
    second = assay(*again, folder.name, "--mode", "eval")
    assert second.status == 0, second.err
    assert [row[4:] for row in table(folder)[1:]] == [["100.00", "100.00"], ["100.00", "100.00"]]
    for named in (("--models", "two", "--datasets", "sums_gen"), ()):
        shown = assay("as", "aisbench", *named, "--reuse", "--mode", "viz")
        assert shown.status == 0, shown.err
        assert "100.00" in shown.out
    # A prompt that has changed is a question that nobody was asked.
    edit(workdir / CONFIG, "{question}\\nA", "Well: {question}\\nA")
    other = assay(*again, "--mode", "eval")
    assert other.status == 2
    assert other.err.count("STORE-007") == 2


def test_going_on_asks_only_what_is_owed(workdir: Path) -> None:
    with serving(saying("B")) as server:
        named = ("--models", "vllm_api_general_chat", "--url", server.url.removesuffix("/v1"), "--no-cache")
        command = ("as", "aisbench", *named, "--datasets", "sums_gen")
        assert assay(*command, "--num-prompts", "3").status == 0
        assert len(server.bodies) == 6
        assert assay(*command, "--num-prompts", "3", "--reuse").status == 0
        assert len(server.bodies) == 6, "a run that is complete asks nothing"
        assert len(list((workdir / "outputs" / "default").iterdir())) == 1


def test_a_service_from_the_fields_of_its_config(workdir: Path) -> None:
    with serving(saying("B"), key="sk-very-secret") as server:
        host, port = server.url.removesuffix("/v1").removeprefix("http://").split(":")
        (workdir / "configs/models/mine.py").write_text(
            f"""
from ais_bench.benchmark.models import VLLMCustomAPIChat
from ais_bench.benchmark.utils.postprocess.model_postprocessors import extract_non_reasoning_content

models = [
    dict(
        attr="service",
        type=VLLMCustomAPIChat,
        abbr="mine",
        path="",
        model="",
        stream=False,
        request_rate=0,
        retry=2,
        api_key="sk-very-secret",
        host_ip="{host}",
        host_port={port},
        max_out_len=99,
        batch_size=4,
        generation_kwargs=dict(temperature=0.5, top_k=3, ignore_eos=True),
        pred_postprocessor=dict(type=extract_non_reasoning_content),
    )
]
""",
            encoding="utf-8",
        )
        result = assay("as", "aisbench", "--models", "mine", "--datasets", "sums_gen", "--num-prompts", "2")
        assert result.status == 0, result.err
    body = server.bodies[0]
    sent = {name: body[name] for name in ("max_tokens", "temperature", "top_k", "ignore_eos")}
    assert sent == {"max_tokens": 99, "temperature": 0.5, "top_k": 3, "ignore_eos": True}
    assert body["messages"][0]["role"] == "user"
    written = [path for path in tree(workdir).rglob("*") if path.is_file()]
    assert not [path for path in written if b"very-secret" in path.read_bytes()]
    assert "very-secret" not in result.out + result.err


def test_a_model_that_is_not_there_keeps_no_other_from_its_scores(workdir: Path) -> None:
    edit(
        workdir / "configs/models/two.py", 'model="mock", model_args=dict(answer="B")', 'model="hf:/nowhere"'
    )
    result = assay("as", "aisbench", "--models", "two", "--datasets", "sums_gen")
    assert result.status == 2
    assert "MODEL-003" in result.err
    assert "says-b: not in the summary, because " in result.err
    assert table(tree(workdir))[0][4:] == ["says-a"]


def test_failed_rows_are_in_a_file_of_their_own_and_in_the_exit_status(workdir: Path) -> None:
    edit(workdir / "configs/models/two.py", 'answer="B"', 'answer="B", fail_every=2')
    result = assay("as", "aisbench", "--models", "two", "--datasets", "sums_gen", "--dump-eval-details")
    assert result.status == 3
    folder = tree(workdir) / "predictions" / "says-b"
    failed = [one for path in folder.glob("*_failed.jsonl") for one in lines(path)]
    assert failed
    assert all("injected" in one["error_info"] and one["input"] for one in failed)


def test_a_dry_run_asks_nothing_and_writes_nothing(workdir: Path) -> None:
    result = assay("as", "aisbench", "--models", "two", "--datasets", "sums_gen", "--dry-run")
    assert result.status == 0, result.err
    assert "says-b  mock answer=B" in result.out
    assert "left: 0 + 1 =" in result.out
    assert not (workdir / "outputs").exists()


def test_search_shows_where_names_lead(workdir: Path) -> None:
    named = assay(
        "as", "aisbench", "--models", "two", "vllm_api_stream_chat", "--datasets", "sums_gen", "--search"
    )
    assert named.status == 0, named.err
    assert f"sums_gen              {CONFIG}" in named.out
    assert "(Assay's own)" in named.out
    assert "hf_chat_model" in assay("as", "aisbench", "-s").out
    missing = assay("as", "aisbench", "--datasets", "sums_gem", "--search")
    assert (missing.status, "USAGE-009" in missing.err) == (2, True)
    assert "did you mean 'sums_gen'" in missing.err


def test_a_custom_table(workdir: Path) -> None:
    (workdir / "mcq.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    result = assay("as", "aisbench", "--models", "two", "--custom-dataset-path", "mcq.csv")
    assert result.status == 0, result.err
    assert table(tree(workdir))[1] == ["mcq", "a783b1", "accuracy", "gen", "100.00", "0.00"]


def test_a_table_behind_a_service(workdir: Path) -> None:
    (workdir / "mcq.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,A\n", encoding="utf-8")
    with serving(saying("B")) as server:
        named = (
            "--models",
            "vllm_api_general",
            "--url",
            server.url,
            "--model-name",
            "small",
            "--batch-size",
            "2",
        )
        result = assay("as", "aisbench", *named, "--custom-dataset-path", "mcq.csv")
    assert result.status == 0, result.err
    assert set(server.posted) == {"/v1/completions"}, "a model that is no chat model is shown texts"
    assert {body["model"] for body in server.bodies} == {"small"}
    assert table(tree(workdir))[1][4:] == ["50.00"]


def test_flags_without_effect_are_reported(workdir: Path) -> None:
    flags = ("--debug", "--merge-ds", "--num-warmups", "3", "--max-num-workers", "2")
    result = assay(
        "as", "aisbench", "--models", "two", "--datasets", "sums_gen", *flags, "--mode", "infer_judge"
    )
    assert result.status == 0
    for flag in ("--debug", "--merge-ds", "--num-warmups", "--max-num-workers", "mode infer_judge"):
        assert f"{flag}: " in result.err


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--mode", "perf"), "only servers can be benchmarked"),
        (("--response-anomaly",), "--response-anomaly"),
        (("--mode", "eval"), "add --reuse"),
        (("--mode", "eval", "--reuse", "20200101_000000"), "there is no earlier run"),
        (("--num-prompts", "0"), "--num-prompts is 0, expected at least 1"),
        (("--url", "http://h"), "but none of the models has it"),
        (("--summarizer", "nobody"), "no summarizer config 'nobody'"),
        (("--custom-dataset-path", "x.csv"), "--datasets and --custom-dataset-path are both set"),
    ],
)
def test_what_cannot_be_done_is_rejected(flags: tuple[str, ...], part: str) -> None:
    result = assay("as", "aisbench", "--models", "two", "--datasets", "sums_gen", *flags)
    assert result.status == 2
    assert part in result.err


def test_a_name_that_is_no_model(workdir: Path) -> None:
    result = assay("as", "aisbench", "--models", "vllm_api_stream_chta", "--datasets", "sums_gen")
    assert (result.status, "did you mean 'vllm_api_stream_chat'" in result.err) == (2, True)
    assert "no model is named" in assay("as", "aisbench", "--datasets", "sums_gen").err
    assert "no dataset is named" in assay("as", "aisbench", "--models", "two").err
