"""Which servers are named, and what counts as one of them."""

from __future__ import annotations

import socket

import pytest

from assay.app.offline.endpoints import Endpoint, parse_endpoint


@pytest.mark.parametrize(
    ("model", "where"),
    [
        ("openai:qwen@http://127.0.0.1:8000/v1", "127.0.0.1:8000"),
        ("openai:@https://api.example.com/v1", "api.example.com:443"),
        ("openai:org/model@rev@http://Example.com/v1", "example.com:80"),
        ("openai:m@http://[::1]:8080/v1", "[::1]:8080"),
        ("ultraeval:http://10.0.0.7:5002/infer", "10.0.0.7:5002"),
        ("hf:org/name", None),
        ("hf:/models/http", None),
        ("smollm2", None),
        ("mock", None),
        ("openai:m@http://host:port/v1", None),
        ("openai:m@http:///v1", None),
    ],
)
def test_the_endpoint_of_a_model(model: str, where: str | None) -> None:
    found = parse_endpoint(model)
    assert (None if found is None else str(found)) == where


def test_an_endpoint_is_a_host_at_a_port() -> None:
    endpoint = Endpoint("127.0.0.1", 8000)
    assert endpoint.is_at("127.0.0.1", 8000)
    assert not endpoint.is_at("127.0.0.1", 8001)
    assert not endpoint.is_at("127.0.0.2", 8000)


def test_a_name_is_for_the_addresses_that_were_ever_found_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["192.0.2.1", "192.0.2.2"])
    n_asked = 0

    def rotating(host: str, port: int, **_: object) -> list[object]:
        nonlocal n_asked
        n_asked += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", rotating)
    endpoint = Endpoint("Models.Example.", 443)
    assert endpoint.is_at("models.example", 443)
    assert n_asked == 0
    assert endpoint.is_at("192.0.2.1", 443)
    assert endpoint.is_at("192.0.2.2", 443)
    assert endpoint.is_at("192.0.2.1", 443)
    assert n_asked == 2


def test_a_name_that_cannot_be_looked_up_has_no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object, **__: object) -> list[object]:
        raise socket.gaierror("nobody knows")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    assert not Endpoint("models.example", 443).is_at("192.0.2.1", 443)


def test_a_name_in_any_script_is_known_as_it_is_looked_up() -> None:
    assert Endpoint("bücher.example", 80).is_host("xn--bcher-kva.example")
