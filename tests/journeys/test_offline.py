"""`--offline` against code that tries. Each attempt has a process of its own: no watch can be taken back."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.app.worker import WorkerSetup
from assay.backends.workers.messages import Batch, WorkerFailed, WorkerReady, encode_message, read_message
from assay.backends.workers.worker_process import python_path
from assay.core.request import Generate, Sampling, make_request
from cli import Result
from fakes.openai_server import serving
from fakes.reaching_out import IN_ONE_LINE, LINE, PYTHON, Door, door, trying

MOCK = ("-m", "mock")
EXAMPLES = Path(__file__).parents[2] / "examples"
IS_SEALED = sys.platform == "linux"


@pytest.fixture(autouse=True)
def _data(workdir: Path, empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("HF_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    (workdir / "data.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,A\n", encoding="utf-8")


@pytest.fixture
def elsewhere() -> Iterator[Door]:
    """A server that nobody named."""
    with door() as found:
        yield found


def python(*arguments: str, **environment: str) -> Result:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=600,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def assay(*arguments: str, **environment: str) -> Result:
    return python("-m", "assay", *arguments, **environment)


def manifest(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("name", "is_caught"),
    [*((name, True) for name in IN_ONE_LINE), ("socket", False), ("urllib", False), ("asyncio", False)],
)
def test_who_tries_is_reported_and_ends_the_run(
    workdir: Path, elsewhere: Door, name: str, is_caught: bool
) -> None:
    trying(workdir / "mine.py", IN_ONE_LINE[name], elsewhere.port, is_caught=is_caught)
    result = assay("run", "mine.py", *MOCK, "--offline", "--out", "run")
    assert result.status == 2, result.out + result.err
    assert elsewhere.n_knocks == 0
    head, what, fix = [line for line in result.err.splitlines() if line][-3:]
    assert head.startswith("OFFLINE-001")
    assert "was blocked" in what
    assert fix.startswith("  fix: ")
    if name in ("thread", "fork"):
        assert "urllib3/" in what
        assert "requests/" in what
    else:
        assert head == f"OFFLINE-001 mine.py line {LINE}"
        assert f"mine.py:{LINE}, in attempt" in what
    if name == "thread":
        assert "in the thread 'Thread-1" in what
    if name not in ("socket", "datagram"):
        assert "127.0.0.1:" in what or "assay.invalid" in what or "192.0.2.1" in what
    assert not Path("run").exists() or manifest("run")["status"] == "running"


def test_the_same_command_continues_when_nobody_tries_any_more(workdir: Path, elsewhere: Door) -> None:
    command = ("run", "mine.py", *MOCK, "--offline", "--out", "run")
    trying(workdir / "mine.py", IN_ONE_LINE["urllib"], elsewhere.port)
    assert assay(*command).status == 2
    trying(workdir / "mine.py", "pass", elsewhere.port)
    assert assay(*command).status == 0
    assert manifest("run")["settings"]["offline"] == {"value": True, "source": "flag"}


def test_without_the_flag_the_attempt_is_the_authors_own_business(workdir: Path, elsewhere: Door) -> None:
    trying(workdir / "mine.py", IN_ONE_LINE["urllib"], elsewhere.port, is_caught=True)
    assert assay("run", "mine.py", *MOCK, "--out", "run").status == 0
    assert elsewhere.n_knocks == 1
    assert manifest("run")["settings"]["offline"]["value"] is False


def test_the_environment_and_the_settings_file_say_it_too(workdir: Path, elsewhere: Door) -> None:
    trying(workdir / "mine.py", IN_ONE_LINE["urllib"], elsewhere.port)
    assert "OFFLINE-001" in assay("run", "mine.py", *MOCK, ASSAY_OFFLINE="1").err
    (workdir / "assay.toml").write_text("offline = true\n", encoding="utf-8")
    assert "OFFLINE-001" in assay("run", "mine.py", *MOCK).err
    assert "OFFLINE-001" not in assay("run", "mine.py", *MOCK, ASSAY_OFFLINE="0").err


def test_a_check_is_offline_watch_as_well(workdir: Path, elsewhere: Door) -> None:
    trying(workdir / "mine.py", IN_ONE_LINE["urllib"], elsewhere.port, is_caught=True)
    trying(workdir / "other.py", "pass", elsewhere.port)
    for datasets in (("mine.py",), ("mine.py", "other.py")):
        result = assay("check", *datasets, "--offline")
        assert result.status != 0
        assert f"OFFLINE-001 mine.py line {LINE}" in result.err
    assert elsewhere.n_knocks == 0


def test_importing_what_only_looks_whether_there_are_sockets_is_no_attempt(workdir: Path) -> None:
    trying(
        workdir / "mine.py",
        "import requests, aiohttp, http.server, asyncio; asyncio.run(asyncio.sleep(0))",
        9,
    )
    result = assay("run", "mine.py", *MOCK, "--offline", "--out", "run")
    assert result.status == 0, result.err


@pytest.mark.parametrize(
    "attempt", ["datasets.load_dataset('rajpurkar/squad')", "datasets.load_dataset('csv', data_files=URL)"]
)
def test_the_library_of_datasets_fetches_nothing(workdir: Path, elsewhere: Door, attempt: str) -> None:
    pytest.importorskip("datasets")
    trying(workdir / "mine.py", f"import datasets; {attempt}", elsewhere.port)
    result = assay("run", "mine.py", *MOCK, "--offline", HF_HOME=str(workdir / "hub"))
    assert result.status == 2, result.out
    assert elsewhere.n_knocks == 0


def test_a_model_of_the_hub_is_not_fetched(workdir: Path, elsewhere: Door) -> None:
    pytest.importorskip("huggingface_hub")
    address = f"http://127.0.0.1:{elsewhere.port}"
    hub = {"HF_HOME": str(workdir / "hub"), "HF_ENDPOINT": address}
    result = assay("run", "data.csv", "-m", "hf:org/name", "--offline", **hub)
    assert result.status == 2
    assert "MODEL-016" in result.err
    assert "fix: run once without --offline" in result.err
    assert elsewhere.n_knocks == 0
    assay("run", "data.csv", "-m", "hf:org/name", **hub)
    assert elsewhere.n_knocks > 0


@pytest.mark.model
def test_transformers_asks_nobody_when_it_is_reported_to_load_a_model(workdir: Path, elsewhere: Door) -> None:
    address = f"http://127.0.0.1:{elsewhere.port}"
    trying(workdir / "mine.py", "import transformers; transformers.AutoConfig.from_pretrained('org/name')", 9)
    result = assay("run", "mine.py", *MOCK, "--offline", HF_HOME=str(workdir / "hub"), HF_ENDPOINT=address)
    assert result.status == 2
    assert elsewhere.n_knocks == 0


def test_pictures_at_an_address_are_fetched_by_nobody_here(workdir: Path, elsewhere: Door) -> None:
    pytest.importorskip("datasets")
    picture = f"http://127.0.0.1:{elsewhere.port}/shape.png"
    for name in ("easy_vqa.py", "easy_vqa_gen_0_shot_chat_prompt.py"):
        text = (EXAMPLES / "aisbench" / "easy_vqa" / name).read_text(encoding="utf-8")
        text = text.replace('os.path.join(path, "images", f"{image}.png")', repr(picture))
        text = text.replace("file://{image}", "{image}").replace("ais_bench/datasets/easy_vqa", str(workdir))
        (workdir / name).write_text(text, encoding="utf-8")
    (workdir / "questions.json").write_text('[["what is the red shape?", "triangle", 0]]', encoding="utf-8")
    command = ("run", "easy_vqa_gen_0_shot_chat_prompt.py", "--offline")
    result = assay(*command, *MOCK, "--model-arg", "describe=true")
    assert result.status == 0, result.err
    with serving() as server:
        result = assay(*command, "-m", f"openai:m@{server.url}")
        assert result.status == 0, result.err
        assert picture in json.dumps(server.bodies), "whether to fetch it is the server's business"
    assert elsewhere.n_knocks == 0


# --- an endpoint ---


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_named_endpoint_is_reached(host: str) -> None:
    with serving() as server:
        url = server.url.replace("127.0.0.1", host)
        result = assay(
            "run", "data.csv", "-m", f"openai:m@{url}", "--method", "gen", "--offline", "--out", "run"
        )
        assert result.status == 0, result.err
        assert len(server.bodies) == 2
    (note,) = [note for note in manifest("run")["notes"] if note.startswith("offline: ")]
    assert f"except to {url.removeprefix('http://').removesuffix('/v1')} are blocked" in note


@pytest.mark.parametrize("name", ["socket", "datagram", "requests", "thread", "fork"])
def test_beside_an_endpoint_all_others_are_rejected(workdir: Path, elsewhere: Door, name: str) -> None:
    trying(workdir / "mine.py", IN_ONE_LINE[name], elsewhere.port, is_caught=True)
    with serving() as server:
        result = assay("run", "mine.py", "-m", f"openai:m@{server.url}", "--offline")
        assert server.paths == []
    assert result.status == 2
    assert elsewhere.n_knocks == 0
    assert "OFFLINE-001" in result.err
    assert f"127.0.0.1:{elsewhere.port} was blocked: --offline allows only 127.0.0.1:" in result.err


def test_an_author_may_ask_the_named_endpoint(workdir: Path) -> None:
    with serving() as server:
        attempt = f"import urllib.request; urllib.request.urlopen('{server.url}/models').read()"
        trying(workdir / "mine.py", attempt, 9)
        result = assay("run", "mine.py", "-m", f"openai:m@{server.url}", "--offline")
        assert result.status == 0, result.err
        assert "/v1/models" in server.paths


def test_a_judge_is_an_endpoint_and_a_model_that_is_not_asked_is_none() -> None:
    program = """
import socket
from assay.app.offline.watch import offline_watch
from assay.app.settings import RunSettings
settings = RunSettings(model="openai:m@http://127.0.0.1:1/v1", stage="score", offline=True, judge="{judge}")
with offline_watch(settings) as watch:
    watch.seal()
    socket.create_connection(("127.0.0.1", {port})).close()
"""
    with door() as judge:
        named = program.format(judge=f"openai:j@http://localhost:{judge.port}/v1", port=judge.port)
        assert python("-c", named).status == 0
        assert judge.n_knocks == 1
        assert "OFFLINE-001" in python("-c", program.format(judge="mock", port=1)).err


def test_a_local_model_does_not_take_the_network_from_one_that_has_a_server(workdir: Path) -> None:
    pytest.importorskip("datasets")
    with serving() as server:
        models = [
            "dict(type='HuggingFaceCausalLM', abbr='absent', path='org/absent')",
            f"dict(type='VLLMCustomAPIChat', abbr='served', model='m', url='{server.url}')",
        ]
        (workdir / "configs" / "models").mkdir(parents=True)
        config = f"models = [{', '.join(models)}]\n"
        (workdir / "configs" / "models" / "both.py").write_text(config, encoding="utf-8")
        command = ("as", "aisbench", "--models", "both", "--custom-dataset-path", "data.csv", "--offline")
        result = assay(*command, "--custom-dataset-infer-method", "gen", HF_HOME=str(workdir / "hub"))
        assert "MODEL-016" in result.err
        assert len(server.bodies) == 2, result.err
    (kept,) = workdir.glob("outputs/**/manifest.json")
    assert json.loads(kept.read_text(encoding="utf-8"))["settings"]["offline"]["value"] is True


@pytest.mark.model
def test_the_embedded_model_answers_offline() -> None:
    result = assay("run", "data.csv", "--offline", "--method", "ppl", "--no-cache", "--out", "run")
    assert result.status == 0, result.err
    assert "2/2" in result.out


# --- other programs, and native code ---


def test_a_program_has_no_network(workdir: Path, elsewhere: Door) -> None:
    trying(workdir / "mine.py", PYTHON, elsewhere.port)
    result = assay("run", "mine.py", *MOCK, "--offline", "--out", "run")
    assert elsewhere.n_knocks == 0
    if IS_SEALED:
        assert result.status == 0, result.err
        (note,) = [note for note in manifest("run")["notes"] if "ran without network access" in note]
        assert f"started by mine.py:{LINE}" in note
    else:
        assert "OFFLINE-002" in result.err


def test_beside_an_endpoint_no_program_is_started(workdir: Path, elsewhere: Door) -> None:
    # Neither a folder whose name begins like a system program's nor a program of the same name is one.
    lookalikes = [workdir / "gcc y" / "prog", workdir / "gcc"]
    for path in lookalikes:
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n", encoding="utf-8")
        path.chmod(0o755)
    for attempt in (
        PYTHON,
        "import os; os.system('true')",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        *(f"import subprocess; subprocess.run([{str(path)!r}])" for path in lookalikes),
    ):
        trying(workdir / "mine.py", attempt, elsewhere.port, is_caught=True)
        with serving() as server:
            result = assay("run", "mine.py", "-m", f"openai:m@{server.url}", "--offline")
        assert result.status == 2
        assert f"OFFLINE-002 mine.py line {LINE}" in result.err
        assert elsewhere.n_knocks == 0


def test_beside_an_endpoint_the_standard_library_may_look_at_the_machine(workdir: Path) -> None:
    attempt = "import ctypes.util, platform; ctypes.util.find_library('c'); platform.uname().processor"
    trying(workdir / "mine.py", attempt, 9)
    with serving() as server:
        result = assay("run", "mine.py", "-m", f"openai:m@{server.url}", "--offline")
    assert result.status == 0, result.err


@pytest.mark.skipif(not IS_SEALED, reason="only Linux can hold native code")
def test_native_code_has_no_network(workdir: Path) -> None:
    attempt = (
        "import ctypes, socket as s; c = ctypes.CDLL(None); "
        "families = s.AF_INET, s.AF_INET6, s.AF_PACKET; "
        "print('native', [c.socket(f, t, 0) >= 0 for f in families for t in (1, 2)], "
        "c.socket(s.AF_UNIX, 1, 0) >= 0)"
    )
    trying(workdir / "mine.py", attempt, 9)
    result = assay("run", "mine.py", *MOCK, "--offline")
    assert result.status == 0, result.err
    assert f"native {[False] * 6} True" in result.out


@pytest.mark.skipif(not IS_SEALED, reason="only Linux can hold other programs")
def test_programs_of_a_model_run_in_the_sandbox_all_the_same() -> None:
    program = """
from assay.app.offline.seal import seal_thread
from assay.scoring.sandbox import Sandbox
seal_thread()
with Sandbox() as sandbox:
    print(sandbox.protections().network, sandbox.run("print(6 * 7)").stdout)
"""
    result = python("-c", program)
    assert result.out.split() == ["True", "42"], result.err


def test_a_script_sees_the_network_again_after_its_run(workdir: Path, elsewhere: Door) -> None:
    trying(workdir / "mine.py", IN_ONE_LINE["urllib"], elsewhere.port)
    program = f"""
import os, socket, assay
from assay.core.errors import OfflineError
before = dict(os.environ)
assay.run("data.csv", model="mock", offline=True, out="fine")
try:
    assay.run("mine.py", model="mock", offline=True, out="tried")
except OfflineError as error:
    print(error.problems[0].code)
socket.create_connection(("127.0.0.1", {elsewhere.port})).close()
print(dict(os.environ) == before)
"""
    result = python("-c", program)
    assert result.out.split() == ["OFFLINE-001", "True"], result.err
    assert elsewhere.n_knocks == 1


def test_scripts_that_prepare_data_have_no_network(workdir: Path, elsewhere: Door) -> None:
    folder = workdir / "datasets" / "some"
    folder.mkdir(parents=True)
    (folder / "make_dataset.py").write_text(
        f"import socket\nsocket.create_connection(('127.0.0.1', {elsewhere.port}))\n", encoding="utf-8"
    )
    result = assay("prepare", "datasets/some", "--offline")
    assert result.status == 2
    assert elsewhere.n_knocks == 0
    assert ("PermissionError" if IS_SEALED else "OFFLINE-002") in result.err


def test_a_run_is_explained_offline(workdir: Path) -> None:
    assert assay("run", "data.csv", *MOCK, "--offline", "--out", "run").status == 0
    result = assay("explain", "run", "row:1", "--offline")
    assert result.status == 0, result.err
    assert "output" in result.out


def test_workers_run_offline() -> None:
    done = assay("run", "data.csv", *MOCK, "--offline", "--workers", "2", "--out", "held")
    assert done.status == 0, done.err
    # Only the way it is stored is reported: a worker is trusted.
    assert len([note for note in manifest("held")["notes"] if "offline" in note]) == 1


def test_workers_run_beside_an_endpoint() -> None:
    """Other programs are refused where the kernel cannot hold them; a worker holds itself."""
    with serving() as server:
        judge = ("--judge", f"openai:any@{server.url}")
        done = assay("run", "data.csv", *MOCK, *judge, "--offline", "--workers", "2", "--out", "held")
    assert done.status == 0, done.err


def test_a_cluster_cannot_be_offline_watch() -> None:
    done = assay("run", "data.csv", *MOCK, "--offline", "--on", "ray")
    assert done.status == 2
    assert "WORKER-003" in done.err
    assert "--workers N" in done.err


REACHING = """
import contextlib, socket
from assay.backends.mock import MockBackend

class Reaching(MockBackend):
    def run(self, requests):
        with contextlib.suppress(Exception):
            socket.create_connection(("127.0.0.1", PORT), timeout=2)
        yield from super().run(requests)
"""
WORKER = """
import sys
from assay.backends import registry
from assay.app.worker import main

registry.BACKENDS["mock"] = "reaching:Reaching"
main()
"""


def test_a_worker_that_reaches_out_ends_the_run(elsewhere: Door, workdir: Path) -> None:
    """The attempt fails and is reported, although the model ignores it."""
    (workdir / "reaching.py").write_text(REACHING.replace("PORT", str(elsewhere.port)), encoding="utf-8")
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(workdir), python_path()])},
            pass_fds=[theirs.fileno()],
        )
    connection = Connection(ours.detach())
    try:
        connection.send_bytes(msgspec.msgpack.encode(WorkerSetup("mock", {}, is_offline=True)))
        assert isinstance(read_message(connection.recv_bytes()), WorkerReady)
        requests = make_request("t", "1", "gen", "answer", 0, Generate("hello", Sampling()))
        connection.send_bytes(encode_message(Batch(1, (requests,))))
        heard = [read_message(connection.recv_bytes()) for _ in range(3)]
    finally:
        connection.close()
        process.kill()
        process.wait()
    assert isinstance(heard[-1], WorkerFailed)
    assert "OFFLINE-001" in str(heard[-1].error())
    assert elsewhere.n_knocks == 0
