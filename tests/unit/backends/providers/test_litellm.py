"""Models behind LiteLLM: the real package, which calls servers on the loopback."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from assay.backends.providers.litellm_backend import build_thinking
from assay.backends.registry import open_backend
from assay.core.errors import BackendError
from assay.core.ports import Backend
from assay.core.prompt import Message
from assay.core.request import Generate, Kind, Sampling, make_request
from assay.core.response import Completion, Failure, Response
from assay.core.thinking import read_thinking
from fakes.openai_server import Body, choice, error, reply, serving
from fakes.provider_servers import anthropic_error, anthropic_reply, providing

GREEDY = Sampling(max_tokens=8)
CHAT = (Message("system", "Be brief."), Message("user", "Which?"))
REAL = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="litellm is not installed: extra litellm"),
    pytest.mark.filterwarnings("ignore"),  # Those of litellm and of what it imports.
]


def client(name: str, url: str, **args: str) -> Backend:
    return open_backend(f"litellm:{name}@{url}", {"retry_wait_s": "0.001", **args})


def answer(backend: Backend, sampling: Sampling = GREEDY) -> Response:
    [response] = backend.run([make_request("t", "1", "gen", "answer", 0, Generate(CHAT, sampling))])
    return response


def text(response: Response) -> str:
    assert isinstance(response.outcome, Completion), response.outcome
    return response.outcome.outputs[0].text


class TestPackage:
    """What LiteLLM sends and returns."""

    pytestmark = REAL

    def test_an_openai_dialect(self) -> None:
        def model(body: Body) -> Any:
            assert (body["model"], body["max_tokens"], body["temperature"]) == ("some", 8, 0.0)
            assert [one["role"] for one in body["messages"]] == ["system", "user"]
            return reply(choice(body, "Paris."), completion_tokens=3)

        with serving(model) as server:
            response = answer(client("openai/some", server.url))
        assert text(response) == "Paris."
        assert response.bill is not None
        assert response.bill.n_output == 3

    def test_a_protocol_of_its_own(self) -> None:
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
        blocks = [thought, {"type": "text", "text": "B"}]
        with providing("anthropic", lambda body: anthropic_reply(blocks)) as server:
            name = "anthropic/claude-sonnet-4-5"
            response = answer(client(name, server.url.removesuffix("/v1"), thinking="1024"))
        assert text(response) == "B"
        assert isinstance(response.outcome, Completion)
        assert response.outcome.outputs[0].reasoning == "Hm."
        [body] = server.bodies
        assert body["thinking"]["budget_tokens"] == 1024
        assert body["max_tokens"] == 1024 + 8
        assert response.bill is not None
        assert response.bill.usd is not None, "litellm knows the price of this model"

    @pytest.mark.parametrize("status", [429, 500, 529])
    def test_a_busy_server_is_asked_again(self, status: int) -> None:
        n = 0

        def model(body: Body) -> Any:
            nonlocal n
            n += 1
            return (
                anthropic_error(status, "busy") if n < 3 else anthropic_reply([{"type": "text", "text": "A"}])
            )

        with providing("anthropic", model) as server:
            assert text(answer(client("anthropic/some", server.url.removesuffix("/v1")))) == "A"
        assert n == 3

    def test_a_rejected_request_is_a_failure(self) -> None:
        with serving(lambda body: error(400, "temperature is not supported by this model")) as server:
            outcome = answer(client("openai/some", server.url)).outcome
        assert isinstance(outcome, Failure)
        assert outcome.kind == "refused"
        assert "omit=temperature" in outcome.message

    def test_a_wrong_key_ends_the_run_and_is_not_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-123")
        refuse: Callable[[Body], Any] = lambda body: error(401, "wrong key sk-secret-123")  # noqa: E731
        with serving(refuse) as server, pytest.raises(BackendError, match="MODEL-009") as caught:
            answer(client("openai/some", server.url))
        assert "sk-secret" not in str(caught.value)

    def test_no_server(self) -> None:
        outcome = answer(client("openai/some", "http://127.0.0.1:9/v1", retries="1")).outcome
        assert isinstance(outcome, Failure)
        assert "Connection error" in outcome.message
        assert outcome.attempts == 2

    @pytest.mark.parametrize(
        ("model", "code", "words"),
        [("cohere/command", "MODEL-009", "COHERE_API_KEY"), ("nobody/model", "MODEL-001", "no provider")],
    )
    def test_errors_before_the_run(
        self, model: str, code: str, words: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("COHERE_API_KEY", raising=False)
        backend = open_backend(f"litellm:{model}", {})
        with pytest.raises(BackendError, match=words) as caught:
            backend.probe_card(frozenset({Kind.GENERATE}), is_chat=True)
        assert caught.value.problems[0].code == code


@pytest.mark.skipif(find_spec("litellm") is not None, reason="litellm is installed")
def test_without_the_package_the_error_names_the_command() -> None:
    with pytest.raises(BackendError, match=r"assay-eval\[litellm\]"):
        open_backend("litellm:bedrock/some", {})


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("on", {"reasoning_effort": "medium"}),
        ("off", {"reasoning_effort": "none"}),
        ("low", {"reasoning_effort": "low"}),
        ("2000", {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
    ],
)
def test_thinking_in_litellms_words(written: str, expected: dict[str, Any]) -> None:
    assert build_thinking(read_thinking(written)) == expected
