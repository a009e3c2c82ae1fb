"""Likelihoods and label probabilities of servers on the command line; the last server is llama.cpp's own."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.prompt import Message
from assay.core.request import Ask, Kind, Labels, make_request
from assay.core.response import LabelProbs
from cli import assay
from fakes.llama_server import llama_server
from fakes.openai_server import serving
from fakes.scoring_server import ECHOING, LISTING, VLLM, Powers, scoring
from fakes.tiny_models import write_tiny_model

pytest.importorskip("torch", reason="the hf extra is not installed")
ROWS = "".join(f"{n}+{n}=,{n},{2 * n},B\n" for n in range(1, 6))
BOTH = ("--method", "ppl,prob")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"), adds_bos=True, chat=True)


@pytest.fixture(autouse=True)
def _data(workdir: Path, empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (workdir / "data.csv").write_text(f"question,A,B,answer\n{ROWS}", encoding="utf-8")


def scores(run: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return all scores of a run, by sample and method."""
    lines = (Path(run) / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    return {(one["sample_id"], one["track"]): one for one in map(json.loads, lines)}


@pytest.mark.parametrize("chat", ["on", "off"])
def test_a_run_on_a_server_scores_as_the_same_model_here(folder: Path, chat: str) -> None:
    local = assay("run", "data.csv", "-m", f"hf:{folder}", *BOTH, "--chat", chat, "--out", "local")
    assert local.status == 0, local.err
    with scoring(folder, adds_bos=True) as server:
        command = ("run", "data.csv", "-m", server.model, *BOTH, "--chat", chat, "--out", "served")
        result = assay(*command)
        assert result.status == 0, result.err
        path = "/chat/completions" if chat == "on" else "/completions"
        assert f"ppl, computed from prompt_logprobs of {path}" in result.out
        assert f"prob, computed from logprob_token_ids of {path}, with /tokenize" in result.out
        n_asked = len(server.bodies)
        assert assay(*command).status == 0
        n_probes = len(server.bodies) - n_asked
        assert n_probes <= 12, "the server is asked what it can do, and nothing that the journal holds"
        checked = assay("check", "data.csv", "-m", server.model, *BOTH, "--chat", chat)
        assert f"ppl is computed from prompt_logprobs of {path}" in checked.out, checked.out + checked.err
    here, there = scores("local"), scores("served")
    assert here.keys() == there.keys()
    for key, one in here.items():
        other = there[key]
        assert (one["answer"], one["verdict"]) == (other["answer"], other["verdict"])
        for mine, others in zip(one["options"], other["options"], strict=True):
            number = "sum_logprob" if key[1] == "ppl" else "prob"
            assert mine[number] == pytest.approx(others[number], abs=1e-4)
            assert "prob_at_most" not in others
    card = json.loads((Path("served") / "manifest.json").read_text(encoding="utf-8"))["card"]
    assert set(card["ways"]) == {"span", "labels"}


def test_what_a_list_leaves_open_is_shown_as_a_bound(folder: Path) -> None:
    powers = Powers(max_logprobs=20)
    with scoring(folder, powers, adds_bos=True) as server:
        run = ("run", "data.csv", "-m", server.model, "--method", "prob", "--chat", "off", "--out", "run")
        result = assay(*run)
        assert result.status == 0, result.err
        assert "prob, computed from the 20 likeliest next tokens of /completions" in result.out
    every = scores("run")
    bounded = [one for one in every.values() if "prob_at_most" in one["options"][0]]
    assert bounded
    assert "had labels outside the list of likeliest tokens" in result.out + result.err
    for one in bounded:
        assert one["verdict"] == "unanswered" or one["answer"] is not None
    sample_id = next(id_ for (id_, _), one in every.items() if one is bounded[0])
    assert "at most" in assay("explain", "run", sample_id).out


@pytest.mark.parametrize(
    ("powers", "chat", "message"),
    [
        (
            LISTING,
            "off",
            ("'ppl': /completions does not return log-probabilities of a prompt", "--method prob"),
        ),
        (ECHOING, "on", ("for plain texts it does, with echo: use --chat off", "--method prob")),
        (Powers(max_logprobs=0), "off", ("Unrecognized request argument", "--method gen")),
    ],
)
def test_a_method_that_a_server_cannot_do_is_rejected_with_its_reason_and_what_to_do(
    folder: Path, powers: Powers, chat: str, message: tuple[str, ...]
) -> None:
    with scoring(folder, powers, adds_bos=True) as server:
        result = assay("run", "data.csv", "-m", server.model, "--method", "ppl", "--chat", chat)
        assert all(len(str(body.get("prompt", ""))) < 30 for body in server.bodies), "no row was sent"
        url = server.url
    assert result.status == 2
    assert "PLAN-001" in result.err
    flat = " ".join(result.err.split())
    for words in message:
        assert words in flat
    assert f"assay run data.csv --model openai:tiny@{url} --method" in flat
    assert not Path("runs").exists()


def test_nothing_is_asked_before_a_run_that_only_writes() -> None:
    with serving() as server:
        assert assay("run", "data.csv", "-m", f"openai:m@{server.url}", "--method", "gen").status == 0
        assert len(server.bodies) == 5


def test_pmi_needs_a_token_before_a_text(folder: Path) -> None:
    with scoring(folder, replace(VLLM, by_ids=False), adds_bos=True) as server:
        run = ("run", "data.csv", "-m", server.model, "--method", "ppl", "--score-by", "pmi", "--chat", "off")
        result = assay(*run)
    assert result.status == 0, result.err


@pytest.mark.model
def test_label_probabilities_of_llama_cpp_are_near_those_of_the_same_weights_here() -> None:
    question = "Which of these is a fruit?\nA. apple\nB. stone\nC. chair\nD. river\nAnswer:"
    capital = "What is the capital of France?\nA. Berlin\nB. Paris\nAnswer:"
    letters = tuple((f" {letter}", letter) for letter in "ABCD")
    chat = (Message("user", question), Message("assistant", "Answer:"))
    asks: list[Ask] = [
        Labels(question, letters),
        Labels(capital, letters[:2]),
        Labels("Is water wet? Answer:", ((" Yes", " yes"), (" No", " no"))),
        Labels(chat, letters),
        Labels(chat[:1], letters),
    ]
    requests = [make_request("t", str(n), "any", "labels", 0, ask) for n, ask in enumerate(asks)]
    here = {one.request_id: one.outcome for one in open_backend("smollm2", {}).run(requests)}
    with llama_server() as url:
        backend = open_backend(f"openai:smollm2@{url}", {})
        for is_chat in (False, True):
            card = backend.probe_card(frozenset(Kind), is_chat=is_chat)
            assert "1,000 likeliest next tokens" in card.ways[Kind.LABELS]
            assert "does not return log-probabilities of a" in card.cannot[Kind.SPAN]
        there = {one.request_id: one.outcome for one in backend.run(requests)}
    for one in requests:
        mine, others = here[one.id], there[one.id]
        assert isinstance(mine, LabelProbs)
        assert isinstance(others, LabelProbs), others
        assert others.n_prompt_tokens == mine.n_prompt_tokens
        # llama.cpp rounds what flows between layers to 8 bits. Seen: 0.036 apart at most, and at most 0.68
        # in the logarithm, of a probability of 0.0001.
        assert others.probs == pytest.approx(mine.probs, abs=0.06)
        for p, q in zip(mine.probs, others.probs, strict=True):
            assert abs(math.log(p) - math.log(q)) < 0.9
        assert others.decided_label == mine.decided_label
