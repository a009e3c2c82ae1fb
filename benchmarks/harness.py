"""The lm-evaluation-harness side of parity.py; it runs in its own environment, never imported by Assay.

    python harness.py asked.json answered.json

`asked.json` holds a weights folder, groups of (context, continuation) pairs, and tasks: one of the harness's
own task files each, pointed at local rows. The pairs go through `HFLM.loglikelihood`, the tasks through
`simple_evaluate`, the harness's whole pipeline. A pair is computed once: a task that asks what was already
asked is given the same answer, and the number of such requests says how many prompts are equal.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main(asked_path: Path, answered_path: Path) -> None:
    """Answer what was asked."""
    import lm_eval
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    asked = json.loads(asked_path.read_text(encoding="utf-8"))
    lm = HFLM(pretrained=asked["weights"], dtype="float32", device="cpu", batch_size=asked["batch_size"])
    known: dict[tuple[str, str], tuple[float, bool]] = {}
    compute = lm.loglikelihood

    def loglikelihood(requests: Sequence[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        new = list(dict.fromkeys(request.args for request in requests if request.args not in known))
        instances = [Instance("loglikelihood", {}, pair, index) for index, pair in enumerate(new)]
        if instances:
            known.update(zip(new, compute(instances, disable_tqdm=disable_tqdm), strict=True))
        return [known[request.args] for request in requests]

    lm.loglikelihood = loglikelihood
    pairs: list[tuple[str, str]] = []
    answers: list[tuple[float, bool]] = []
    for group in asked["groups"]:
        # One call for each dataset. The harness computes requests for one and the same text once, wherever
        # they divide it, and then gathers from the longest continuation's logits: the sums of the others are
        # taken at positions too early. winogrande_options and winogrande_contexts are such requests.
        pairs += (asked_here := [(context, continuation) for context, continuation in group])
        answers += loglikelihood([Instance("loglikelihood", {}, p, i) for i, p in enumerate(asked_here)])
    shared = set(known)
    folder = answered_path.parent / "harness-tasks"
    folder.mkdir()
    for name, task in asked["tasks"].items():
        own = Path(lm_eval.__file__).parent / "tasks" / task["file"]
        (folder / f"{name}.yaml").write_text(json.dumps(_over(own, name, task)), encoding="utf-8")
    names = [f"parity_{name}" for name in asked["tasks"]]
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    found = lm_eval.simple_evaluate(
        model=lm, tasks=names, task_manager=manager, num_fewshot=0, bootstrap_iters=0, log_samples=True
    )
    answered_path.write_text(
        json.dumps(
            {
                "versions": {
                    name: importlib.metadata.version(name) for name in ("lm-eval", "torch", "transformers")
                },
                "prefix_token": lm.prefix_token_id,
                "pairs": [
                    {"sum": total, "is_greedy": bool(greedy), "ids": _continuation(lm, *pair)}
                    for pair, (total, greedy) in zip(pairs, answers, strict=True)
                ],
                "tasks": {
                    name: _task_results(found, f"parity_{name}", task["metrics"], shared)
                    for name, task in asked["tasks"].items()
                },
            }
        ),
        encoding="utf-8",
    )


def _over(own: Path, name: str, task: dict[str, Any]) -> dict[str, Any]:
    """Return the harness's task with nothing changed but where its rows lie and which metrics it shows."""
    return {
        "include": str(own),
        "task": f"parity_{name}",
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {"data_files": {"validation": task["rows"]}},
        "training_split": None,
        "validation_split": "validation",
        "test_split": None,
        "metric_list": [
            {"metric": metric, "aggregation": "mean", "higher_is_better": True} for metric in task["metrics"]
        ],
    }


def _continuation(lm: Any, context: str, continuation: str) -> list[int]:
    """Return the tokens that the harness scores."""
    if context == "":
        ids: list[int] = lm.tok_encode(continuation, add_special_tokens=False)
        return ids if ids[0] != lm.prefix_token_id else ids[1:]
    return list(lm._encode_pair(context, continuation)[1])


def _task_results(
    found: dict[str, Any], name: str, metrics: Sequence[str], shared: set[tuple[str, str]]
) -> dict[str, Any]:
    samples = sorted(found["samples"][name], key=lambda sample: int(sample["doc_id"]))
    asked = [
        (str(arguments["arg_0"]), str(arguments["arg_1"]))
        if isinstance(arguments, dict)
        else (str(arguments[0]), str(arguments[1]))
        for sample in samples
        for arguments in _listed(sample["arguments"])
    ]
    return {
        "n_requests": len(asked),
        "n_shared": sum(pair in shared for pair in asked),
        "unshared": [pair for pair in asked if pair not in shared][:5],
        "metrics": {metric: found["results"][name][f"{metric},none"] for metric in metrics},
        "verdicts": {metric: [sample[metric] for sample in samples] for metric in metrics},
    }


def _listed(arguments: Any) -> list[Any]:
    return list(arguments.values()) if isinstance(arguments, dict) else list(arguments)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
