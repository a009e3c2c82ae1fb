"""Chooses how a model generates: the fastest way whose logits equal those of the plain model.

A few rows are generated on a GPU before the first text. They differ in length, one joins later, and one
leaves; then the plain model computes the same texts, each as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from assay.backends.hf.cache_readers import DecodingWay, SharedPrefixFeeder
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.packed_forward import SharedPrefix
from assay.backends.hf.step_graphs import DirectSteps, RecordedSteps, StepRunner
from assay.backends.hf.work_counters import Counters

_N_PREFIX = 9
_OWN_LENGTHS = (2, 5, 3, 4)
"""The last row joins the others later."""
_N_STEPS = 3
"""Before the last row joins, and after it: a recorded step is replayed from its second time on."""
_FP32_TOLERANCE = 1e-3
_HALF_TOLERANCE = 0.05
"""How much logits may differ, relative to their size."""
_TIMES_SIMPLEST = 3
"""How many times the difference of the simplest way is accepted in half precision."""


class Decoding(NamedTuple):
    """How a model generates."""

    way: DecodingWay
    steps: StepRunner
    troubles: tuple[str, ...] = ()
    """Why it does not generate in a faster way, in words."""


def prepare_decoding(loaded: LoadedModel, make_recorder: Callable[[], StepRunner] | None = None) -> Decoding:
    """Prepare a model that computes packed rows for generation in the fastest way that works.

    `make_recorder` creates what records steps; by default, on a GPU, its own graphs.
    """
    if not loaded.shares:
        return Decoding(DecodingWay(), DirectSteps())
    if make_recorder is None and loaded.device.type == "cpu":
        # The trial of packed rows has shown that two-part attention works; a CPU has nothing else to try.
        return Decoding(DecodingWay(splits=True), DirectSteps())
    direct = DecodingWay(splits=True, reads_columns=loaded.has_kernels)
    troubles: list[str] = []
    for name, way in (
        ("recorded steps", direct._replace(records=True)),
        ("two-part attention", direct),
    ):
        steps = (make_recorder or RecordedSteps)() if way.records else DirectSteps()
        trouble = _find_problem(loaded, way, steps) or steps.problem
        if trouble is None:
            return Decoding(way, steps, tuple(troubles))
        troubles.append(f"{name}: {trouble}")
    return Decoding(DecodingWay(), DirectSteps(), tuple(troubles))


def _find_problem(loaded: LoadedModel, way: DecodingWay, steps: StepRunner) -> str | None:
    """Return how generated rows differ from plain ones; None if they do not."""
    import torch

    try:
        worst = _measure_distance(loaded, way, steps)
        tolerance = _FP32_TOLERANCE if loaded.model.dtype == torch.float32 else _HALF_TOLERANCE
        if worst > tolerance and loaded.model.dtype != torch.float32:
            # In half precision, no way gives exactly the plain logits: compare with the simplest way.
            tolerance = _TIMES_SIMPLEST * _measure_distance(loaded, DecodingWay(), DirectSteps())
    except Exception as trouble:  # noqa: BLE001 (kernels and a model's own code may raise anything)
        return f"{type(trouble).__name__}: {trouble}".splitlines()[0]
    if not math.isfinite(worst) or worst > tolerance:
        return f"generated rows differ from plain ones by {worst:.2g}"
    return None


def _measure_distance(loaded: LoadedModel, way: DecodingWay, steps: StepRunner) -> float:
    """Return how much the logits of generated rows differ from those of the plain model."""
    import torch

    with torch.inference_mode():
        texts, logits = _generate(loaded, way, steps)
        return _distance(_compute_plainly(loaded, texts, logits), logits)


Text = list[int]


def _generate(loaded: LoadedModel, way: DecodingWay, steps: StepRunner) -> tuple[list[Text], list[list[Any]]]:
    """Return the texts of a few rows, and the logits with which each token was chosen."""
    import torch

    def ids(seed: int, n: int) -> Text:
        return [(seed * 7919 + at * 104_729) % (loaded.vocab_size - 1) + 1 for at in range(n)]

    shared = tuple(ids(1, _N_PREFIX))
    prefix = SharedPrefix().extend_to(loaded, shared, (), ())
    feeder = SharedPrefixFeeder(loaded, prefix, Counters(), way, steps)
    texts = [[*shared, *ids(2 + row, n)] for row, n in enumerate(_OWN_LENGTHS)]
    logits: list[list[Any]] = [[] for _ in texts]

    def append(rows: Sequence[int], computed: Any) -> Any:
        """Add the first choice of each row to its text; return the choices."""
        chosen = computed.argmax(dim=-1)
        for row, token, row_logits in zip(rows, chosen.tolist(), computed.clone(), strict=True):
            texts[row].append(token)
            logits[row].append(row_logits)
        return chosen

    first, later = range(len(texts) - 1), len(texts) - 1
    chosen = append(first, feeder.join([tuple(texts[row]) for row in first]))
    for _ in range(_N_STEPS):
        chosen = append(first, feeder.step(chosen))
    joined = append([later], feeder.join([tuple(texts[later])]))
    rows, chosen = [*first, later], torch.cat([chosen, joined])
    for _ in range(_N_STEPS):
        chosen = append(rows, feeder.step(chosen))
    # The first row leaves, and the last one takes its place.
    feeder.select([later, *first[1:]])
    append([later, *first[1:]], feeder.step(chosen[[later, *first[1:]]]))
    steps.forget()
    return texts, logits


def _compute_plainly(
    loaded: LoadedModel, texts: Sequence[Text], logits: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    """Return the same logits, computed by the plain model from whole texts."""
    import torch

    longest = max(map(len, texts))
    ids, mask = torch.zeros((2, len(texts), longest), dtype=torch.long, device=loaded.device)
    for row, text in enumerate(texts):
        # Padding is on the right, where causal attention cannot see it from the tokens that count.
        ids[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = 1
    computed = loaded.model(input_ids=ids, attention_mask=mask, use_cache=False).logits.float()
    return [
        list(computed[row, len(text) - len(rows) - 1 : len(text) - 1])
        for row, (text, rows) in enumerate(zip(texts, logits, strict=True))
    ]


def _distance(some: Sequence[Sequence[Any]], others: Sequence[Sequence[Any]]) -> float:
    """Return the largest difference of logits, relative to their size; a shift of all of them is none."""
    import torch

    one, other = (torch.stack([logits for row in rows for logits in row]) for rows in (some, others))
    one, other = (logits - logits.mean(dim=-1, keepdim=True) for logits in (one, other))
    # The maximum of numbers with NaN is NaN.
    return float(((one - other).norm(dim=-1) / one.norm(dim=-1).clamp(min=1e-6)).max())
