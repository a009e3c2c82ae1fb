"""assay run with several models and prompts: side by side, compared, stopped, resumed and failing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from assay.app.run_groups import find_compared_folders
from assay.faces.web.view import Viewer, ViewSettings
from cli import assay, error_of
from fakes.openai_server import Body, failing, saying, serving

ROWS = "".join(f"{n}+{n}=,{n},{2 * n},{'AB'[n % 2]}\n" for n in range(1, 13))
TWO = ("-m", "a=mock", "-m", "b=mock", "--model-arg", "b.answer=A")


@pytest.fixture(autouse=True)
def _data(workdir: Path, empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (workdir / "data.csv").write_text(f"question,A,B,answer\n{ROWS}", encoding="utf-8")
    (workdir / "terse.txt").write_text("{question} {A} or {B}?\n", encoding="utf-8")
    (workdir / "polite.txt").write_text("Please: {{ question }}\n{{ A }} or {{ B }}?\n", encoding="utf-8")


def group_of(*command: str) -> dict[str, Any]:
    result = assay(*command, "--json")
    assert result.status == 0, result.err
    found = json.loads(result.out)
    assert found["kind"] == "run_group"
    return dict(found)


def test_two_models_are_two_runs_and_one_table() -> None:
    group = group_of("run", "data.csv", *TWO)
    assert [one["model"] for one in group["runs"]] == ["a", "b"]
    runs = [one["run"] for one in group["runs"]]
    assert [run["label"] for run in runs] == ["a", "b"]
    assert {run["model"] for run in runs} == {"mock"}, "a label is not part of the model"
    assert all(Path(run["folder"], "report.html").is_file() for run in runs)
    assert Path(group["page"]).is_file()
    (compared,) = [one for one in group["comparison"]["metrics"] if one["is_headline"]]
    values = [run["metrics"][0]["value"] for run in runs]
    assert compared["result"]["difference"] == pytest.approx(values[1] - values[0])
    shown = assay("run", "data.csv", *TWO)
    assert "is complete: 12 stored responses" in shown.err, "the same command reuses both runs"
    assert "B scores" in shown.out
    assert "http" not in shown.out
    alone = assay("run", "data.csv", "-m", "mock")
    assert "12 stored responses" in alone.err, "a run of the group is an ordinary run"


def test_a_label_changes_neither_the_run_nor_the_cache() -> None:
    plain = json.loads(assay("run", "data.csv", "-m", "mock", "--json").out)
    labelled = json.loads(assay("run", "data.csv", "-m", "mock", "--label", "mine", "--json").out)
    assert plain["id"] == labelled["id"]
    assert (plain["label"], labelled["label"]) == (None, "mine")
    again = json.loads(assay("run", "data.csv", "-m", "mock", "--json").out)
    assert again["label"] == "mine", "a run keeps its label"
    assert "model mine" in assay("report").out
    assert "mine" in Path(labelled["folder"], "report.md").read_text(encoding="utf-8").splitlines()[0]


def test_names_of_the_group_and_of_the_latest_command() -> None:
    group = group_of("run", "data.csv", *TWO)
    shown = assay("report")
    assert shown.status == 0
    assert group["folder"] in shown.out
    assert json.loads(assay("report", group["id"][:8], "--json").out)["id"] == group["id"]
    assert assay("report", "--markdown").out.startswith("| model | data gen |")
    for name in ("last", group["id"], group["folder"]):
        assert assay("compare", name).out.splitlines()[:2] == [
            f"A  a  {group['runs'][0]['run']['folder']}",
            f"B  b  {group['runs'][1]['run']['folder']}",
        ]
    code, _, fix = error_of(assay("explain", group["id"], "row:1"))
    assert code == "GROUP-007"
    assert group["runs"][1]["run"]["id"] in fix
    assert assay("explain", "last", "row:1").status == 0, "one run is needed: the latest one"
    assert json.loads(assay("ls", "--json").out)["groups"] == [group["folder"]]
    assert assay("run", "data.csv", "-m", "c=mock", "--model-arg", "answer=B").status == 0
    assert "model c" in assay("report").out, "the latest command had one model"
    assert error_of(assay("compare", "last"))[0] == "COMPARE-003"
    assert assay("compare", group["id"], "last").out.splitlines()[2].startswith("C  c  ")


def test_the_viewer_opens_with_the_comparison_of_a_group() -> None:
    group = group_of("run", "data.csv", *TWO)
    folders = find_compared_folders(group["id"], Path("runs"))
    viewer = Viewer(ViewSettings(tuple(folders), port=0, compares=True))
    names = [one["run"]["id"] for one in group["runs"]]
    try:
        assert viewer.address.endswith(f"/compare?run={names[0]}&run={names[1]}")
    finally:
        viewer.close()
    assert find_compared_folders("runs", Path("runs")) == []


def test_models_times_prompts() -> None:
    group = group_of("run", "data.csv", *TWO, "--prompt", "terse.txt", "--prompt", "kind=polite.txt")
    names = [(one["model"], one["prompt"]) for one in group["runs"]]
    assert names == [("a", "terse"), ("a", "kind"), ("b", "terse"), ("b", "kind")]
    assert len({one["run"]["id"] for one in group["runs"]}) == 4
    pairs = [one for one in group["comparison"]["metrics"] if one["is_headline"]]
    assert len(pairs) == 6
    assert all(one["p_corrected"] is not None for one in pairs)
    assert [side["name"] for side in group["comparison"]["sides"]][:2] == ["a · terse", "a · kind"]
    folder = Path(group["runs"][1]["run"]["folder"])
    first = json.loads((folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["contexts"] == ["Please: 1+1=\n1 or 2?"]
    shown = assay("report")
    assert "data: the prompt template differs" in shown.out
    board = json.loads(assay("leaderboard", "--json").out)["board"]
    labels = ["data (prompt kind)", "data (prompt terse)"]
    assert sorted(one["label"] for one in board["columns"]) == labels
    assert len(board["models"]) == 2


def test_prompts_of_one_model_need_no_model_column() -> None:
    shown = assay("run", "data.csv", "-m", "mock", "--template", "one={question}", "--template", "{A} {B}")
    assert shown.status == 0, shown.err
    assert "A  one" in shown.out
    assert "B  template 2" in shown.out


def test_the_stages_of_a_group() -> None:
    command = ("run", "data.csv", *TWO, "--prompt", "terse.txt", "--prompt", "polite.txt", "--out", "group")
    first = assay(*command, "--stage", "infer")
    assert first.status == 0, first.err
    assert "stored answers to 12 requests in group/a-terse" in first.out
    assert "answered" in assay("report", "group").out
    group = group_of(*command, "--stage", "score")
    assert [one["run"]["folder"] for one in group["runs"]] == [
        "group/a-terse",
        "group/a-polite",
        "group/b-terse",
        "group/b-polite",
    ]
    assert group["comparison"] is not None
    assert assay(*command, "--fresh").status == 0
    assert Path("group/a-terse.old-1").is_dir()
    assert assay(*command).status == 0


def test_servers_work_side_by_side_and_addresses_are_not_shown() -> None:
    meeting = threading.Barrier(2, timeout=60)
    met = threading.Event()

    def wait_for_the_other(body: Body) -> Any:
        # Answers only while the other server is asked too: one after the other, this would never end.
        if not met.is_set():
            meeting.wait()
            met.set()
        return saying("A")(body)

    with serving(wait_for_the_other) as one, serving(wait_for_the_other) as two:
        command = ("-m", f"openai:m@{one.url}", "-m", f"new=openai:m@{two.url}", "--concurrency", "1")
        shown = assay("run", "data.csv", *command, "-m", "mock", "--out", "runs")
        assert shown.status == 0, shown.err
        assert "A  openai:m" in shown.out
        assert "http://" not in shown.out
        assert len(one.bodies) == len(two.bodies) == 12
    for form in ("table", "latex", "csv", "markdown"):
        board = assay("leaderboard", "runs", "--format", form).out
        assert "http://" not in board.replace("percent", "")
        assert "new" in board
    for page in ("compare.html", "openai-m/report.html"):
        title = (
            Path("runs", page).read_text(encoding="utf-8").partition("<title>")[2].partition("</title>")[0]
        )
        assert "openai:m" in title
        assert "http" not in title


def test_the_same_model_on_another_port_is_the_same_row() -> None:
    for number, reply in enumerate("AB"):
        with serving(saying(reply)) as server:
            shown = assay("run", "data.csv", "-m", f"openai:m@{server.url}", "--out", f"runs/{number}")
            assert shown.status == 0, shown.err
    board = json.loads(assay("leaderboard", "--json").out)["board"]
    assert [model["name"] for model in board["models"]] == ["openai:m"]
    with serving(saying("A")) as server:
        named = f"tuned=openai:m@{server.url}"
        assert assay("run", "data.csv", "-m", named, "--out", "runs/tuned").status == 0
    board = json.loads(assay("leaderboard", "--json").out)["board"]
    assert sorted(model["name"] for model in board["models"]) == ["openai:m", "tuned"]


def test_everything_wrong_is_reported_before_anything_is_loaded() -> None:
    result = assay(
        *("run", "data.csv", "-m", "mock", "-m", "far=openai:m@http://127.0.0.1:9/v1"),
        *("-m", "hf:/nowhere", "-m", "c=mock", "--model-arg", "c.anser=B"),
    )
    assert result.status == 2
    assert [line.split()[0] for line in result.err.splitlines() if line[:1].isupper()] == [
        "MODEL-007",
        "MODEL-003",
        "MODEL-002",
    ]
    assert "far: no server responds" in result.err
    assert not Path("runs").exists()
    missing = assay("run", "nowhere.csv", *TWO)
    assert missing.err.count("SOURCE-001") == 1, "a problem of the dataset appears once"


def test_equal_runs_are_rejected() -> None:
    code, what, _ = error_of(assay("run", "data.csv", "-m", "a=mock", "-m", "b=mock"))
    assert code == "GROUP-006"
    assert "'a' and 'b'" in what


def test_a_folder_of_something_else_is_not_touched(workdir: Path) -> None:
    assert assay("run", "data.csv", "-m", "mock", "--out", "single").status == 0
    assert error_of(assay("run", "data.csv", *TWO, "--out", "single"))[0] == "GROUP-005"
    (workdir / "full").mkdir()
    (workdir / "full" / "notes.txt").write_text("mine", encoding="utf-8")
    code, what, _ = error_of(assay("run", "data.csv", *TWO, "--out", "full"))
    assert code == "GROUP-005"
    assert "notes.txt" in what
    group = group_of("run", "data.csv", *TWO)
    Path(group["folder"], "group.json").write_text("{", encoding="utf-8")
    assert error_of(assay("report", group["folder"]))[0] == "GROUP-008"


def test_a_model_that_fails_does_not_stop_the_others() -> None:
    with serving(failing(401, "no key")) as broken:
        command = ("run", "data.csv", "-m", f"far=openai:m@{broken.url}", *TWO, "--out", "group")
        result = assay(*command)
        assert result.status == 2
        assert "MODEL-009" in result.err
        assert "far failed: " in result.err
        assert "B scores" in result.out, "the other two are compared"
        stored = json.loads(Path("group/group.json").read_text(encoding="utf-8"))
        assert [len(one["problems"]) for one in stored["runs"]] == [1, 0, 0]
        assert "far failed" in assay("report", "group").err
        broken.model = saying("A")
        again = assay(*command)
        assert again.status == 0, again.err
        assert "group/a is complete" in again.err
        assert "C  b" in again.out


def test_failed_samples_of_any_model_are_status_3() -> None:
    result = assay("run", "data.csv", *TWO, "--model-arg", "a.fail_every=1")
    assert result.status == 3
    assert "a: 12 of 12 samples failed" in result.err


def test_ctrl_c_stops_every_run_and_the_same_command_resumes(workdir: Path) -> None:
    released = threading.Event()

    def hold_after_three(body: Body) -> Any:
        if not released.is_set() and len(one.bodies) + len(two.bodies) > 6:
            released.wait(60)
        return saying("A")(body)

    with serving(hold_after_three) as one, serving(hold_after_three) as two:
        command = [
            *(sys.executable, "-m", "assay", "run", "data.csv", "--out", "group", "--concurrency", "1"),
            *("-m", f"a=openai:m@{one.url}", "-m", f"b=openai:m@{two.url}"),
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        journals = [workdir / "group" / name / "responses.jsonl" for name in "ab"]
        deadline = time.monotonic() + 300
        while not any(journal.exists() and journal.read_bytes() for journal in journals):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert "The same command resumes" in process.communicate(timeout=120)[1]
        assert process.returncode == 130
        released.set()
        assert json.loads((workdir / "group" / "group.json").read_bytes())["finished"] is None
        again = assay(*command[3:])
        assert again.status == 0, again.err
        assert "resuming group/" in again.err
        assert [len(journal.read_text(encoding="utf-8").splitlines()) for journal in journals] == [12, 12]


def test_other_commands_take_one_model_and_one_prompt() -> None:
    assert error_of(assay("check", "data.csv", "-m", "mock", "-m", "smollm2"))[0] == "GROUP-002"
    scored = error_of(assay("run", "data.csv", *TWO, "--stage", "score", "--answers-from", "last"))
    assert scored[:1] == ("GROUP-002",)
    assert error_of(assay("run", "data.csv", "--label", "http://host"))[0] == "GROUP-002"
    assert assay("check", "data.csv", "-m", "mock", "--prompt", "terse.txt").status == 0


def test_each_run_has_the_whole_budget_and_the_command_says_so(workdir: Path) -> None:
    (workdir / "data.csv").write_text(
        "question,A,B,answer\n" + "1+1=,2,3,A\n2+2=,5,4,B\n" * 10, encoding="utf-8"
    )
    line = ("run", "data.csv", "-m", "a=mock", "-m", "b=mock", "--model-arg", "b.answer=A", "--method", "gen")
    stopped = assay(*line, "--budget", "50-tokens", "--no-cache")
    assert stopped.status == 4
    assert "budget 50-tokens for each of the 2 runs" in stopped.out
    assert stopped.out.count(" stopped\n") == 2
    resumed = assay(*line, "--budget", "1M-tokens", "--no-cache")
    assert resumed.status == 0
    assert "n = 20 in each score" in resumed.out
