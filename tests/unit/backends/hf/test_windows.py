"""Windowed texts on tiny random models, against the published recipes written out plainly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.request import Span, Windows, make_request
from assay.core.response import Failure, Likelihood, Outcome

MakeModel = Callable[..., Path]
CONTEXT = 64
TEXT = (
    " = Robert = \n\n Robert is an English film actor . He had a role in 2000 . 日本語のテキスト 🙂 café\n"
    "This was followed by a starring role in the play Herons , which was performed in 2001 at the theatre .\n"
) * 3


def outcome(backend: Any, text: str, windows: Windows | None) -> Outcome:
    (response,) = backend.run([make_request("t", "s", "ppl", "text", 0, Span(text, 0, windows=windows))])
    found: Outcome = response.outcome
    return found


def likelihood(backend: Any, text: str, windows: Windows | None) -> Likelihood:
    found = outcome(backend, text, windows)
    assert isinstance(found, Likelihood), found
    return found


class Recipe:
    """One window at a time, all logits, log-softmax in fp64."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def ids(self, text: str) -> list[int]:
        """Return the text's tokens as its tokenizer gives them, less what it puts behind."""
        found: list[int] = self.tokenizer(text).input_ids
        return found[:-1] if found[-1] == self.tokenizer.eos_token_id else found

    def predicted(self, fed: Sequence[int], following: Sequence[int]) -> list[float]:
        """Return the log-probability of each of `following` at the last places of what is fed."""
        with self.torch.no_grad():
            logits = self.model(input_ids=self.torch.tensor([list(fed)])).logits[0]
        table = self.torch.log_softmax(logits.double(), dim=-1)[-len(following) :]
        return [float(row[token]) for row, token in zip(table, following, strict=True)]

    def classic(self, ids: Sequence[int], prefix: int, length: int) -> list[float]:
        """Disjoint windows as lm-evaluation-harness describes them: (what is fed, what is predicted)."""
        pairs: list[tuple[Sequence[int], Sequence[int]]] = [([prefix, *ids[: length - 1]], ids[:length])]
        done = min(length, len(ids))
        while done < len(ids):
            end = min(done + length, len(ids))
            pairs.append((ids[end - length - 1 : end - 1], ids[done:end]))
            done = end
        return [value for fed, following in pairs for value in self.predicted(fed, following)]

    def hf_stride(self, ids: Sequence[int], length: int, stride: int) -> list[float]:
        """The loop of transformers' page on perplexity, with labels of -100 where nothing is scored."""
        found: list[float] = []
        before = 0
        for begin in range(0, len(ids), stride):
            end = min(begin + length, len(ids))
            window = self.torch.tensor([list(ids[begin:end])])
            labels = window.clone()
            labels[:, : -(end - before)] = -100
            with self.torch.no_grad():
                logits = self.model(input_ids=window).logits[0, :-1].double()
            losses = self.torch.nn.functional.cross_entropy(logits, labels[0, 1:], reduction="none")
            found += [
                -float(loss) for loss, label in zip(losses, labels[0, 1:], strict=True) if label != -100
            ]
            before = end
            if end == len(ids):
                break
        return found

    def gptq(self, ids: Sequence[int], length: int) -> float:
        """The loop of GPTQ's evaluation: the perplexity itself, by means of blocks times their length."""
        losses = []
        n_blocks = len(ids) // length
        for block in range(n_blocks):
            window = self.torch.tensor([list(ids[block * length : (block + 1) * length])])
            with self.torch.no_grad():
                logits = self.model(input_ids=window).logits[0, :-1].double()
            losses.append(float(self.torch.nn.functional.cross_entropy(logits, window[0, 1:])) * length)
        return math.exp(sum(losses) / (n_blocks * length))


@pytest.fixture(scope="module", params=[("llama", False), ("llama", True), ("gpt2", False)], ids=str)
def pair(request: pytest.FixtureRequest, make_model: MakeModel) -> tuple[Any, Recipe]:
    family, adds_bos = request.param
    folder = make_model(family, adds_bos=adds_bos, context=CONTEXT)
    return open_backend(f"hf:{folder}", {}), Recipe(folder)


def test_classic_agrees_with_the_recipe(pair: tuple[Any, Recipe]) -> None:
    backend, recipe = pair
    ids = recipe.ids(TEXT)
    tokenizer = recipe.tokenizer
    prefix = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    # A tokenizer that puts its BOS in front has done what the prefix is for: the token appears once.
    bare = ids[1:] if ids[0] == tokenizer.bos_token_id else ids
    for length in (CONTEXT, 20, 7):
        found = likelihood(backend, TEXT, Windows("classic", length))
        assert list(found.token_ids) == bare
        assert found.token_logprobs == pytest.approx(recipe.classic(bare, prefix, length), abs=1e-4)
        assert (found.n_bytes, found.n_chars) == (len(TEXT.encode()), len(TEXT))
        assert found.n_words == len(TEXT.split())
    assert likelihood(backend, TEXT, Windows("classic")) == likelihood(
        backend, TEXT, Windows("classic", CONTEXT)
    )


@pytest.mark.parametrize(("length", "stride"), [(CONTEXT, 32), (20, 7), (16, 16)])
def test_hf_stride_agrees_with_the_page(pair: tuple[Any, Recipe], length: int, stride: int) -> None:
    backend, recipe = pair
    expected = recipe.hf_stride(recipe.ids(TEXT), length, stride)
    found = likelihood(backend, TEXT, Windows("hf-stride", length, stride))
    assert found.token_logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("length", [CONTEXT, 20])
def test_gptq_agrees_with_the_original(pair: tuple[Any, Recipe], length: int) -> None:
    backend, recipe = pair
    found = likelihood(backend, TEXT, Windows("gptq", length))
    ids = recipe.ids(TEXT)
    assert found.n_tokens == len(ids) // length * (length - 1)
    assert math.exp(-found.sum_logprob / found.n_tokens) == pytest.approx(recipe.gptq(ids, length), rel=1e-5)


def test_a_text_that_fits_is_scored_as_without_windows(pair: tuple[Any, Recipe]) -> None:
    backend, _ = pair
    for text in ("a", "hello world", "The capital of France is Paris."):
        one = likelihood(backend, text, Windows("classic"))
        other = likelihood(backend, text, None)
        assert one.token_ids == other.token_ids
        assert one.sum_logprob == pytest.approx(other.sum_logprob, abs=1e-4)
        assert one.n_prompt_tokens == other.n_prompt_tokens == 1


@pytest.mark.parametrize(("n", "n_prompt_tokens"), [(CONTEXT, 1), (CONTEXT + 1, 1 + CONTEXT)])
def test_windows_at_the_edge_of_the_context(pair: tuple[Any, Recipe], n: int, n_prompt_tokens: int) -> None:
    """As many tokens as the model reads are one window; one more makes a second full one."""
    text = "~" * n  # No text taught the tokenizer this character, so each is a token.
    found = likelihood(pair[0], text, Windows("classic"))
    assert (found.n_tokens, found.n_prompt_tokens) == (n, n_prompt_tokens)


def test_company_and_batches_do_not_change_windows(pair: tuple[Any, Recipe]) -> None:
    backend, _ = pair
    asks = [
        Span(TEXT, 0, windows=windows) for windows in (Windows("classic", 20), Windows("hf-stride", 20, 7))
    ]
    asks += [Span(TEXT[:200], 0, windows=Windows("classic")), Span("hello", 0)]
    together = {r.request_id: r.outcome for r in backend.run(_numbered(asks))}
    for one in _numbered(asks):
        (alone,) = backend.run([one])
        both = alone.outcome, together[one.id]
        first, second = (each for each in both if isinstance(each, Likelihood))
        assert first.token_logprobs == pytest.approx(second.token_logprobs, abs=1e-4)


def _numbered(asks: Sequence[Span]) -> list[Any]:
    return [make_request("t", str(n), "ppl", "text", 0, ask) for n, ask in enumerate(asks)]


@pytest.mark.parametrize(
    ("text", "windows", "says"),
    [
        (
            TEXT,
            Windows("classic", CONTEXT + 1),
            "windows of 65 tokens exceed the model's context length of 64 tokens",
        ),
        ("short", Windows("gptq"), "fewer than one block of 64; set a smaller block with --window-tokens"),
        ("", Windows("classic"), "nothing to score"),
        ("a", Windows("hf-stride"), "nothing to score"),
    ],
)
def test_what_cannot_be_scored_is_a_failure(
    make_model: MakeModel, text: str, windows: Windows, says: str
) -> None:
    backend = open_backend(f"hf:{make_model('llama', context=CONTEXT)}", {})
    found = outcome(backend, text, windows)
    assert isinstance(found, Failure)
    assert says in found.message


def test_the_tokens_of_a_windowed_text_say_what_is_scored(pair: tuple[Any, Recipe]) -> None:
    backend, recipe = pair
    ask = Span(TEXT, 0, windows=Windows("gptq", 20))
    tokens = backend.tokens(ask)
    assert [token.id for token in tokens] == recipe.ids(TEXT)
    n = len(tokens)
    assert [at for at, token in enumerate(tokens) if token.is_scored] == [
        at for at in range(n // 20 * 20) if at % 20
    ]
