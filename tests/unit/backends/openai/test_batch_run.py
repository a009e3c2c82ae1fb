"""Batches of OpenAI and Anthropic: submitted once, resumed, and sent again where they failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.errors import BackendError
from assay.core.ports import Backend
from assay.core.prompt import Message
from assay.core.request import Generate, Kind, Request, Sampling, make_request
from assay.core.response import Completion, Failure, Outcome
from fakes.batch_server import BatchServer, Body, batching
from fakes.openai_server import choice, reply
from fakes.provider_servers import anthropic_reply

BOTH = pytest.mark.parametrize("name", ["openai", "anthropic"])
GREEDY = Sampling(max_tokens=8)


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


def client(server: BatchServer, batch: str = "resume", **args: str) -> Backend:
    given = {"batch": batch, "batch_poll_s": "0.001", "retry_wait_s": "0.001", **args}
    return open_backend(f"{server.name}:m@{server.url}", given)


def requests(n: int, sampling: Sampling = GREEDY) -> list[Request]:
    return [
        make_request("t", str(nth), "gen", "answer", 0, Generate((Message("user", f"{nth}?"),), sampling))
        for nth in range(n)
    ]


def answer_to(name: str, body: Body) -> Body:
    """Return a reply that repeats the question."""
    text = f"to {body['messages'][-1]['content']}"
    if name == "anthropic":
        return anthropic_reply([{"type": "text", "text": text}])
    return reply(choice(body, text))


def outcomes(backend: Backend, asked: list[Request]) -> list[Outcome]:
    by_id = {response.request_id: response.outcome for response in backend.run(asked)}
    return [by_id[one.id] for one in asked]


def texts(found: list[Outcome]) -> list[str]:
    return [one.outputs[0].text if isinstance(one, Completion) else one.kind for one in found]  # type: ignore[union-attr]


@BOTH
def test_requests_are_answered_by_one_batch(name: str) -> None:
    with batching(name, lambda id_, body, number: answer_to(name, body), n_looks=3) as server:
        backend = client(server)
        assert texts(outcomes(backend, requests(4))) == ["to 0?", "to 1?", "to 2?", "to 3?"]
        [batch] = server.batches
    assert len(batch["requests"]) == 4
    assert batch["looks"] == 3
    assert all(not body.get("stream") for body in batch["requests"].values())
    assert "batches submitted: 1, resumed from an earlier start: 0" in " ".join(backend.notes())


@BOTH
def test_each_draw_is_a_request_of_its_own(name: str) -> None:
    sampling = Sampling(max_tokens=8, temperature=0.5, seed=1, n=3)
    with batching(name, lambda id_, body, number: answer_to(name, body)) as server:
        [found] = outcomes(client(server), requests(1, sampling))
        assert len(server.batches[0]["requests"]) == 3
    assert isinstance(found, Completion)
    assert len(found.outputs) == 3


class _Killed(Exception):
    pass


@BOTH
@pytest.mark.parametrize("when", ["while waiting", "before the id arrived", "before it was sent"])
def test_a_killed_run_resumes_its_batch_and_never_submits_twice(
    name: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.backends.http.batches import AnthropicBatches, OpenAIBatches

    protocol = OpenAIBatches if name == "openai" else AnthropicBatches
    submit = protocol.submit

    async def killed(self: Any, *given: Any, **more: Any) -> Any:
        if when == "before the id arrived":
            await submit(self, *given, **more)
        raise _Killed

    with batching(name, lambda id_, body, number: answer_to(name, body)) as server:
        with monkeypatch.context() as patch:
            patch.setattr(protocol, "look" if when == "while waiting" else "submit", killed)
            with pytest.raises(_Killed):
                outcomes(client(server), requests(3))
        backend = client(server)
        assert texts(outcomes(backend, requests(3))) == ["to 0?", "to 1?", "to 2?"]
        assert len(server.batches) == 1
        # A fresh run uses no earlier batch.
        outcomes(client(server, "new"), requests(3))
        assert len(server.batches) == 2


@BOTH
def test_a_lost_reply_to_the_submission_submits_nothing_twice(name: str) -> None:
    with batching(name, lambda id_, body, number: answer_to(name, body), loses_reply=True) as server:
        assert texts(outcomes(client(server), requests(2))) == ["to 0?", "to 1?"]
        assert len(server.batches) == 1


@BOTH
@pytest.mark.parametrize("trouble", [429, 500, None])
def test_what_failed_or_expired_is_sent_again_alone(name: str, trouble: int | None) -> None:
    def answer(id_: str, body: Body, number: int) -> Any:
        is_second = body["messages"][-1]["content"] == "1?"
        return trouble if is_second and number == 0 else answer_to(name, body)

    status = "expired" if trouble is None else "completed"
    with batching(name, answer, status=status) as server:
        backend = client(server)
        assert texts(outcomes(backend, requests(3))) == ["to 0?", "to 1?", "to 2?"]
        assert [len(batch["requests"]) for batch in server.batches] == [3, 1]
    # The statuses of Anthropic's errors are their types.
    assert "requests sent again: 1" in " ".join(backend.notes())


@BOTH
def test_a_rejected_request_is_a_failure_and_sent_again_only_on_request(name: str) -> None:
    def answer(id_: str, body: Body, number: int) -> Any:
        return 400 if body["messages"][-1]["content"] == "1?" and number == 0 else answer_to(name, body)

    with batching(name, answer) as server:
        assert texts(outcomes(client(server), requests(2))) == ["to 0?", "batch"]
        assert len(server.batches) == 1
        # As --retry-failed does: only the failed request is still unanswered.
        assert texts(outcomes(client(server), requests(2)[1:])) == ["to 1?"]
        assert [len(batch["requests"]) for batch in server.batches] == [2, 1]


@BOTH
def test_it_gives_up_after_its_retries(name: str) -> None:
    with batching(name, lambda id_, body, number: 500) as server:
        [found] = outcomes(client(server, retries="2"), requests(1))
        assert len(server.batches) == 3
    assert isinstance(found, Failure)
    assert found.attempts == 3


@BOTH
def test_a_cancelled_batch_keeps_its_answers_and_ends_the_run(name: str) -> None:
    def answer(id_: str, body: Body, number: int) -> Any:
        is_second = body["messages"][-1]["content"] == "1?"
        return None if is_second and number == 0 else answer_to(name, body)

    with batching(name, answer, status="cancelled") as server:
        responses = client(server).run(requests(3))
        assert texts([next(responses).outcome, next(responses).outcome]) == ["to 0?", "to 2?"]
        with pytest.raises(BackendError, match=r"MODEL-022.*was cancelled before 1 of its requests"):
            next(responses)
        assert texts(outcomes(client(server), requests(3)[1:2])) == ["to 1?"]
        assert len(server.batches) == 2


def test_a_rejected_batch_ends_the_run_with_the_reason() -> None:
    with batching("openai", lambda id_, body, number: None, status="failed") as server:
        with pytest.raises(BackendError, match=r"MODEL-022.*line 1 is not valid"):
            outcomes(client(server), requests(1))
        server.status, server.answer = "completed", lambda id_, body, number: answer_to("openai", body)
        assert texts(outcomes(client(server), requests(1))) == ["to 0?"]


def test_only_generation_goes_into_batches() -> None:
    card = open_backend("openai:m@http://127.0.0.1:1/v1", {"batch": "resume"}).probe_card(
        frozenset({Kind.LABELS}), is_chat=True
    )
    assert card.kinds == {Kind.GENERATE}
    assert "--batch" in card.cannot[Kind.LABELS]


@pytest.mark.parametrize("model", ["gemini:m@http://127.0.0.1:1", "tgi:@http://127.0.0.1:1"])
def test_protocols_without_batches_are_an_error(model: str) -> None:
    with pytest.raises(BackendError, match=r"MODEL-002.*no batch endpoint"):
        open_backend(model, {"batch": "resume"})
