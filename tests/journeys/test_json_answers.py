"""`--json` prints one JSON value that matches its schema, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.core.run import RunStatus, Setting
from assay.faces.cli.answers import (
    CheckAnswer,
    CommandAnswer,
    ComparisonAnswer,
    DatasetsAnswer,
    DiffAnswer,
    DocsAnswer,
    ExplainAnswer,
    NewAnswer,
    PrepareAnswer,
    RunAnswer,
    RunsAnswer,
    SampleDiffAnswer,
    ScorersAnswer,
    ScoringAnswer,
    ScoringsAnswer,
)
from assay.faces.cli.json_output import ErrorAnswer
from assay.faces.cli.progress_views import ProgressEvent
from assay.results.read import StoredRun
from cli import Result, assay
from fakes.openai_server import saying, serving

EXAMPLES = Path(__file__).parents[2] / "examples"
ARITHMETIC = str(EXAMPLES / "arithmetic.csv")
BROKEN = Path(__file__).parents[1] / "errors" / "broken"
FAILING = ("run", ARITHMETIC, "-m", "mock", "--model-arg", "fail_every=9", "--out", "run")


def decode_answer(result: Result) -> CommandAnswer | ErrorAnswer:
    """Return an answer, decoded by its schema; the whole output is that one value."""
    answer: CommandAnswer | ErrorAnswer = msgspec.json.decode(result.out, type=CommandAnswer | ErrorAnswer)
    # Encoded again it is the same: the output has no keys that the schema lacks.
    assert json.loads(msgspec.json.encode(answer)) == json.loads(result.out)
    return answer


def test_a_run(workdir: Path) -> None:
    result = assay("run", ARITHMETIC, "-m", "mock", "--method", "ppl,gen", "--json")
    answer = decode_answer(result)
    assert isinstance(answer, RunAnswer)
    assert result.status == 0
    assert result.err == ""
    assert (answer.status, answer.model, answer.tasks) == (RunStatus.COMPLETE, "mock", ("arithmetic",))
    assert (answer.n_samples, answer.n_failed, answer.failures, answer.is_failed) == (30, 0, {}, False)
    stored = json.loads(Path(answer.folder, "summary.json").read_text(encoding="utf-8"))
    assert msgspec.to_builtins(list(answer.metrics)) == stored
    assert answer.seconds is not None
    # The report of the same run says the same, and so does the list of runs, by what decides.
    assert decode_answer(assay("report", "--json")) == answer
    runs = decode_answer(assay("ls", "--json"))
    assert isinstance(runs, RunsAnswer)
    assert runs.problems == ()
    (listed,) = runs.runs
    assert [metric.method for metric in listed.metrics] == ["ppl", "gen"]
    assert msgspec.structs.replace(listed, metrics=answer.metrics) == answer


def test_answers_alone_are_kept(workdir: Path) -> None:
    answer = decode_answer(assay("run", ARITHMETIC, "-m", "mock", "--stage", "infer", "--json"))
    assert isinstance(answer, RunAnswer)
    assert (answer.status, answer.metrics) == (RunStatus.ANSWERED, ())


def test_what_a_dataset_prints_is_no_part_of_the_answer(workdir: Path) -> None:
    made = decode_answer(assay("new", "my_quiz", "--like", "llmbox", "--json"))
    assert isinstance(made, NewAnswer)
    code = Path(made.dataset)
    code.write_text(f"print('its own words')\n{code.read_text(encoding='utf-8')}", encoding="utf-8")
    result = assay("run", made.dataset, "-m", "mock", "--json")
    assert isinstance(decode_answer(result), RunAnswer)
    assert "its own words" in result.err


@pytest.mark.parametrize(
    ("allowed", "status"), [(None, 3), ("0", 3), ("4", 3), ("5", 0), ("16%", 3), ("17 %", 0)]
)
def test_as_many_samples_may_fail_as_are_allowed_to(workdir: Path, allowed: str | None, status: int) -> None:
    flags = () if allowed is None else ("--allow-failures", allowed)
    result = assay(*FAILING, *flags, "--json")
    answer = decode_answer(result)
    assert isinstance(answer, RunAnswer)
    assert (answer.n_failed, answer.failures) == (5, {"injected": 5})
    assert (result.status, answer.is_failed) == (status, status == 3)
    passes = "more than --allow-failures" in result.err and "--retry-failed" in result.err
    assert passes == (status == 3)
    assert "5 of 30 samples failed (5 injected)" in result.err
    # The text output says the same, and the same run resumes: allowed failures are not part of its identity.
    again = assay(*FAILING, *flags)
    assert again.status == status
    assert "is complete" in again.err
    manifest = json.loads((workdir / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["settings"]["allow_failures"] == (
        {"value": 0, "source": "default"} if allowed is None else {"value": allowed, "source": "flag"}
    )


def test_what_may_fail_can_stand_in_the_settings_file(workdir: Path) -> None:
    (workdir / "assay.toml").write_text("allow_failures = 29\n", encoding="utf-8")
    assert assay(*FAILING).status == 0
    (workdir / "assay.toml").write_text('allow_failures = "1%"\n', encoding="utf-8")
    assert assay(*FAILING).status == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "nowhere.csv"), "SOURCE-001"),
        (("run", str(BROKEN / "answer_not_an_option.csv"), "-m", "mock"), "TABLE-011"),
        (("run", "x.csv", "--modle", "mock"), "USAGE-021"),
        (("report", "nothing"), "STORE-005"),
        (("explain", "nothing", "row:1"), "STORE-005"),
        (("ls", "datasets", "nowhere"), "USAGE-004"),
        (("prepare", "nowhere"), "PREPARE-001"),
        (("new", "a-b", "--like", "llmbox"), "USAGE-008"),
        (("docs", "nowhere"), "USAGE-010"),
        (("bench", "openai:x@http://127.0.0.1:1/v1", "--limit", "ttft ? 5"), None),
        (("rnu",), "USAGE-021"),
    ],
)
def test_errors(workdir: Path, arguments: tuple[str, ...], code: str | None) -> None:
    result = assay(*arguments, "--json")
    answer = decode_answer(result)
    assert isinstance(answer, ErrorAnswer)
    assert result.status == 2
    assert answer.n_problems >= len(answer.problems) >= 1
    first = answer.problems[0]
    assert first.what
    assert first.fix
    assert code in (None, first.code)


def test_the_place_of_an_error_is_reported_in_parts(workdir: Path) -> None:
    answer = decode_answer(assay("run", str(BROKEN / "answer_not_an_option.csv"), "-m", "mock", "--json"))
    assert isinstance(answer, ErrorAnswer)
    where = answer.problems[0].where
    assert where is not None
    assert (where.row, where.line, where.column) == (2, 3, "answer")


def test_a_check_of_one_dataset(workdir: Path) -> None:
    result = assay("check", ARITHMETIC, "--method", "ppl,gen", "--prompts", "1", "--json")
    answer = decode_answer(result)
    assert isinstance(answer, CheckAnswer)
    assert result.status == 0
    (dataset,), (task,) = answer.datasets, answer.tasks
    assert (dataset.state, dataset.n_rows, dataset.methods) == ("ok", 30, ("ppl", "gen"))
    assert (task.name, task.type, task.facts["options"]) == ("arithmetic", "mcq", "A, B, C, D")
    assert [prompt.method for prompt in task.prompts] == ["ppl", "gen"]
    assert "8 + 4 =" in str(task.prompts[0].prompt)
    assert any("longest row" in finding.text for finding in task.findings)


def test_a_check_tells_problems_as_its_answer(workdir: Path) -> None:
    result = assay("check", str(BROKEN / "answer_not_an_option.csv"), "--json")
    answer = decode_answer(result)
    assert isinstance(answer, CheckAnswer)
    assert result.status == 1
    (dataset,) = answer.datasets
    assert dataset.state == "error"
    assert dataset.n_problems == len(dataset.problems) == 2
    many = assay("check", str(BROKEN / "answer_not_an_option.csv"), ARITHMETIC, "--json")
    answer = decode_answer(many)
    assert isinstance(answer, CheckAnswer)
    assert many.status == 1
    assert [one.state for one in answer.datasets] == ["error", "ok"]


def test_scoring_again(workdir: Path) -> None:
    assert assay(*FAILING).status == 3
    result = assay("score", "run", "--score-by", "sum", "--json", "--method", "gen")
    assert result.status == 2
    again = assay("score", "run", "--extract", "regex:[A-D]", "--json")
    answer = decode_answer(again)
    assert isinstance(answer, ScoringAnswer)
    assert (again.status, answer.n_failed, answer.failures) == (3, 5, {"injected": 5})
    assert answer.scoring is not None
    assert assay("score", "run", "--extract", "regex:[A-D]", "--allow-failures", "5", "--json").status == 0
    # Allowed failures are stored with this scoring only; the next reader of the run sees them.
    own, without, allowing = (StoredRun(path).manifest for path in sorted(Path("run/scorings").glob("0*")))
    assert allowing.settings["allow_failures"] == Setting("5", "flag")
    assert own.settings["allow_failures"] == without.settings["allow_failures"] == Setting(0, "default")
    shown = decode_answer(assay("report", "run", "--json"))
    assert isinstance(shown, RunAnswer)
    assert not shown.is_failed
    listed = decode_answer(assay("score", "run", "--list-scorings", "--json"))
    assert isinstance(listed, ScoringsAnswer)
    assert [one.is_shown for one in listed.scorings] == [False, False, True]
    assert isinstance(decode_answer(assay("score", "--list", "--json")), ScorersAnswer)


def test_a_sample_in_full(workdir: Path) -> None:
    assay("run", ARITHMETIC, "-m", "mock", "--method", "ppl,gen", "--out", "run")
    answer = decode_answer(assay("explain", "run", "row:1", "--json"))
    assert isinstance(answer, ExplainAnswer)
    assert (answer.task, answer.sample.fields["question"]) == ("arithmetic", "8 + 4 =")
    assert [score.track for score in answer.scores] == ["ppl", "gen"]
    assert {one.ask.track for one in answer.asks} == {"ppl", "gen"}
    assert all(one.response is not None and one.tokens for one in answer.asks)
    assert any(one.attempts for one in answer.asks)
    assert all(0 <= one.ask.context < len(answer.contexts) for one in answer.asks)


def test_datasets_starters_and_their_pages(workdir: Path) -> None:
    made = decode_answer(assay("new", "my_quiz", "--like", "aisbench", "--json"))
    assert isinstance(made, NewAnswer)
    assert all(Path(file).is_file() for file in made.files)
    listed = decode_answer(assay("ls", "datasets", "--json"))
    assert isinstance(listed, DatasetsAnswer)
    assert made.dataset in {one.name for one in listed.datasets}
    pages = decode_answer(assay("docs", "my_quiz", "--check", "--json"))
    assert isinstance(pages, DocsAnswer)
    assert [page.state for page in pages.pages] == ["up to date"]
    assert pages.problems == ()


def test_data_that_is_prepared(workdir: Path) -> None:
    decode_answer(assay("new", "my_set", "--like", "ultraeval", "--json"))
    result = assay("prepare", "my_set", "--json")
    answer = decode_answer(result)
    assert isinstance(answer, PrepareAnswer)
    assert result.status == 0
    (folder,) = answer.folders
    assert folder.state == "ok"
    assert all(file.n_rows for file in folder.files)
    script = workdir / "my_set" / "make_dataset.py"
    script.write_text("raise SystemExit('no')\n", encoding="utf-8")
    failed = assay("prepare", "my_set", "--json")
    answer = decode_answer(failed)
    assert isinstance(answer, PrepareAnswer)
    assert failed.status == 2
    assert answer.folders[0].problem is not None


def test_the_list_of_datasets_has_its_own_flag(workdir: Path) -> None:
    answer = decode_answer(assay("ls", "--json", "datasets"))
    assert isinstance(answer, ErrorAnswer)
    assert "assay ls datasets --json" in answer.problems[0].what


def events(text: str) -> list[ProgressEvent]:
    return [msgspec.json.decode(line, type=ProgressEvent) for line in text.splitlines()]


def test_progress_for_programs_is_one_object_a_line(workdir: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "assay",
        "run",
        ARITHMETIC,
        "-m",
        "mock",
        "--method",
        "ppl,gen",
        "--json",
    ]
    slow = [*command, "--progress", "json", "--model-arg", "delay_ms=10"]
    done = subprocess.run(slow, capture_output=True, text=True, check=True)
    answer = decode_answer(Result(done.returncode, done.stdout, done.stderr))
    assert isinstance(answer, RunAnswer)
    heard = events(done.stderr)
    assert heard
    assert {(event.run, event.folder) for event in heard} == {(answer.id, answer.folder)}
    first, last = heard[0].progress, heard[-1].progress
    assert (first.phase, first.n_done) == ("loading", 0)
    assert (last.phase, last.n_done, last.n_samples, last.share_done) == ("scoring", 30, 30, 1.0)
    headlines = [one for one in answer.metrics if one.is_headline and one.group is None]
    assert [track.score for track in last.tracks] == headlines


def test_a_server_tells_its_calls_and_their_repetition(workdir: Path, empty_cache: None) -> None:
    with serving(saying("A")) as server:
        result = assay(
            "run",
            ARITHMETIC,
            "-m",
            f"openai:small@{server.url}",
            "--concurrency",
            "3",
            "--progress",
            "json",
            "--json",
        )
    decode_answer(result)
    last: Any = events(result.err)[-1].progress
    assert (last.concurrency, last.n_retries) == (3, 0)


def test_nothing_is_said_twice_about_a_run_that_is_complete(workdir: Path) -> None:
    assay("run", ARITHMETIC, "-m", "mock", "--out", "run")
    result = assay("run", ARITHMETIC, "-m", "mock", "--out", "run", "--progress", "none")
    assert result.status == 0
    assert result.err == ""


def test_comparisons_and_differences(workdir: Path) -> None:
    for name, tokens in (("one", "9"), ("two", "8")):
        assay("run", ARITHMETIC, "-m", "mock", "--method", "ppl,gen", "--max-tokens", tokens, "--out", name)
    compared = decode_answer(assay("compare", "one", "two", "--json"))
    assert isinstance(compared, ComparisonAnswer)
    assert [side.name for side in compared.comparison.sides] == ["one", "two"]
    differing = decode_answer(assay("diff", "one", "two", "--json"))
    assert isinstance(differing, DiffAnswer)
    assert differing.diff.n == 30
    sample = decode_answer(assay("diff", "one", "two", "--sample", "row:1", "--json"))
    assert isinstance(sample, SampleDiffAnswer)
    assert sample.sample.findings[0].where == "gen answer 0: max_tokens"
    wrong = decode_answer(assay("compare", "one", "--json"))
    assert isinstance(wrong, ErrorAnswer)
    assert wrong.problems[0].code == "COMPARE-003"
