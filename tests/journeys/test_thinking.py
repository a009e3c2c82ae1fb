"""A run of a thinking model from the command line to its page, its JSON and a sample."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.results.run_view import RunView
from cli import assay
from fakes.provider_servers import Body, anthropic_reply, providing
from fakes.thinking_templates import SWITCHED

ROWS = "question,a,b,correct\n" + "".join(f"What is {n} + {n}?,{2 * n},{2 * n + 1},A\n" for n in range(30))


@pytest.fixture
def quiz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "quiz.csv"
    path.write_text(ROWS)
    return path


def test_thoughts_are_counted_and_never_scored(quiz: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A truncated thought names an option, and still the sample is unanswered."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    def model(body: Body) -> Body:
        is_cut = "What is 3 + 3?" in body["messages"][-1]["content"]
        thought = {"type": "thinking", "thinking": "It could be B. The answer is B.", "signature": "x"}
        if is_cut:
            return anthropic_reply([thought], "max_tokens")
        return anthropic_reply([thought, {"type": "text", "text": "A"}])

    with providing("anthropic", model) as server:
        name = f"anthropic:m@{server.url}"
        command = ["run", "quiz.csv", "-m", name, "--method", "gen", "--thinking", "on", "--out", "run"]
        done = assay(*command, "--json", "--progress", "none")
    assert done.status == 0, done.err
    answer = json.loads(done.out)
    [metric] = [one for one in answer["metrics"] if one["is_headline"]]
    assert (metric["value"], metric["n_unanswered"], metric["n_truncated"]) == (pytest.approx(29 / 30), 1, 1)
    [thinking] = answer["thinking"]
    assert (thinking["n_thoughts"], thinking["n_cut"]) == (30, 1)
    assert "30 thoughts" in Path("run/report.md").read_text()
    view = RunView(Path("run"))
    view.refresh()
    [curve] = view.page().thinking_curves
    assert (curve.task, curve.n) == ("quiz", 30)
    explained = assay("explain", "run", "row:4", "--no-tokens")
    assert "thought, not part of the answer" in explained.out
    assert "truncated before the answer began" in explained.out


@pytest.mark.model
def test_explain_renders_the_prompt_as_the_run_did(quiz: Path) -> None:
    Path("switched.jinja").write_text(SWITCHED)
    args = [
        "-m",
        "smollm2",
        "--model-arg",
        "chat_template=switched.jinja",
        "--method",
        "gen",
        "--limit",
        "first:1",
    ]
    done = assay("run", "quiz.csv", *args, "--thinking", "off", "--max-tokens", "2", "--out", "run")
    assert done.status == 0, done.err
    assert "'</' 17400:'think'" in assay("explain", "run", "row:1").out
