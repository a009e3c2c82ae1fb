"""A model behind a server and the same model here: likelihoods and label probabilities must agree."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.errors import BackendError
from assay.core.prompt import Message
from assay.core.request import Ask, Kind, Labels, Span, Windows, make_request
from assay.core.response import Failure, LabelProbs
from fakes.openai_server import error, failing, serving
from fakes.scoring_asks import CHATS, LABELS, QUESTION, SPANS, close, in_chat, likelihoods, outcomes, same
from fakes.scoring_server import ECHOING, LISTING, VLLM, Powers, scoring

MakeModel = Callable[..., Path]
QUICK = {"retries": "1", "retry_wait_s": "0"}
MODES = pytest.mark.parametrize("adds_bos", [True, False], ids=["bos", "no bos"])


@MODES
@pytest.mark.parametrize(
    "powers",
    [
        pytest.param(VLLM, id="prompt_logprobs"),
        pytest.param(replace(VLLM, shows_halves=True), id="prompt_logprobs, half characters"),
        pytest.param(replace(VLLM, drops_spaces=True), id="prompt_logprobs, no spaces"),
        pytest.param(ECHOING, id="echo with a token written"),
        pytest.param(replace(ECHOING, least_echoed=0), id="echo"),
        pytest.param(replace(ECHOING, shows_halves=True), id="echo, half characters"),
        pytest.param(replace(ECHOING, drops_spaces=True), id="echo, no spaces"),
    ],
)
def test_likelihoods_are_those_of_the_same_model_here(
    make_model: MakeModel, powers: Powers, adds_bos: bool
) -> None:
    folder = make_model(adds_bos=adds_bos)
    expected = likelihoods(outcomes(open_backend(f"hf:{folder}", {}), SPANS))
    with scoring(folder, powers, adds_bos=adds_bos) as server:
        backend = open_backend(server.model, {})
        found = likelihoods(outcomes(backend, SPANS))
        notes = "\n".join(backend.notes())
    for one, other in zip(found, expected, strict=True):
        same(one, other, has_ids=powers.prompt_logprobs)
    assert any(one.straddles for one in expected)
    assert any(one.is_greedy is not None for one in found)
    # A token of several characters, the last of them not whole, hides a join within them.
    n_hidden = 1 if not (powers.shows_halves or powers.drops_spaces) else None
    assert n_hidden is None or f"where {n_hidden} of {len(SPANS)} scored texts begin" in notes


@MODES
def test_conversations_are_scored_where_the_server_renders_them(
    make_model: MakeModel, adds_bos: bool
) -> None:
    folder = make_model(adds_bos=adds_bos, chat=True)
    expected = likelihoods(outcomes(open_backend(f"hf:{folder}", {}), CHATS))
    for powers in (VLLM, replace(VLLM, drops_spaces=True), replace(VLLM, shows_halves=True)):
        with scoring(folder, powers, adds_bos=adds_bos) as server:
            found = likelihoods(outcomes(open_backend(server.model, {}), CHATS))
        for one, other in zip(found, expected, strict=True):
            same(one, other)


def test_a_whole_text_needs_a_token_before_it(make_model: MakeModel) -> None:
    whole = [Span("The capital of France", 0), Span("The capital of France", 0, scores_first_token=False)]
    for adds_bos in (True, False):
        folder = make_model(adds_bos=adds_bos)
        expected = outcomes(open_backend(f"hf:{folder}", {}), whole)
        for powers in (VLLM, ECHOING):
            with scoring(folder, powers, adds_bos=adds_bos) as server:
                leading, bare = outcomes(open_backend(server.model, {}), whole)
            same(*likelihoods([bare, expected[1]]), has_ids=powers.prompt_logprobs)
            if adds_bos:
                same(*likelihoods([leading, expected[0]]), has_ids=powers.prompt_logprobs)
            else:
                assert isinstance(leading, Failure)
                assert "no special token before a text" in leading.message


def test_what_no_server_scores_is_a_failure_that_says_why(make_model: MakeModel) -> None:
    asks: list[Ask] = [
        Span("text", 0, windows=Windows("classic")),
        Span("text", 4),
        Span((Message("user", "hello"),), 0),
        Labels("p", ()),
        Labels("p", ((" A",), (" A",))),
        Labels("", ((" A",),)),
    ]
    with scoring(make_model(chat=True)) as server:
        found = outcomes(open_backend(server.model, {}), asks)
    assert all(isinstance(one, Failure) for one in found)
    kinds = [one.kind for one in found if isinstance(one, Failure)]
    assert kinds == ["windows", "empty", "template", "labels", "labels", "empty"]


@MODES
@pytest.mark.parametrize("is_chat", [True, False], ids=["chat", "text"])
def test_label_probabilities_by_ids_are_those_of_the_same_model_here(
    make_model: MakeModel, adds_bos: bool, is_chat: bool
) -> None:
    folder = make_model(adds_bos=adds_bos, chat=is_chat)
    asks = in_chat(LABELS) if is_chat else LABELS
    expected = outcomes(open_backend(f"hf:{folder}", {}), asks)
    with scoring(folder, adds_bos=adds_bos) as server:
        backend = open_backend(server.model, {})
        card = backend.probe_card(frozenset({Kind.LABELS}), is_chat=is_chat)
        found = outcomes(backend, asks)
    assert "logprob_token_ids" in card.ways[Kind.LABELS]
    for one, other in zip(found, expected, strict=True):
        close(one, other)


@pytest.mark.parametrize("powers", [VLLM, LISTING], ids=["by ids", "by list"])
def test_with_api_chat_labels_begin_the_reply_to_a_text(make_model: MakeModel, powers: Powers) -> None:
    folder = make_model(adds_bos=True, chat=True)
    message = Labels((Message("user", "Which? "),), (("A",), ("B", "C")))
    expected = outcomes(open_backend(f"hf:{folder}", {}), [message])
    with scoring(folder, powers, adds_bos=True) as server:
        backend = open_backend(server.model, {"api": "chat"})
        card = backend.probe_card(frozenset(Kind), is_chat=False)
        found = outcomes(backend, [Labels("Which? ", message.labels)])
        (refused,) = outcomes(backend, [Span("Which? A", 7)])
    close(found[0], expected[0])
    assert "user messages are not scored" in card.cannot[Kind.SPAN]
    assert isinstance(refused, Failure)


@pytest.mark.parametrize("is_chat", [True, False], ids=["chat", "text"])
def test_a_list_of_all_tokens_gives_the_same_probabilities(make_model: MakeModel, is_chat: bool) -> None:
    folder = make_model(adds_bos=True, chat=is_chat)
    # Spellings of one token: of longer ones a list tells a bound.
    plain = [Labels(QUESTION, (("A", "a"), ("B",))), Labels(QUESTION + "  ", (("A",), ("B", "C")))]
    asks = in_chat(plain) if is_chat else plain
    expected = outcomes(open_backend(f"hf:{folder}", {}), asks)
    with scoring(folder, LISTING, adds_bos=True) as server:
        found = outcomes(open_backend(server.model, {}), asks)
    for one, other in zip(found, expected, strict=True):
        close(one, other)


@pytest.mark.parametrize("n", [1, 3, 20, 100])
@pytest.mark.parametrize("is_chat", [True, False], ids=["chat", "text"])
def test_a_short_list_bounds_what_it_does_not_show(make_model: MakeModel, n: int, is_chat: bool) -> None:
    folder = make_model(adds_bos=True, chat=is_chat)
    asks = in_chat(LABELS) if is_chat else LABELS
    expected = outcomes(open_backend(f"hf:{folder}", {}), asks)
    with scoring(folder, Powers(max_logprobs=n, is_refusing=False), adds_bos=True) as server:
        backend = open_backend(server.model, {})
        card = backend.probe_card(frozenset({Kind.LABELS}), is_chat=is_chat)
        if n < 5:
            assert Kind.LABELS in card.cannot
            return
        found = outcomes(backend, asks)
    n_bounded = 0
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, LabelProbs)
        assert isinstance(other, LabelProbs)
        n_bounded += bool(one.at_most)
        highest = one.at_most or tuple(p + 1e-4 for p in one.probs)
        for low, true, high in zip(one.probs, other.probs, highest, strict=True):
            assert low - 1e-6 <= true <= high + 1e-6
        if one.decided_label is not None:
            assert one.decided_label == other.decided_label
    assert n_bounded


# --- what a server is asked beforehand ---


@pytest.mark.parametrize(
    ("powers", "is_chat", "ways", "cannot"),
    [
        (VLLM, False, ("prompt_logprobs of /completions", "logprob_token_ids of /completions"), ()),
        (VLLM, True, ("prompt_logprobs of /chat/completions", "logprob_token_ids of /chat/completions"), ()),
        (ECHOING, False, ("echo of /completions", "the 5 likeliest next tokens of /completions"), ()),
        (
            ECHOING,
            True,
            ("the 5 likeliest next tokens of /chat/completions",),
            ("with echo: use --chat off",),
        ),
        (
            LISTING,
            False,
            (" likeliest next tokens of /completions",),
            ("does not return log-probabilities of a prompt",),
        ),
        (
            Powers(max_logprobs=0),
            False,
            (),
            ("prompt_logprobs: HTTP status 400: Unrecognized", "greater than max allowed"),
        ),
    ],
)
def test_the_card_says_how_a_server_is_asked(
    make_model: MakeModel, powers: Powers, is_chat: bool, ways: tuple[str, ...], cannot: tuple[str, ...]
) -> None:
    with scoring(make_model(chat=True), powers) as server:
        backend = open_backend(server.model, {})
        assert backend.card.kinds == {Kind.GENERATE}
        card = backend.probe_card(frozenset(Kind), is_chat=is_chat)
        n_asked = len(server.bodies)
        assert backend.probe_card(frozenset(Kind), is_chat=is_chat) == card == backend.card
        assert len(server.bodies) == n_asked, "it is asked once"
        assert all(body["max_tokens"] <= 1 for body in server.bodies if "max_tokens" in body)
    assert card.kinds == {Kind.GENERATE, *card.ways}
    assert card.ways.keys().isdisjoint(card.cannot)
    assert len(card.ways) == len(ways)
    assert all(any(words in way for way in card.ways.values()) for words in ways)
    assert all(any(words in why for why in card.cannot.values()) for words in cannot)


def test_nobody_is_asked_for_texts_alone() -> None:
    with serving() as server:
        card = open_backend(f"openai:m@{server.url}", {}).probe_card(frozenset({Kind.GENERATE}), is_chat=True)
        assert server.paths == []
    assert card.kinds == {Kind.GENERATE}
    assert not card.ways
    assert not card.cannot


@pytest.mark.parametrize("status", [400, 404, 500, 501])
def test_a_refusal_is_an_answer(status: int) -> None:
    def refusing(body: dict[str, object]) -> object:
        return error(status, "not here") if "prompt_logprobs" in body else {"choices": []}

    with serving(refusing) as server:
        backend = open_backend(f"openai:m@{server.url}", QUICK)
        card = backend.probe_card(frozenset({Kind.SPAN}), is_chat=False)
    assert f"prompt_logprobs: HTTP status {status}: not here" in card.cannot[Kind.SPAN].replace(
        f"{server.url}/completions answers with ", ""
    )


@pytest.mark.parametrize(("status", "code"), [(401, "MODEL-009"), (404, "MODEL-008")])
def test_a_server_that_wants_a_key_or_serves_nothing_is_an_error(status: int, code: str) -> None:
    with serving(failing(status, "no")) as server:
        backend = open_backend(f"openai:m@{server.url}", QUICK)
        with pytest.raises(BackendError, match=code):
            backend.probe_card(frozenset(Kind), is_chat=False)


def test_no_server_is_an_error() -> None:
    with pytest.raises(BackendError, match="MODEL-007"):
        open_backend("openai:m@http://127.0.0.1:1/v1", {}).probe_card(frozenset({Kind.SPAN}), is_chat=False)


def test_numbers_that_cannot_be_are_failures_of_their_samples() -> None:
    """The probe is answered well, and every text after it wrongly: a score never comes of it."""

    def broken(body: dict[str, Any]) -> Any:
        token = {"5": {"logprob": -1.0, "rank": 1, "decoded_token": " four"}}
        if body["prompt"] == "one two three four":
            reply: list[Any] = [None, token]
        elif "short" in body["prompt"]:
            reply = [None]
        else:
            reply = [None, {"5": {**token["5"], "logprob": math.nan}}]
        choice = {"text": "x", "finish_reason": "length", "prompt_logprobs": reply}
        return {"choices": [choice], "usage": {"prompt_tokens": 2, "completion_tokens": 1}}

    with serving(broken) as server:
        backend = open_backend(f"openai:m@{server.url}", QUICK)
        found = outcomes(backend, [Span("a short text", 8), Span("a text", 2)])
    assert all(isinstance(one, Failure) for one in found), found
    assert [one.kind for one in found if isinstance(one, Failure)] == ["wrong_logprobs", "wrong_logprobs"]


def test_the_times_of_calls_side_by_side_do_not_add_up(make_model: MakeModel) -> None:
    """A run says how long its methods took, and how fast the server was: by the clock on the wall."""
    asks: list[Ask] = [*SPANS, *LABELS]
    wanted = [make_request("t", str(n), "ppl", "option", 0, ask) for n, ask in enumerate(asks)]
    with scoring(make_model(), VLLM) as server:
        backend = open_backend(server.model, {"concurrency": "8"})
        backend.probe_card(frozenset({Kind.SPAN, Kind.LABELS}), is_chat=False)
        began = time.perf_counter()
        found = list(backend.run(wanted))
        took_s = time.perf_counter() - began
    assert len(found) == len(asks) > 8
    assert sum(one.seconds for one in found) <= took_s
    assert all(one.latency_s > 0 for one in found if not isinstance(one.outcome, Failure))


def test_scoring_fields_are_sent_with_the_context_alone_too(make_model: MakeModel) -> None:
    """The tokens of both requests are compared, so both must have the same fields."""
    folder = make_model(adds_bos=True)
    with scoring(folder, replace(VLLM, drops_spaces=True), adds_bos=True) as server:
        backend = open_backend(server.model, {"scoring_fields": '{"seed": 7}'})
        backend.probe_card(frozenset({Kind.SPAN}), is_chat=False)
        n_probes = len(server.bodies)
        likelihoods(outcomes(backend, SPANS))
        sent = server.bodies[n_probes:]
        assert any("contexts alone" in note for note in backend.notes())
    assert len(sent) > len(SPANS)
    assert all(body["seed"] == 7 for body in sent)
