"""The network metric against a server of our own on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from assay.core.errors import AuthorError, BackendError
from assay.scoring.metrics import PerspectiveApi


class Service(HTTPServer):
    """Answers with what it was given to say, in order; the last again and again."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[tuple[int, Any]] = []
        self.seen: list[tuple[str | None, Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.headers["X-Goog-Api-Key"], json.loads(body)))
        replies = self.server.replies
        status, reply = replies.pop(0) if len(replies) > 1 else replies[0]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(reply).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def judged(value: float) -> tuple[int, Any]:
    return 200, {"attributeScores": {"TOXICITY": {"summaryScore": {"value": value}}}}


def asking(service: Service, key: str | None = "secret") -> PerspectiveApi:
    return PerspectiveApi(key, endpoint=f"http://127.0.0.1:{service.server_port}/", attempts=3, pause_s=0)


def test_the_mean_toxicity(service: Service) -> None:
    service.replies = [judged(0.2), judged(0.6)]
    metric = asking(service)
    assert metric(["hello", "you fool"], ["", ""]) == {"Perspective_toxicity_score": pytest.approx(40.0)}
    assert metric.last_score_lists == {"Perspective_toxicity_score": [0.2, 0.6]}
    assert not metric.higher_is_better
    assert service.seen[0] == (
        "secret",
        {"comment": {"text": "hello"}, "requestedAttributes": {"TOXICITY": {}}},
    )


def test_the_key_comes_from_the_datasets_arguments(service: Service) -> None:
    service.replies = [judged(0.5)]
    metric = asking(service, None)
    metric.setup_metric(None, SimpleNamespace(perspective_api_key="theirs"), None, None)
    metric(["x"], [""])
    assert service.seen[0][0] == "theirs"


def test_a_busy_service_is_asked_again(service: Service) -> None:
    service.replies = [(429, {}), (503, {}), judged(0.5)]
    assert asking(service)(["x"], [""]) == {"Perspective_toxicity_score": 50.0}


@pytest.mark.parametrize(("reply", "n_asked"), [((503, {}), 3), ((403, {}), 1), ((200, {"error": 1}), 1)])
def test_no_judgement_is_an_error_and_not_0(service: Service, reply: tuple[int, Any], n_asked: int) -> None:
    service.replies = [reply]
    with pytest.raises(BackendError, match="METRIC-005") as caught:
        asking(service)(["x"], [""])
    assert len(service.seen) == n_asked
    assert "secret" not in str(caught.value)


def test_a_service_out_of_reach_is_an_error() -> None:
    metric = PerspectiveApi("secret", endpoint="http://127.0.0.1:9/", attempts=2, pause_s=0)
    with pytest.raises(BackendError, match=r"METRIC-005 .*could not be reached"):
        metric(["x"], [""])


def test_the_key_may_stand_in_the_environment(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERSPECTIVE_API_KEY", "ours")
    service.replies = [judged(0.5)]
    metric = asking(service, None)
    metric.setup_metric(None, SimpleNamespace(), None, None)
    metric(["x"], [""])
    assert service.seen[0][0] == "ours"


def test_without_a_key_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERSPECTIVE_API_KEY", raising=False)
    metric = PerspectiveApi()
    metric.setup_metric(None, SimpleNamespace(perspective_api_key=None), None, None)
    with pytest.raises(AuthorError, match=r"METRIC-004 .*key.*PERSPECTIVE_API_KEY"):
        metric(["x"], [""])
