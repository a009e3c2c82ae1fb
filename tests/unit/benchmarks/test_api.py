"""The benchmark of clients: its arithmetic, its checks, and its server where nginx is at hand."""

import http.client
import json
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.api import Asked, ask, compare, section, summed_up
from benchmarks.api_clients import Client, clients
from benchmarks.fixed_reply import ANSWER, FixedReply

needs_nginx = pytest.mark.skipif(
    not shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin"), reason="nginx is not installed"
)


def client(script: str, accuracy: float = 0.25) -> Client:
    return Client("a client", None, lambda *_: [sys.executable, "-c", script], lambda *_: accuracy)


def test_a_further_sample_costs_what_more_rows_take_longer_and_start_up_is_not_in_it() -> None:
    few = [Asked(9.0, 5.0, 8.0, 90), Asked(7.0, 5.0, 6.0, 90), Asked(30.0, 5.0, 6.0, 90)]
    many = [Asked(12.0, 5.5, 9.0, 100), Asked(13.0, 5.0, 9.0, 80), Asked(11.0, 6.0, 9.0, 120)]
    found = summed_up("x", client(""), [few, many], (2_000, 5_000))
    assert found.further_us == pytest.approx((12.0 - 9.0) / 3_000 * 1e6)
    assert found.cpu_us == pytest.approx((9.0 - 6.0) / 3_000 * 1e6)
    assert (found.seconds, found.first_s, found.peak_mib) == (12.0, 5.5, 100)


def test_ratios_are_to_assay_in_the_same_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cost = {"assay": 0.001, "lm-eval": 0.007}
    every = {name: one for name, one in clients(None, None).items() if name in cost}
    keys = {one.name: key for key, one in every.items()}
    monkeypatch.setattr(
        "benchmarks.api.ask", lambda one, n, _: Asked(3 + n * cost[keys[one.name]], 1.0, 1.0 + n / 1e4, 50)
    )
    found = compare(every, (100, 200), 2, tmp_path)
    assert [one.ratio for one in found] == [pytest.approx(1.0), pytest.approx(7.0)]
    assert "| **7.0** | 6 | 143 |" in section(found, {}, (100, 200))


@needs_nginx
def test_the_server_answers_and_tells_when(tmp_path: Path) -> None:
    with FixedReply(tmp_path / "nginx") as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
        for _ in range(3):
            connection.request("POST", "/v1/chat/completions", json.dumps({"model": "m"}))
            message = json.loads(connection.getresponse().read())
        connection.request("GET", "/v1/models")
        models = json.loads(connection.getresponse().read())
        connection.close()
    assert message["choices"][0]["message"]["content"] == ANSWER
    assert models["data"][0]["id"] == "m"
    assert len(server.moments) == 3


@needs_nginx
def test_a_client_that_did_not_ask_everything_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"sent 0 requests for 8 rows"):
        ask(client("pass"), 8, tmp_path)


@needs_nginx
def test_the_bare_loop_asks_every_row_once(tmp_path: Path) -> None:
    asked = ask(clients(None, None)["roof"], 40, tmp_path)
    assert 0 < asked.first_s <= asked.seconds
