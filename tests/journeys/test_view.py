"""`assay view` as a program: where it listens, what it says, how it ends, and clients that mean no good."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from assay.core.errors import UsageError
from assay.core.run import RunStatus
from assay.faces.web import server
from assay.faces.web.security.gate import Bounds
from assay.faces.web.security.hosts import Hosts, is_loopback
from assay.faces.web.server import listen
from assay.faces.web.view import Viewer, ViewSettings
from cli import assay
from fakes.run_folders import append_samples, write_run
from fakes.viewers import viewing


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write_run(folder / "one", ["yes", "no"])
    return folder


def fetch(address: str, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@contextmanager
def program(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start `assay view`; yield it with the address it prints."""
    command = [sys.executable, "-m", "assay", "view", "--port", "0", *arguments]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as started:
        try:
            assert started.stdout is not None
            line = started.stdout.readline()
            found = re.search(r"http://\S+", line)
            assert found, (line, started.stderr and started.stderr.read())
            yield started, found[0]
        finally:
            started.kill()


def test_it_shows_runs_and_ends_quietly_though_a_page_is_open(runs: Path) -> None:
    with program(str(runs)) as (started, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        status, body = fetch(address, "/data/runs")
        assert status == 200
        assert msgspec.json.decode(body)["runs"][0]["name"] == "one"
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname or "", parts.port or 0), 10) as page:
            page.sendall(f"GET /data/runs/one/events HTTP/1.1\r\nhost: {parts.netloc}\r\n\r\n".encode())
            assert b"200 OK" in page.recv(4096)
            started.send_signal(signal.SIGINT)
            out, err = started.communicate(timeout=10)
        assert started.returncode == 0
        assert (out, err) == ("", "")


def test_beyond_this_machine_a_token_is_needed_and_reported_once(runs: Path) -> None:
    with program(str(runs), "--host", "0.0.0.0") as (_, address):
        token = urlsplit(address).query.removeprefix("token=")
        assert len(token) >= 32
        port = urlsplit(address).port
        here = f"http://127.0.0.1:{port}"
        assert fetch(here, "/data/runs")[0] == 401
        assert fetch(here, "/data/runs", {"Authorization": f"Bearer {token}"})[0] == 200
        assert fetch(here, "/data/runs", {"Authorization": f"Bearer {token}x"})[0] == 401
        assert fetch(here, "/data/runs", {"Host": f"evil.example:{port}"})[0] == 421


def test_what_cannot_be_shown_is_reported(workdir: Path, runs: Path) -> None:
    missing = assay("view", "--runs-dir", "nowhere")
    assert missing.status == 2
    assert "STORE-005" in missing.err
    short = assay("view", str(runs), "--token", "abc")
    assert "WEB-002" in short.err
    assert "abc" not in short.err
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = assay("view", str(runs), "--port", str(other.getsockname()[1]))
        assert taken.status == 2
        assert "WEB-003" in taken.err
    strange = assay("view", str(runs), "--host", "no.such.host.invalid", "--port", "0")
    assert "WEB-003" in strange.err


def test_without_the_extra_it_says_what_to_do(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("assay.faces.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    reported = assay("view", str(runs))
    assert reported.status == 2
    assert "WEB-001" in reported.err
    assert "assay-eval[web]" in reported.err
    assert "report.html" in reported.err


@pytest.mark.parametrize(("command", "module"), [("view", "view"), ("serve", "serve")])
def test_a_fault_of_our_own_is_no_missing_package(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, command: str, module: str
) -> None:
    (workdir / "runs").mkdir()
    monkeypatch.setitem(sys.modules, f"assay.faces.web.{module}", None)
    with pytest.raises(ModuleNotFoundError, match=rf"assay\.faces\.web\.{module}"):
        assay(command)


def test_what_the_system_does_not_allow_is_reported(
    workdir: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "runs/one/scores.jsonl")

    monkeypatch.setattr("assay.app.stored_runs.find_run", refused)
    reported = assay("report", "one")
    assert reported.status == 2
    assert "STORE-014 runs/one/scores.jsonl" in reported.err
    assert "Permission denied" in reported.err
    answer = msgspec.json.decode(assay("report", "one", "--json").out)
    assert "STORE-014" in str(answer)


def test_the_usual_port_or_another_where_it_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with listen("127.0.0.1", None, taken) as free:
            assert free.getsockname()[1] != taken
        with pytest.raises(UsageError, match="WEB-003"):
            listen("127.0.0.1", taken, 0)


@pytest.mark.parametrize(
    ("host", "is_it"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("127.8.8.8", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.1", False),
        ("localhost.evil", False),
        ("", False),
    ],
)
def test_what_is_this_machine_alone(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it


def test_listening_everywhere_answers_to_numbers_and_own_names() -> None:
    hosts = Hosts("0.0.0.0", 9000, ["assay.example", "proxy.example:444"])
    for header in (
        "10.1.2.3:9000",
        "[fe80::1]:9000",
        f"{socket.gethostname()}:9000",
        "assay.example",
        "Assay.Example:443",
    ):
        assert hosts.allows(header), header
    for header in (
        "10.1.2.3",
        "evil.example:9000",
        "[::1",
        "[zz]:9000",
        "proxy.example",
        "10.1.2.3:9000:9000",
    ):
        assert not hosts.allows(header), header


def is_let_go(slow: socket.socket) -> bool:
    """Whether a server ends a connection on which something comes all the time, though never all of it."""
    slow.settimeout(0.05)
    began = time.monotonic()
    while time.monotonic() - began < 5:
        try:
            slow.sendall(b" ")
            if slow.recv(1 << 16) == b"":
                return True
        except TimeoutError:
            pass
        except OSError:
            return True
    return False


class TestClientsThatMeanNoGood:
    def test_who_says_nothing_is_let_go(self, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(server, "_HEAD_S", 0.3)
        with viewing(runs) as viewer:
            for message in (b"", b"GET / HTTP/1.1\r\nhost: 127", b"GET / HTTP/1.1\r\n"):
                with socket.create_connection(("127.0.0.1", viewer.port), 10) as slow:
                    slow.sendall(message)
                    assert slow.recv(100) == b""

    def test_who_says_it_drop_by_drop_too(self, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(server, "_HEAD_S", 0.4)
        with viewing(runs) as viewer, socket.create_connection(("127.0.0.1", viewer.port), 10) as slow:
            assert is_let_go(slow)

    @pytest.mark.parametrize("asked", ["GET /", "POST /nothing", "POST /session"])
    def test_a_body_drop_by_drop_holds_no_connection(
        self, runs: Path, monkeypatch: pytest.MonkeyPatch, asked: str
    ) -> None:
        """Whether it is waited for, or nobody reads it."""
        head = f"{asked} HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\ncontent-type: application/json\r\n"
        with viewing(runs) as viewer, socket.create_connection(("127.0.0.1", viewer.port), 10) as slow:
            monkeypatch.setattr(viewer.server.config.app, "_bounds", Bounds(body_s=0.4))
            slow.sendall(f"{head}content-length: 9999\r\n\r\n".replace("PORT", str(viewer.port)).encode())
            assert is_let_go(slow)

    def test_who_asks_and_does_not_read_is_let_go(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "_UNREAD_S", 0.3)
        write_run(tmp_path / "large", ["word " * 200_000] * 12)
        with viewing(tmp_path) as viewer, socket.create_connection(("127.0.0.1", viewer.port), 10) as deaf:
            head = f"GET /data/runs/large/samples/NTH HTTP/1.1\r\nhost: 127.0.0.1:{viewer.port}\r\n\r\n"
            for nth in range(12):
                deaf.sendall(head.replace("NTH", str(nth)).encode())
            assert deaf.recv(1) == b"H"
            assert viewer.server.server_state.connections
            began = time.monotonic()
            while viewer.server.server_state.connections:
                assert time.monotonic() - began < 10
                time.sleep(0.05)

    def test_a_head_without_end_is_cut(self, runs: Path) -> None:
        with viewing(runs) as viewer, socket.create_connection(("127.0.0.1", viewer.port), 10) as rude:
            rude.sendall(b"GET / HTTP/1.1\r\nx: " + b"y" * (server._HEAD_BYTES + 70_000))
            assert rude.recv(100).startswith(b"HTTP/1.1 400")

    def test_one_connection_may_ask_many_times(self, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(server, "_HEAD_S", 0.3)
        with viewing(runs) as viewer:
            connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=10)
            for _ in range(3):
                connection.request("GET", "/data/runs")
                assert connection.getresponse().read()
                # Longer than the head may take: a connection at rest is not one that is slow.
                time.sleep(0.4)
            connection.close()


@contextmanager
def listening(viewer: Viewer, path: str) -> Iterator[Iterator[str]]:
    """Give the names of events as they come; what says that it is listened to is not among them."""
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    with closing(connection), closing(answer):
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.readline().startswith(b"retry: ")
        lines = (line.decode().strip() for line in iter(answer.readline, b""))
        yield (line.removeprefix("event: ") for line in lines if line.startswith("event: "))


def test_a_page_is_notified_when_a_run_grows_and_when_it_is_gone(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs" / "live", ["a"], status=RunStatus.RUNNING, n_planned=9)
    with viewing(tmp_path / "runs") as viewer, listening(viewer, "/data/runs/live/events") as news:
        append_samples(folder, ["b"], first=1)
        assert next(news) == "changed"
        shutil.rmtree(folder)
        while (last := next(news, None)) == "changed":
            pass
        assert last == "gone"
        assert list(news) == []


def test_the_list_is_reported_when_a_run_comes(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with viewing(tmp_path / "runs") as viewer, listening(viewer, "/data/events") as news:
        write_run(tmp_path / "runs" / "new", ["a"])
        assert next(news) == "changed"


def test_settings_name_what_is_shown(tmp_path: Path) -> None:
    write_run(tmp_path / "run", ["a"])
    viewer = Viewer(ViewSettings((tmp_path / "run",), "127.0.0.1", 0, "new"))
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", viewer.address)
    viewer.close()
