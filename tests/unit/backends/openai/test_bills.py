"""What OpenAI-compatible servers report about the cost of a call."""

from __future__ import annotations

from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.billing import Bill
from assay.core.prompt import Message
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Response
from fakes.openai_server import Body, choice, reply, serving

CHAT = (Message("user", "Which?"),)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def respond(usage: dict[str, Any], sampling: Sampling | None = None, **args: str) -> Response:
    def model(body: Body) -> Any:
        whole = reply(*(choice(body, "A") for _ in range(body.get("n", 1))))
        whole["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, **usage}
        return whole

    with serving(model) as server:
        backend = open_backend(f"openai:any@{server.url}", args)
        ask = Generate(CHAT, sampling or Sampling(max_tokens=8))
        [response] = backend.run([make_request("t", "1", "gen", "answer", 0, ask)])
    return response


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({}, Bill(100, 0, 10)),
        ({"prompt_tokens_details": {"cached_tokens": 60}}, Bill(100, 60, 10)),
        ({"prompt_cache_hit_tokens": 64}, Bill(100, 64, 10)),
        ({"cost": 0.0125}, Bill(100, 0, 10, 0.0125)),
        ({"cost": {"total_cost": 0.5, "input_tokens_cost": 0.1}}, Bill(100, 0, 10, 0.5)),
        (
            {"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}},
            Bill(100, 0, 10, 0.21),
        ),
        (
            {"cost": 0.01, "is_byok": False, "cost_details": {"upstream_inference_cost": 0.2}},
            Bill(100, 0, 10, 0.01),
        ),
        ({"cost": "free"}, Bill(100, 0, 10)),
        ({"cost": -1}, Bill(100, 0, 10)),
    ],
)
def test_a_reply_is_billed(usage: dict[str, Any], expected: Bill, stream: str) -> None:
    found = respond(usage, stream=stream).bill
    assert found is not None
    assert (found.n_input, found.n_cached, found.n_output) == (
        expected.n_input,
        expected.n_cached,
        expected.n_output,
    )
    assert found.usd == pytest.approx(expected.usd)


def test_every_call_of_a_request_is_billed() -> None:
    """Each sampled text is a call of its own, and reads the prompt again."""
    sampling = Sampling(max_tokens=8, temperature=1.0, n=3)
    assert respond({"cost": 0.5}, sampling).bill == Bill(300, 0, 30, 1.5)
    assert respond({"cost": 0.5}, sampling, n_per_call="3").bill == Bill(100, 0, 10, 0.5)
