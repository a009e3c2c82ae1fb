"""How fast packed lanes are scored on one GPU, against padded whole sequences on the same model.

    python benchmarks/gpu.py [--json]          # needs torch and transformers, and a CUDA device

An 8B-shaped Llama in bf16 with random weights scores 256 questions of 60 to 140 tokens with four options of
15 to 35 tokens behind one beginning of 1,500 tokens. The padded way feeds every option whole, as harnesses
do. The packed way is the engine's own, from token ids to log-probabilities. Both are measured in turn,
several times, so that a card that slows down as it grows warm slows both; the ratio is that of the medians.
Reported: requests per second, the ratio, and the share of the matrix rate measured in the same run that the
needed operations come to. With --exact the sums of both ways are compared with the same weights in fp32.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from transformers import LlamaConfig, LlamaForCausalLM

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from assay.backends.hf.batching import GPU_SIZES, Budget
from assay.backends.hf.likelihood import Rows
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.packed_forward import SharedPrefixCache
from assay.backends.hf.row_scoring import PREFIX_CACHE_BYTES, PackedScoring, prepare_packing
from assay.backends.hf.work_counters import Counters

N_TRUNK, N_QUESTIONS, N_OPTIONS = 1500, 256, 4
DEVICE = "cuda"


def main() -> None:
    """Measure both ways and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print all of it as one line at the end")
    parser.add_argument(
        "--batch", type=int, nargs="+", default=[GPU_SIZES.batch_tokens], help="batch_tokens to try"
    )
    parser.add_argument("--windows", type=int, default=4, help="how often the requests follow each other")
    parser.add_argument("--rounds", type=int, default=5, help="how often both ways are measured")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--exact", action="store_true", help="compare sums with fp32")
    parser.add_argument("--profile", action="store_true", help="print where the device's time goes")
    options = parser.parse_args()
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=options.layers,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=128256,
        max_position_embeddings=8192,
        rope_theta=500000.0,
    )
    with torch.device(DEVICE):
        torch.set_default_dtype(torch.bfloat16)
        model: Any = LlamaForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}

    def note(more: dict[str, Any]) -> None:
        found.update(more)
        print(json.dumps(more), flush=True)

    peak, sustained = matmul_rate(20), matmul_rate(2000)
    requests = workload(config.vocab_size)
    note({"matmul_tflops": peak / 1e12, "sustained_matmul_tflops": sustained / 1e12})
    with torch.inference_mode():
        began = time.perf_counter()
        loaded = loaded_model(model)
        trial = prepare_packing(loaded)
        if loaded.pieces is None:
            raise SystemExit(f"the model is not computed in the fastest way: {trial.troubles}")
        note({"trial_seconds": time.perf_counter() - began})
        gc.collect()
        gc.freeze()
        for batch in options.batch:
            pairs = [
                (padded(model, requests[:128]), packed(loaded, requests, batch, options.windows))
                for _ in range(options.rounds)
            ]
            padded_rates = [rate for (rate, _), _ in pairs]
            rates = [len(requests) / way["seconds"] for _, way in pairs]
            rate, padded_rate = median(rates), median(padded_rates)
            padded_sums, sums = pairs[0][0][1], pairs[0][1]["sums"]
            flops, padded_flops = packed_flops(model, requests), whole_flops(model, requests)
            note(
                {
                    f"packed_{batch}": {k: v for k, v in pairs[0][1].items() if k not in ("sums", "seconds")}
                    | {
                        "requests_per_s": rate,
                        "all_requests_per_s": rates,
                        "padded_requests_per_s": padded_rate,
                        "all_padded_requests_per_s": padded_rates,
                        "ratio": rate / padded_rate,
                        "share": flops * rate / len(requests) / peak,
                        "share_of_sustained": flops * rate / len(requests) / sustained,
                        "padded_share": padded_flops * padded_rate / len(requests) / peak,
                        "from_padded": largest(sums, padded_sums),
                    }
                }
            )
        if options.profile:
            profile(lambda: score(loaded, requests, options.batch[0]))
        if options.exact:
            note(exact(loaded, requests[:64], padded_sums[:64], sums[:64]))
    if options.json:
        print(json.dumps(found))


def loaded_model(model: Any) -> LoadedModel:
    """Return a model as the engine holds it."""
    takes = frozenset(signature(model.forward).parameters)
    return LoadedModel(model, model.device, model.model, model.lm_head, takes, model.config.vocab_size)


def largest(some: Sequence[float], others: Sequence[float]) -> float:
    """Return the largest difference, as far as both go."""
    return max(abs(a - b) for a, b in zip(some, others, strict=False))


def matmul_rate(repeat: int) -> float:
    """Return the floating-point operations per second of a large bf16 product, over so many of them."""
    a = torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16)
    seconds = timed(lambda: a @ a, repeat=repeat)
    return 2 * 8192**3 / seconds


def timed(work: Callable[[], Any], repeat: int = 1) -> float:
    """Return the seconds of one call, after one that warms up."""
    work()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(repeat):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / repeat


Scored = tuple[tuple[int, ...], int]


def workload(vocab_size: int) -> list[Scored]:
    """Return (ids, first scored) for every option of every question."""
    draw = random.Random("assay gpu benchmark")

    def ids(n: int) -> tuple[int, ...]:
        return tuple(draw.randrange(vocab_size) for _ in range(n))

    trunk = ids(N_TRUNK)
    requests = []
    for _ in range(N_QUESTIONS):
        context = (*trunk, *ids(draw.randint(60, 140)))
        requests += [((*context, *ids(draw.randint(15, 35))), len(context)) for _ in range(N_OPTIONS)]
    return requests


def body_flops(model: Any, n_tokens: int, n_seen: float) -> float:
    """Return the operations of so many tokens that each see so many, without the head."""
    config = model.config
    weights: int = sum(p.numel() for name, p in model.named_parameters() if "layers" in name and p.ndim == 2)
    return float(n_tokens * (2 * weights + 4 * n_seen * config.hidden_size * config.num_hidden_layers))


def head_flops(model: Any, n_places: int) -> float:
    """Return the operations of the output head at so many places."""
    return float(2 * n_places * model.config.hidden_size * model.config.vocab_size)


def whole_flops(model: Any, requests: Sequence[Scored]) -> float:
    """Return what whole sequences need, padding aside."""
    return sum(
        body_flops(model, len(ids), len(ids) / 2) + head_flops(model, len(ids) - first)
        for ids, first in requests
    )


def packed_flops(model: Any, requests: Sequence[Scored]) -> float:
    """Return what is needed when every shared token is read once."""
    total = body_flops(model, N_TRUNK, N_TRUNK / 2)
    contexts = {ids[:first] for ids, first in requests}
    total += sum(body_flops(model, len(c) - N_TRUNK, (N_TRUNK + len(c)) / 2) for c in contexts)
    for ids, first in requests:
        n = len(ids) - 1 - first
        total += body_flops(model, n, first + n / 2) + head_flops(model, len(ids) - first)
    return total


def log_probs(model: Any, hidden: Any, tokens: Any) -> Any:
    """Return the log-probability of each token after each hidden state, in fp32."""
    parts = []
    for begin in range(0, len(tokens), 2048):
        logits = model.lm_head(hidden[begin : begin + 2048])
        parts.append(_lse_and_pick(logits, tokens[begin : begin + 2048]))
    return torch.cat(parts)


def _pick(logits: Any, tokens: Any) -> Any:
    logits = logits.float()
    return logits.gather(1, tokens[:, None])[:, 0] - torch.logsumexp(logits, dim=-1)


_lse_and_pick = torch.compile(_pick, dynamic=True)


def padded(model: Any, requests: Sequence[Scored], batch: int = 16) -> tuple[float, list[float]]:
    """Score whole sequences in padded batches; return requests per second and the sums."""
    sums: list[float] = []
    attention = model.config._attn_implementation
    model.set_attn_implementation("sdpa")

    def run() -> None:
        sums.clear()
        for begin in range(0, len(requests), batch):
            part = requests[begin : begin + batch]
            width = max(len(ids) for ids, _ in part) - 1
            fed = torch.zeros((len(part), width), dtype=torch.long)
            for index, (ids, _) in enumerate(part):
                fed[index, : len(ids) - 1] = torch.tensor(ids[:-1])
            hidden = model.model(input_ids=fed.to(DEVICE), use_cache=False).last_hidden_state
            at = [(i, t - 1) for i, (ids, first) in enumerate(part) for t in range(first, len(ids))]
            picked = hidden[[i for i, _ in at], [t for _, t in at]]
            tokens = torch.tensor([part[i][0][t + 1] for i, t in at], device=DEVICE)
            found = log_probs(model, picked, tokens).tolist()
            for ids, first in part:
                sums.append(sum(found[: len(ids) - first]))
                found = found[len(ids) - first :]

    rate = len(requests) / timed(run)
    model.set_attn_implementation(attention)
    return rate, sums


def score(loaded: LoadedModel, requests: Sequence[Scored], batch_tokens: int, n_windows: int = 1) -> Measured:
    """Score everything by the engine, so many times in a row, each time from token ids and the trunk anew."""
    counters, trunks = Counters(), SharedPrefixCache(PREFIX_CACHE_BYTES)
    scoring = PackedScoring(loaded, Budget(batch_tokens), counters, trunks, GPU_SIZES.lane_tokens)
    for _ in range(n_windows):
        rows = Rows()
        readings = [rows.continuation(ids, first) for ids, first in requests]
        trunks.clear()
        for _ in scoring.run(list(rows)):
            pass
    scoring.drain()
    return Measured([sum(reading.logprobs) for reading in readings], counters)


class Measured(NamedTuple):
    """The sums of the last window, and what was counted."""

    sums: list[float]
    counters: Counters


def packed(
    loaded: LoadedModel, requests: Sequence[Scored], batch_tokens: int, n_windows: int
) -> dict[str, Any]:
    """Score packed lanes, in windows as in a long run; return the seconds of one window, and the sums."""
    began = time.perf_counter()
    once = score(loaded, requests, batch_tokens)
    first = time.perf_counter() - began
    alone = min(timed(lambda: score(loaded, requests, batch_tokens)) for _ in range(2))
    seconds = timed(lambda: score(loaded, requests, batch_tokens, n_windows)) / n_windows
    return {
        "seconds": seconds,
        "seconds_alone": alone,
        "first_seconds": first,
        "batches": once.counters.batches,
        "tokens_computed": once.counters.forward_tokens,
        "padding": once.counters.padding_tokens / once.counters.forward_tokens,
        "sums": once.sums,
    }


def exact(
    loaded: LoadedModel,
    requests: Sequence[Scored],
    padded_sums: Sequence[float],
    packed_sums: Sequence[float],
) -> dict[str, Any]:
    """Return how far both ways in bf16, and the packed way in fp32, are from the padded way in fp32."""
    model = loaded.model.float()
    model.set_attn_implementation("sdpa")
    _, truth = padded(model, requests, batch=8)
    whole = loaded_model(model)
    prepare_packing(whole)
    sums = score(whole, requests, 8192).sums

    def apart(some: Sequence[float]) -> dict[str, float]:
        differences = sorted(abs(a - b) for a, b in zip(some, truth, strict=True))
        return {"median": differences[len(differences) // 2], "largest": differences[-1]}

    return {
        "fp32": {
            "typical_sum": truth[0],
            "padded_bf16": apart(padded_sums),
            "packed_bf16": apart(packed_sums),
            "packed_fp32": apart(sums),
            "packed_fp32_by": "kernels" if whole.pieces is not None else "mask",
        }
    }


def profile(work: Callable[[], Any]) -> None:
    """Print the kernels that take the most time."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as watching

    with watching(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as watched:
        work()
        torch.cuda.synchronize()
    print(
        watched.key_averages().table(sort_by="self_cuda_time_total", row_limit=22, max_name_column_width=70)
    )


if __name__ == "__main__":
    main()
