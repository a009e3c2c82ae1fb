"""Faster forms of a model's parts on a GPU.

Projections of the same input become one product, and norms, rotations and gated activations one kernel each.
A generation step computes one token of each row, so the number of its kernels decides how long it takes; in
batches of many tokens, what counts is how often they are read. A faster form replaces a model's own only if
both give the same on random numbers, within rounding; the trials then compare whole rows.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from assay.backends.hf.fused_kernels import gate, normalize, rotate
from assay.backends.hf.fused_rotations import ROTATION, using_rotations

_SIBLINGS = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))
"""Names of projections that read the same input."""
_FP32_TOLERANCE = 1e-5
_HALF_TOLERANCE = 2**-6
"""Relative to the largest number: some families round elsewhere."""


class NormForm(NamedTuple):
    """How a norm multiplies by its weights."""

    rounds_first: bool
    offset: float


_NORM_FORMS = (NormForm(True, 0.0), NormForm(False, 0.0), NormForm(False, 1.0))
"""Of Llama and most others; of OLMo; of Gemma."""


class Replacement(NamedTuple):
    """A module of a model, and what its forward becomes."""

    owner: Any
    function: Callable[..., Any]


class FusedPieces:
    """The parts of a model that have a faster form."""

    def __init__(self, model: Any, *, merges: bool) -> None:
        """Find them. With `merges`, weights of projections of the same input move together in memory."""
        projections = list(_merge_projections(model)) if merges else []
        self._rotations = frozenset(_find_rotations(model))
        self._replacements = [
            *_find_norms(model),
            *(one for merged in projections for one in merged.replacements()),
            *_find_gates(projections),
        ]

    @contextmanager
    def using(self) -> Iterator[None]:
        """Let the model use the faster forms inside the block."""
        try:
            for module, forward in self._replacements:
                module.forward = forward
            with using_rotations(self._rotations):
                yield
        finally:
            # Only modules without a forward of their own are replaced.
            for module, _ in self._replacements:
                vars(module).pop("forward", None)


class MergedProjections:
    """Projections of the same input, computed as one product."""

    def __init__(self, parent: Any, linears: Sequence[Any]) -> None:
        """Move the weights together, one after the other; each linear layer keeps a view of its own."""
        self.parent = parent
        self._linears = linears
        self._sizes = [linear.weight.shape[0] for linear in linears]
        self._weight = _move_together([linear.weight for linear in linears])
        biases = [linear.bias for linear in linears]
        self._bias = None if biases[0] is None else _move_together(biases)
        self._latest: tuple[Any, dict[int, Any]] | None = None
        """The latest input, and the results of the projections that have not read theirs yet."""

    def compute(self, states: Any) -> Any:
        """Return the results, one after the other."""
        import torch

        return torch.nn.functional.linear(states, self._weight, self._bias)

    def replacements(self) -> Iterator[Replacement]:
        """Yield what replaces each linear layer."""
        for number, linear in enumerate(self._linears):
            yield Replacement(linear, self._replace(number))

    def _replace(self, number: int) -> Callable[[Any], Any]:
        def forward(states: Any) -> Any:
            latest, results = self._latest or (None, {})
            if latest is not states or number not in results:
                results = dict(enumerate(self.compute(states).split(self._sizes, dim=-1)))
            result = results.pop(number)
            # Released with the last result: activations of all layers together do not fit into memory.
            self._latest = (states, results) if results else None
            return result

        return forward


def _move_together(parameters: Sequence[Any]) -> Any:
    """Return one tensor of all parameters, which become views of it."""
    import torch

    with torch.no_grad():
        whole = torch.cat([parameter.data for parameter in parameters])
    for parameter, part in zip(parameters, whole.split([len(one) for one in parameters]), strict=True):
        parameter.data = part
    return whole


def _merge_projections(model: Any) -> Iterator[MergedProjections]:
    """Merge the projections that read the same input, where they are plain linear layers."""
    merged: set[Any] = set()
    for parent in model.modules():
        for names in _SIBLINGS:
            linears: list[Any] = [getattr(parent, name, None) for name in names]
            if not all(map(_is_plain_linear, linears)) or len({_kind(linear) for linear in linears}) > 1:
                continue
            weights = {linear.weight for linear in linears}
            # Some models share weights between layers.
            if len(weights) == len(linears) and merged.isdisjoint(weights):
                merged |= weights
                yield MergedProjections(parent, linears)


def _is_plain_linear(module: Any) -> bool:
    """Return whether a module is torch's own linear layer, without quantization, adapter or hook."""
    import torch

    return type(module) is torch.nn.Linear and type(module.weight.data) is torch.Tensor and _is_own(module)


def _is_own(module: Any) -> bool:
    """Return whether only a module's own code decides what it computes."""
    return not ("forward" in vars(module) or module._forward_hooks or module._forward_pre_hooks)


def _kind(linear: Any) -> tuple[Any, ...]:
    weight = linear.weight
    return weight.dtype, weight.device, weight.shape[1], linear.bias is None


def _find_norms(model: Any) -> Iterator[Replacement]:
    """Yield the root-mean-square norms of a form that the kernel computes."""
    forms: dict[tuple[type, float, int], NormForm | None] = {}
    for module in model.modules():
        eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
        parameters = dict(module.named_parameters())
        if (
            "RMSNorm" not in type(module).__name__
            or not isinstance(eps, float)
            or [*parameters] != ["weight"]
            or not _is_own(module)
        ):
            continue
        kind = type(module), eps, len(module.weight)
        if kind not in forms:
            forms[kind] = _find_norm_form(module, eps)
        if (form := forms[kind]) is not None:
            yield Replacement(module, _fuse_norm(module.weight, eps, form))


def _fuse_norm(weight: Any, eps: float, form: NormForm) -> Callable[[Any], Any]:
    def norm(states: Any) -> Any:
        return normalize(states, weight, eps, **form._asdict())

    return norm


def _find_norm_form(module: Any, eps: float) -> NormForm | None:
    """Return the form of a norm; tried with random weights, since many models have only ones."""
    import torch

    weight, states = _draw(module.weight, module.weight.shape, (4, *module.weight.shape))
    # Small numbers show where eps is added.
    states[0] *= 1e-3
    states[1] *= 30

    def own(states: Any) -> Any:
        return torch.func.functional_call(module, {"weight": weight}, (states,))

    distances = {form: _measure(own, _fuse_norm(weight, eps, form), states) for form in _NORM_FORMS}
    best = min(distances, key=lambda form: distances[form])
    return best if distances[best] <= _tolerance(states) else None


def _find_rotations(model: Any) -> Iterator[Any]:
    """Yield the modules of Python whose function rotates queries and keys as Llama's does."""
    sizes: dict[Any, int] = {}
    for module in model.modules():
        owner, size = sys.modules[type(module).__module__], getattr(module, "head_dim", None)
        if hasattr(owner, ROTATION) and isinstance(size, int) and size % 2 == 0:
            sizes[owner] = size
    for owner, size in sizes.items():
        given = _draw(model, (2, 4, 3, size), (2, 2, 3, size), (2, 3, size), (2, 3, size))
        if _is_close(getattr(owner, ROTATION), rotate, *given):
            yield owner


def _find_gates(projections: Sequence[MergedProjections]) -> Iterator[Replacement]:
    """Yield the feed-forward parts whose output is down(silu(gate) * up)."""
    for merged in projections:
        parent = merged.parent
        if not hasattr(parent, "gate_proj") or not hasattr(parent, "down_proj"):
            continue
        weight, fused = parent.gate_proj.weight, _fuse_gate(merged, parent.down_proj)
        states = _draw(weight, (3, 1, weight.shape[1]))
        if all(map(_is_own, parent.modules())) and _is_close(parent, fused, *states):
            yield Replacement(parent, fused)


def _fuse_gate(merged: MergedProjections, down: Any) -> Callable[[Any], Any]:
    def feed_forward(states: Any) -> Any:
        return down(gate(merged.compute(states)))

    return feed_forward


def _draw(like: Any, *shapes: Sequence[int]) -> list[Any]:
    """Return random numbers of the type of a tensor or model, on its device."""
    import torch

    numbers = torch.Generator().manual_seed(0)
    return [torch.randn(*shape, generator=numbers).to(like.device, like.dtype) for shape in shapes]


def _is_close(own: Callable[..., Any], fused: Callable[..., Any], *given: Any) -> bool:
    """Return whether both functions give the same, within rounding."""
    return _measure(own, fused, *given) <= _tolerance(given[0])


def _measure(own: Callable[..., Any], fused: Callable[..., Any], *given: Any) -> float:
    """Return the largest difference of the functions' results, relative to the largest number."""
    import torch

    try:
        with torch.inference_mode():
            results = [own(*given), fused(*given)]
    except Exception:  # noqa: BLE001 (a model's own code may need other arguments, and raise anything)
        return math.inf
    parts = [result if isinstance(result, tuple) else (result,) for result in results]
    if [part.shape for part in parts[0]] != [part.shape for part in parts[1]]:
        return math.inf
    differences = [
        float((one - other).abs().max() / one.abs().max()) for one, other in zip(*parts, strict=True)
    ]
    return max(differences) if all(map(math.isfinite, differences)) else math.inf


def _tolerance(numbers: Any) -> float:
    import torch

    return _FP32_TOLERANCE if numbers.dtype == torch.float32 else _HALF_TOLERANCE
