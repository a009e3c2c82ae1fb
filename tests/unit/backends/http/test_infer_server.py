"""The client of UltraEval's servers over real sockets: batches, faults, and messages."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from aiohttp import web

from assay.backends.http.infer_server import InferServerBackend
from assay.backends.registry import open_backend
from assay.core.errors import BackendError
from assay.core.request import Ask, Generate, Request, Sampling, Span, make_request
from assay.core.response import Completion, Failure, Finish, Likelihood, Outcome
from fakes.infer_server import (
    Body,
    Model,
    completion,
    failing,
    in_turn,
    lengths,
    logprobs,
    not_json,
    poisoned,
    replying,
    serving,
    small_model,
)

GREEDY = Sampling(max_tokens=2)
TEXTS = [Span(f"text number {n}, and on", 0, scores_first_token=False) for n in range(20)]


def requests(asks: Sequence[Ask]) -> list[Request]:
    return [make_request("t", str(n), "any", "answer", 0, ask) for n, ask in enumerate(asks)]


def client(url: str, **args: Any) -> InferServerBackend:
    quick = {"retry_wait_s": "0", "retries": "2", **{name: str(value) for name, value in args.items()}}
    return InferServerBackend(url, quick)


def outcomes(backend: InferServerBackend, asks: Sequence[Ask]) -> list[Outcome]:
    found = {response.request_id: response.outcome for response in backend.run(requests(asks))}
    return [found[one.id] for one in requests(asks)]


def failures(found: Sequence[Outcome]) -> dict[int, Failure]:
    return {n: outcome for n, outcome in enumerate(found) if isinstance(outcome, Failure)}


@pytest.mark.parametrize(("batch_size", "concurrency"), [(1, 1), (1, 8), (3, 2), (16, 8), (1000, 1)])
def test_answers_do_not_depend_on_batches_or_concurrency(batch_size: int, concurrency: int) -> None:
    context = "Which is a fruit?\nAnswer:"
    asks: list[Ask] = [
        *TEXTS,
        *(Span(f"{context} {option}", len(context)) for option in ("apple", "stone", "a wall")),
        *(Generate(f"prompt {n}", GREEDY) for n in range(9)),
        *(Generate(f"prompt {n}", Sampling(3, temperature=0.5, seed=7, n=3)) for n in range(3)),
    ]
    with serving() as server:
        backend = client(server.url, batch_size=batch_size, concurrency=concurrency)
        found = outcomes(backend, asks)
        assert server.most_under_way <= concurrency
        assert max(lengths(server.bodies)) <= max(batch_size, 2), "a text and its context go together"
    for ask, outcome in zip(asks, found, strict=True):
        assert isinstance(ask.prompt, str)
        if isinstance(ask, Span):
            assert isinstance(outcome, Likelihood)
            n_context = len(logprobs(ask.prompt[: ask.start]))
            assert outcome.token_logprobs == tuple(logprobs(ask.prompt)[n_context:])
        else:
            assert isinstance(outcome, Completion)
            assert isinstance(ask, Generate)
            assert len(outcome.outputs) == ask.sampling.n
            seeds = {output.text for output in outcome.outputs}
            assert len(seeds) == ask.sampling.n, "each repeat is a draw of its own, in the same order always"
            first = {
                "temperature": ask.sampling.temperature,
                "seed": 7,
                "max_tokens": ask.sampling.max_tokens,
            }
            assert outcome.outputs[0].text == completion(ask.prompt, first)


def test_params_do_not_leak_and_a_shared_context_is_sent_once() -> None:
    with serving() as server:
        asks: list[Ask] = [
            Generate("p", Sampling(5, stop=("\n",))),
            *(Span(f"one context {option}", 11) for option in "ABCD"),
            Generate("q", Sampling(6, temperature=0.3, top_p=0.9)),
        ]
        outcomes(client(server.url, concurrency=1), asks)
        bodies = server.bodies
    keys = {"max_tokens", "temperature", "top_p", "stop", "seed", "prompt_logprobs"}
    assert all(set(body["params"]) == keys for body in bodies)
    by_length = {body["params"]["max_tokens"]: body for body in bodies}
    assert by_length[5]["params"]["stop"] == ["\n"]
    set_ = {"max_tokens": 6, "temperature": 0.3, "top_p": 0.9}
    assert by_length[6]["params"] == {**set_, "stop": None, "seed": None, "prompt_logprobs": None}
    assert by_length[1]["instances"].count("one context") == 1
    assert len(by_length[1]["instances"]) == 5


def test_requests_are_pulled_as_there_is_room() -> None:
    pulled = 0

    def endless() -> Iterator[Request]:
        nonlocal pulled
        while True:
            pulled += 1
            yield make_request("t", str(pulled), "gen", "answer", 0, Generate(f"prompt {pulled}", GREEDY))

    with serving() as server:
        stream = client(server.url, batch_size=4, concurrency=3).run(endless())
        assert pulled == 0
        for _ in range(20):
            next(stream)
        assert pulled <= 20 + 4 * 3
        stream.close()  # type: ignore[attr-defined]
        assert "assay-http" not in [thread.name for thread in threading.enumerate()]


def test_settings_of_many_kinds_do_not_pile_up() -> None:
    pulled = 0

    def all_different() -> Iterator[Request]:
        nonlocal pulled
        while True:
            pulled += 1
            yield make_request(
                "t", str(pulled), "gen", "answer", 0, Generate("p", Sampling(max_tokens=pulled))
            )

    with serving() as server:
        stream = client(server.url, batch_size=4, concurrency=3).run(all_different())
        next(stream)
        assert pulled <= 4 * 8 + 3
        stream.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "trouble", [failing(500), failing(429), failing(503), not_json], ids=["500", "429", "503", "not_json"]
)
def test_trouble_that_passes_is_waited_for(trouble: Model) -> None:
    with serving(in_turn(trouble, trouble, small_model)) as server:
        backend = client(server.url, concurrency=1)
        assert failures(outcomes(backend, TEXTS)) == {}
        assert backend.stats() == {"calls": 2.0, "texts": 20.0, "retries": 2.0}


def test_waits_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def noted(delay: float, *rest: Any) -> None:
        if delay:  # The session yields to the loop when it closes.
            waits.append(delay)
        await sleep(0)

    with serving(failing(500)) as server:
        monkeypatch.setattr(asyncio, "sleep", noted)
        (failure,) = failures(outcomes(client(server.url, retries=8, retry_wait_s=1), TEXTS[:1])).values()
    longest = [1, 2, 4, 8, 16, 32, 60, 60]
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True))
    assert failure.attempts == 9
    assert "HTTP status 500: 'out of order'" in failure.message


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        (failing(500), "HTTP status 500"),
        (failing(400, "no"), "HTTP status 400: 'no'"),
        (not_json, "not JSON"),
        (replying(lambda replies: replies[1:]), "the server sent"),
        (replying(lambda replies: {"error": "no"}), "the server sent a dict"),
        (replying(lambda replies: "request time out"), "the server sent a str"),
    ],
    ids=["500", "400", "not_json", "wrong_length", "no_list", "a_string"],
)
@pytest.mark.parametrize("poison", [0, 7, 19])
def test_one_text_that_always_fails_costs_no_other(trouble: Model, message: str, poison: int) -> None:
    with serving(poisoned(f"number {poison},", trouble)) as server:
        failed = failures(outcomes(client(server.url, batch_size=20), TEXTS))
    assert list(failed) == [poison]
    assert message in failed[poison].message


def test_a_single_reply_that_is_none_fails_alone_without_another_call() -> None:
    with serving(replying(lambda replies: [None, *replies[1:]])) as server:
        failed = failures(outcomes(client(server.url, batch_size=20), TEXTS))
        assert len(server.bodies) == 1
    assert list(failed) == [0]


def test_a_server_that_only_writes_says_so_for_every_text_to_score() -> None:
    def writes(body: Body) -> list[str]:
        return ["some text"] * len(body["instances"])

    with serving(writes) as server:
        failed = failures(outcomes(client(server.url), TEXTS))
        assert len(server.bodies) == 2
    assert len(failed) == 20
    assert "expected a list of log-probabilities, but the server sent 'some text'" in failed[0].message


def test_a_server_that_is_too_slow_for_one_text() -> None:
    waiting = threading.Event()

    def slow(body: Body) -> Any:
        waiting.wait(20)
        return small_model(body)

    with serving(poisoned("number 3,", slow)) as server:
        try:
            failed = failures(outcomes(client(server.url, batch_size=2, retries=0, timeout_s=1), TEXTS[:8]))
        finally:
            waiting.set()
    assert {n: failure.kind for n, failure in failed.items()} == {3: "timeout"}
    assert "no reply within 1 s" in failed[3].message


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_no_server_at_the_start_is_an_error_at_once() -> None:
    url = f"http://127.0.0.1:{free_port()}/infer"
    began = time.monotonic()
    with pytest.raises(BackendError, match=rf"MODEL-007.*{url}.*Fix: start the server"):
        outcomes(client(url, retries=50, retry_wait_s=60), TEXTS)
    assert time.monotonic() - began < 10, "it was not waited for"


def test_a_server_that_is_gone_ends_the_run_and_keeps_what_was_answered() -> None:
    with serving() as server:
        stream = client(server.url, batch_size=1, concurrency=1).run(requests(TEXTS))
        answered = [next(stream)]
    with pytest.raises(BackendError, match=r"MODEL-007.*no longer responds.*3 times in a row"):
        answered.extend(stream)
    assert all(isinstance(response.outcome, Likelihood) for response in answered)


@pytest.mark.parametrize("status", [404, 405])
def test_an_address_that_is_not_served_ends_the_run(status: int) -> None:
    with serving(failing(status)) as server, pytest.raises(BackendError, match=rf"MODEL-008.*{status}"):
        outcomes(client(server.url), TEXTS)


def test_a_connection_that_breaks_is_a_failure_of_that_text() -> None:
    class Breaking(web.Response):
        async def prepare(self, request: web.BaseRequest) -> Any:
            assert request.transport is not None
            request.transport.close()
            return await super().prepare(request)

    with serving(poisoned("number 3,", lambda body: Breaking())) as server:
        failed = failures(outcomes(client(server.url, batch_size=4), TEXTS[:8]))
    assert {n: failure.kind for n, failure in failed.items()} == {3: "connection"}


def test_it_works_where_an_event_loop_runs_already() -> None:
    async def in_a_notebook(url: str) -> list[Outcome]:
        return outcomes(client(url), TEXTS)

    with serving() as server:
        assert failures(asyncio.run(in_a_notebook(server.url))) == {}


def test_texts_that_may_be_cut_off_are_counted() -> None:
    with serving(replying(lambda replies: ["long enough"] * len(replies))) as server:
        backend = client(server.url)
        asks = [Generate("p", Sampling(max_tokens=n)) for n in (5, 50)]
        finishes = [one.outputs[0].finish for one in outcomes(backend, asks) if isinstance(one, Completion)]
        assert finishes == [Finish.LENGTH, Finish.END]
        (note,) = backend.notes()
        assert "1 texts that are long enough" in note
        assert client(server.url).notes() == ()


def test_who_it_is() -> None:
    with serving() as server:
        url = server.url
        unnamed, named = (
            open_backend(f"ultraeval:{url}", {}),
            open_backend(f"ultraeval:{url}", {"model": "llama"}),
        )
        assert (unnamed.identity().backend, unnamed.identity().name) == ("ultraeval", f"ultraeval:{url}")
        assert (unnamed.identity().server, named.identity().server) == ("unknown", "named")
        assert unnamed.identity().digest != named.identity().digest
        # How it is asked does not change who it is.
        assert open_backend(f"ultraeval:{url}", {"batch_size": "3"}).identity() == unnamed.identity()
    assert (unnamed.tokens(TEXTS[0]), unnamed.n_tokens(TEXTS[0])) == ((), None)


@pytest.mark.parametrize(
    "where", ["", "127.0.0.1:5002/infer", "ftp://host/infer", "http://", "http://host:99999/", "http://[::1/"]
)
def test_an_address_must_be_whole(where: str) -> None:
    with pytest.raises(BackendError, match=r"MODEL-001.*ultraeval:http://127.0.0.1:5002/infer"):
        open_backend(f"ultraeval:{where}", {})


def test_a_password_in_an_address_is_rejected_and_not_repeated() -> None:
    with pytest.raises(BackendError, match="MODEL-001") as caught:
        open_backend("ultraeval:http://me:secret@host/infer", {})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "arg", ["batch_size=0", "concurrency=0", "timeout_s=0", "retries=-1", "retry_wait_s=-1"]
)
def test_arguments_have_bounds(arg: str) -> None:
    name, _, value = arg.partition("=")
    with pytest.raises(BackendError, match=rf"MODEL-002.*{name}"):
        open_backend("ultraeval:http://host/infer", {name: value})


def test_further_parameters_are_sent_and_reset_for_later_calls() -> None:
    beams = {"use_beam_search": True, "best_of": 10, "top_k": -1, "early_stopping": "never"}
    asks = [
        Generate("a", Sampling(16, server=beams)),
        Generate("b", Sampling(16)),
    ]
    with serving() as server:
        backend = open_backend(f"ultraeval:{server.url}", {"concurrency": "1"})
        assert backend.card.takes_parameters
        for n, ask in enumerate(asks):
            list(backend.run([make_request("t", str(n), "gen", "answer", 0, ask)]))
    first, second = (body["params"] for body in server.bodies)
    assert {name: first[name] for name in beams} == beams
    assert first["max_tokens"] == 16
    # The original's servers keep what a call sets for all calls after it.
    neutral = {"use_beam_search": False, "best_of": None, "top_k": -1, "early_stopping": False}
    assert {name: second[name] for name in beams} == neutral


def test_parameters_may_say_how_many_texts_a_call_has() -> None:
    small = Sampling(4, server={"batch_size": 2})
    asked = [make_request("t", str(n), "gen", "answer", 0, Generate(f"{n}", small)) for n in range(5)]
    asked += [
        make_request("t", str(n), "gen", "answer", 0, Generate(f"{n}", Sampling(4))) for n in range(5, 10)
    ]
    with serving() as server:
        list(open_backend(f"ultraeval:{server.url}", {"batch_size": "4"}).run(asked))
    sizes = {
        flag: sorted(
            len(body["instances"]) for body in server.bodies if ("batch_size" in body["params"]) is flag
        )
        for flag in (True, False)
    }
    assert sizes == {True: [1, 2, 2], False: [1, 4]}
