"""The contract of every backend, whatever model or server it uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from assay.app.open_model import open_model
from assay.app.settings import RunSettings
from assay.backends.registry import open_backend
from assay.core.ids import make_random
from assay.core.ports import Backend
from assay.core.prompt import Message
from assay.core.python_objects import providing_objects
from assay.core.request import Ask, Generate, Kind, Labels, Request, Sampling, Span, Windows, make_request
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Outcome, Response
from fakes import openai_server
from fakes.generate_server import generating
from fakes.infer_server import serving, small_model
from fakes.provider_servers import providing
from fakes.scoring_server import scoring
from fakes.tiny_models import write_tiny_model
from fakes.vllm_here import SETTINGS, require_vllm

QUESTION = "Which of these is a fruit?\nA. apple\nB. stone\nAnswer:"
TALE = "  One day, in a far country, a fox met a very old crow who sat on a wall and ate a piece of cheese.\n"
ASKS: list[Ask] = [
    *(Span(f"{QUESTION} {text}", len(QUESTION)) for text in ("A", "B", "apple", "a stone wall", "apple")),
    Span("hello world", 7),
    Span("The whole of it.", 0),
    *(Span(TALE, 0, windows=windows) for windows in (Windows("classic", 16), Windows("classic"))),
    Span(TALE, 0, windows=Windows("hf-stride", 16, 5)),
    Span(TALE, 0, windows=Windows("gptq", 16)),
    Labels(QUESTION, ((" A", "A"), (" B", "B"))),
    Labels("Is water wet? Answer: ", ((" yes",), (" no",))),
    *(Generate(text, Sampling(max_tokens=4)) for text in (QUESTION, "hello")),
    Generate("hello", Sampling(max_tokens=4, temperature=0.8, seed=3, n=2)),
]
NOTHING = Span("nothing after the join", len("nothing after the join"))
ANSWERS: dict[Kind, type] = {Kind.SPAN: Likelihood, Kind.LABELS: LabelProbs, Kind.GENERATE: Completion}

BACKENDS = [
    pytest.param(("mock", {}), id="mock"),
    pytest.param(("mock, workers", {}), id="mock, workers"),
    pytest.param(("mock, ray", {}), id="mock, ray", marks=pytest.mark.slow),
    pytest.param(("smollm2", {}), id="smollm2", marks=pytest.mark.model),
    pytest.param(("ultraeval", {}), id="ultraeval"),
    pytest.param(("openai", {}), id="openai"),
    pytest.param(("openai, scoring", {}), id="openai, scoring"),
    pytest.param(("tgi", {}), id="tgi"),
    pytest.param(("triton", {}), id="triton"),
    pytest.param(("anthropic", {}), id="anthropic"),
    pytest.param(("gemini", {}), id="gemini"),
    pytest.param(("python:answer", {"concurrency": "4"}), id="python function"),
    pytest.param(("python:answer_all", {}), id="python function of batches"),
    pytest.param(("python:loaded", {}), id="python loaded model"),
    pytest.param(("vllm", SETTINGS), id="vllm", marks=pytest.mark.slow),
]
_IN_WORKERS = {
    "mock, workers": lambda: open_model(RunSettings(model="mock", workers=2)),
    "mock, ray": lambda: open_model(RunSettings(model="mock", workers=2, on="ray:local")),
}
_OPENED: dict[str, Backend] = {}


@pytest.fixture(scope="module")
def infer_url() -> Iterator[str]:
    """A server whose model has a token before each text, so that all of a text can be scored."""
    with serving(partial(small_model, has_bos=True)) as server:
        yield server.url


@pytest.fixture(scope="module")
def openai_url() -> Iterator[str]:
    """A server of chats and completions."""
    with openai_server.serving() as server:
        yield server.url


@pytest.fixture(scope="module")
def generating_url() -> Iterator[str]:
    """A server with TGI's protocol and Triton's."""
    with generating() as server:
        yield server.url


@pytest.fixture(scope="module")
def provider_urls() -> Iterator[dict[str, str]]:
    """Servers with the protocols of Anthropic and Gemini."""
    with providing("anthropic") as anthropic, providing("gemini") as gemini:
        yield {"anthropic": anthropic.url, "gemini": gemini.url}


@pytest.fixture(scope="module")
def scoring_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that scores too, with a tiny model."""
    pytest.importorskip("torch", reason="the hf extra is not installed")
    folder = write_tiny_model(tmp_path_factory.mktemp("tiny"), adds_bos=True, chat=True)
    with scoring(folder, adds_bos=True) as server:
        yield server.model


@pytest.fixture(autouse=True, scope="module")
def _closed() -> Iterator[None]:
    """Leave no worker behind."""
    yield
    while _OPENED:
        _OPENED.popitem()[1].close()


@pytest.fixture(scope="module")
def vllm_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model whose heads are as wide as vLLM wants them."""
    require_vllm()
    folder = tmp_path_factory.mktemp("vllm")
    return f"vllm:{write_tiny_model(folder, chat=True, head_dim=32, context=4096)}"


@pytest.fixture(scope="module")
def python_objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Functions, and a tiny model that is already loaded."""

    def answer(prompt: str) -> str:
        return prompt[-4:].upper()

    async def answer_all(prompts: list[str]) -> list[str]:
        return [answer(prompt) for prompt in prompts]

    transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")
    folder = write_tiny_model(tmp_path_factory.mktemp("loaded"), chat=True, context=4096)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    loaded = (model, transformers.AutoTokenizer.from_pretrained(folder))
    return {"python:answer": answer, "python:answer_all": answer_all, "python:loaded": loaded}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Return the backend under test; opened once, as weights are large."""
    name, args = request.param
    if name == "mock, ray":
        pytest.importorskip("ray", reason="the ray extra is not installed")
    if name == "ultraeval":
        name = f"ultraeval:{request.getfixturevalue('infer_url')}"
    elif name == "openai":
        name = f"openai:any@{request.getfixturevalue('openai_url')}"
    elif name in ("tgi", "triton"):
        name = f"{name}:llm@{request.getfixturevalue('generating_url')}"
    elif name in ("anthropic", "gemini"):
        name = f"{name}:any@{request.getfixturevalue('provider_urls')[name]}"
    elif name == "openai, scoring":
        name = request.getfixturevalue("scoring_model")
    elif name == "vllm":
        name = request.getfixturevalue("vllm_model")
    objects = request.getfixturevalue("python_objects") if name.startswith("python:") else {}
    with providing_objects(objects):
        if name not in _OPENED:
            _OPENED[name] = _IN_WORKERS[name]() if name in _IN_WORKERS else open_backend(name, args)
            _OPENED[name].probe_card(frozenset(Kind), is_chat=False)
        yield _OPENED[name]


def requests(asks: Sequence[Ask]) -> list[Request]:
    return [make_request("t", str(n), "any", "answer", 0, ask) for n, ask in enumerate(asks)]


def asks_of(backend: Backend) -> list[Ask]:
    """Return the asks that a backend says it can answer."""
    return [
        ask
        for ask in ASKS
        if ask.kind in backend.card.kinds
        and (backend.card.has_windows or not (isinstance(ask, Span) and ask.windows))
    ]


def shows_tokens(backend: Backend) -> bool:
    """Whether a backend has a tokenizer. Without one it says so each time, and never guesses."""
    is_counted = backend.n_tokens(Generate("hello", Sampling())) is not None
    assert bool(backend.tokens(Generate("hello", Sampling()))) == is_counted
    return is_counted


def by_id(responses: Iterator[Response]) -> dict[str, Outcome]:
    return {response.request_id: response.outcome for response in responses}


def close_to(one: Outcome, other: Outcome) -> bool:
    """Whether two answers to the same ask agree as far as numbers on a machine can."""
    if isinstance(one, Likelihood) and isinstance(other, Likelihood):
        return one.token_ids == other.token_ids and one.token_logprobs == pytest.approx(
            other.token_logprobs, abs=1e-4
        )
    if isinstance(one, LabelProbs) and isinstance(other, LabelProbs):
        return bool(one.probs == pytest.approx(other.probs, abs=1e-4))
    return one == other


def test_card_comes_before_weights(backend: Backend) -> None:
    assert Kind.GENERATE in backend.card.kinds
    assert backend.card.name == backend.identity().name
    assert backend.stats().get("load_seconds", 0.0) == 0.0 or backend.stats()["batches"] > 0


def test_answers_every_request_once_with_its_id_and_key(backend: Backend) -> None:
    asked = requests(asks_of(backend))
    responses = list(backend.run(asked))
    assert sorted(r.request_id for r in responses) == sorted(r.id for r in asked)
    keys = {r.id: r.key for r in asked}
    assert all(keys[r.request_id] == r.key for r in responses)
    assert all(r.seconds >= 0 and not r.cached for r in responses)


def test_answers_have_the_kind_of_the_ask_and_their_counts_agree(backend: Backend) -> None:
    found = by_id(backend.run(requests(asks_of(backend))))
    for one in requests(asks_of(backend)):
        outcome = found[one.id]
        assert isinstance(outcome, ANSWERS[one.ask.kind])
        if isinstance(outcome, Likelihood):
            assert outcome.n_tokens == len(outcome.token_logprobs)
            # A server without a tokenizer for us may still tell the tokens that it scored.
            known = {outcome.n_tokens} if shows_tokens(backend) else {0, outcome.n_tokens}
            assert len(outcome.token_ids) in known
            is_parted = isinstance(one.ask, Span) and one.ask.windows is not None
            assert len(outcome.token_starts) in (known | {0} if is_parted else known)
            assert list(outcome.token_starts) == sorted(outcome.token_starts)
            assert outcome.sum_logprob == pytest.approx(sum(outcome.token_logprobs))
            assert all(logprob <= 0 for logprob in outcome.token_logprobs)
            scored = [token.id for token in backend.tokens(one.ask) if token.is_scored]
            assert not shows_tokens(backend) or tuple(scored) == outcome.token_ids
        elif isinstance(outcome, LabelProbs):
            assert outcome.mass == pytest.approx(sum(outcome.probs))
            assert 0 <= outcome.mass <= 1 + 1e-6
        elif isinstance(outcome, Completion):
            assert isinstance(one.ask, Generate)
            assert len(outcome.outputs) == one.ask.sampling.n
            assert all(output.n_tokens <= one.ask.sampling.max_tokens for output in outcome.outputs)


def test_windows_score_each_token_once_and_count_what_they_score(backend: Backend) -> None:
    if not backend.card.has_windows:
        (response,) = backend.run(requests([Span(TALE, 0, windows=Windows("classic"))]))
        assert isinstance(response.outcome, Failure)
        return
    schemes = [Windows("classic", 16), Windows("hf-stride", 16, 5), Windows("gptq", 16), Windows("classic")]
    asked = requests([*(Span(TALE, 0, windows=windows) for windows in schemes), Span(TALE, 0)])
    found = by_id(backend.run(asked))
    answers = [found[one.id] for one in asked]
    assert all(isinstance(answer, Likelihood) for answer in answers)
    classic, stride, gptq, fitting, plain = [one for one in answers if isinstance(one, Likelihood)]
    assert classic.token_ids == fitting.token_ids == plain.token_ids
    assert fitting.sum_logprob == pytest.approx(plain.sum_logprob, abs=1e-4)
    assert stride.token_ids == plain.token_ids[1:]
    assert gptq.n_tokens == plain.n_tokens // 16 * 15
    # White space around the text counts, as it was scored; a word counts where it begins.
    assert (classic.n_chars, classic.n_bytes, classic.n_words) == (len(TALE), len(TALE), len(TALE.split()))
    assert plain.n_words == 0
    # Blocks omit tokens, so the places of the others would be wrong.
    assert classic.token_starts == fitting.token_starts == plain.token_starts
    assert stride.token_starts == plain.token_starts[1:]
    assert gptq.token_starts == ()
    assert gptq.n_bytes < stride.n_bytes < classic.n_bytes


def test_a_text_shorter_than_a_block_says_so(backend: Backend) -> None:
    if not backend.card.has_windows:
        pytest.skip("it has no windows")
    (response,) = backend.run(requests([Span("too short", 0, windows=Windows("gptq"))]))
    assert isinstance(response.outcome, Failure)
    assert "fewer than one block of 2,048" in response.outcome.message
    assert "--window-tokens" in response.outcome.message


def test_order_and_neighbours_do_not_change_answers(backend: Backend) -> None:
    asked = requests(asks_of(backend))
    together = by_id(backend.run(asked))
    shuffled = list(asked)
    make_random(1, "contract").shuffle(shuffled)
    again = by_id(backend.run(shuffled))
    alone = by_id(response for one in asked[::3] for response in backend.run([one]))
    for one in asked:
        assert close_to(again[one.id], together[one.id])
    for id_, outcome in alone.items():
        assert close_to(outcome, together[id_])


@pytest.mark.parametrize("args", [{"max_batch": "1"}, {"max_batch": "7"}, {"batch_tokens": "64"}], ids=str)
@pytest.mark.model
def test_batch_size_does_not_change_answers(args: dict[str, str]) -> None:
    expected = by_id(_opened("smollm2").run(requests(ASKS)))
    found = by_id(open_backend("smollm2", args).run(requests(ASKS)))
    assert all(close_to(found[id_], outcome) for id_, outcome in expected.items())


def _opened(name: str) -> Backend:
    if name not in _OPENED:
        _OPENED[name] = open_backend(name, {})
    return _OPENED[name]


def test_pulls_lazily(backend: Backend) -> None:
    pulled = 0
    ask: Ask = Span("Q: A", 2) if Kind.SPAN in backend.card.kinds else Generate("Q:", Sampling(max_tokens=1))

    def endless() -> Iterator[Request]:
        nonlocal pulled
        while True:
            yield make_request("t", str(pulled), "any", "answer", 0, ask)
            pulled += 1

    stream = backend.run(endless())
    assert pulled == 0
    next(stream)
    # The queue for workers is bounded too, but longer: several batches for each.
    assert pulled <= (4096 if "workers" not in backend.stats() else 2 * 4 * 2048 + 1024)


def test_nothing_asked_nothing_done(backend: Backend) -> None:
    assert list(backend.run([])) == []


def test_trouble_with_one_request_is_a_value(backend: Backend) -> None:
    # Who scores no texts cannot score this one either.
    good = asks_of(backend)[:2]
    asked = requests([good[0], NOTHING, good[1]])
    found = by_id(backend.run(asked))
    assert isinstance(found[asked[1].id], Failure)
    assert isinstance(found[asked[0].id], ANSWERS[good[0].kind])
    assert isinstance(found[asked[2].id], ANSWERS[good[1].kind])


def test_tokens_say_what_is_scored(backend: Backend) -> None:
    if not shows_tokens(backend):
        pytest.skip("it does not show its tokens")
    tokens = backend.tokens(Span("hello wor" + "ld", 9))
    assert "".join(token.text for token in tokens) == "hello world"
    assert any(token.is_scored for token in tokens)
    assert not all(token.is_scored for token in tokens)
    assert not any(token.is_scored for token in backend.tokens(Generate("hello", Sampling())))


def test_the_tokens_an_ask_needs_are_those_it_is_answered_with(backend: Backend) -> None:
    if not shows_tokens(backend):
        pytest.skip("it does not show its tokens")
    found = by_id(backend.run(requests(ASKS)))
    for one in requests(ASKS):
        needed, outcome = backend.n_tokens(one.ask), found[one.id]
        assert needed is not None
        if isinstance(one.ask, Span) and one.ask.windows is not None:
            # Never more at once than a window holds.
            assert 0 < needed <= (one.ask.windows.length or len(backend.tokens(one.ask)))
            continue
        assert needed >= len(backend.tokens(one.ask))
        if isinstance(outcome, Likelihood):
            assert needed == outcome.n_prompt_tokens + outcome.n_tokens
        elif isinstance(outcome, LabelProbs):
            assert needed >= outcome.n_prompt_tokens
        elif isinstance(one.ask, Generate):
            assert needed == len(backend.tokens(one.ask)) + one.ask.sampling.max_tokens


def test_what_is_before_a_text_only_adds_to_what_it_needs(backend: Backend) -> None:
    if not shows_tokens(backend):
        pytest.skip("it does not show its tokens")
    prompts = [f"{QUESTION} A\n\n" * n + QUESTION for n in range(4)]
    needed = [backend.n_tokens(Generate(prompt, Sampling(max_tokens=1))) or 0 for prompt in prompts]
    assert needed == sorted(set(needed))


def test_identity_is_the_same_each_time(backend: Backend) -> None:
    again: Any = open_backend(backend.card.name, {})
    assert again.identity() == backend.identity()


def test_conversations_are_answered_or_rejected_by_value(backend: Backend) -> None:
    prompt = (Message("user", "hello"), Message("assistant", "hi there"))
    asked = requests([Span(prompt, 0), Generate(prompt[:1], Sampling(max_tokens=4))])
    found = by_id(backend.run(asked))
    assert len(found) == 2
    if backend.card.is_chat:
        refused = [one.ask.kind for one in asked if isinstance(found[one.id], Failure)]
        assert backend.card.kinds.isdisjoint(refused)
