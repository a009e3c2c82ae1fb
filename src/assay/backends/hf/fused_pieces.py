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

_ROTATION = "apply_rotary_pos_emb"
"""The name of the function that rotates queries and keys, in the files of nearly all families."""
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
    """A function of a model's code, and what replaces it."""

    owner: Any
    """A module of the model, or a module of Python."""
    name: str
    function: Callable[..., Any]


class FusedPieces:
    """The parts of a model that have a faster form."""

    def __init__(self, model: Any, *, merges: bool) -> None:
        """Find them. With `merges`, weights of projections of the same input move together in memory."""
        self._projections = list(_merge_projections(model)) if merges else []
        self._replacements = [
            *_find_norms(model),
            *_find_rotations(model),
            *(one for merged in self._projections for one in merged.replacements()),
            *_find_gates(self._projections),
        ]

    @contextmanager
    def using(self) -> Iterator[None]:
        """Let the model use the faster forms inside the block."""
        before = [(one, vars(one.owner).get(one.name)) for one in self._replacements]
        for one in self._replacements:
            setattr(one.owner, one.name, one.function)
        try:
            yield
        finally:
            for one, own in before:
                if own is None:
                    delattr(one.owner, one.name)
                else:
                    setattr(one.owner, one.name, own)
            for merged in self._projections:
                merged.forget()


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
        self._latest: tuple[Any, Sequence[Any]] | None = None
        """The latest input, and the results of all projections of it."""

    def compute(self, states: Any) -> Any:
        """Return the results, one after the other."""
        import torch

        return torch.nn.functional.linear(states, self._weight, self._bias)

    def replacements(self) -> Iterator[Replacement]:
        """Yield what replaces each linear layer."""
        for number, linear in enumerate(self._linears):
            yield Replacement(linear, "forward", self._replace(number))

    def forget(self) -> None:
        """Release the latest input and its results."""
        self._latest = None

    def _replace(self, number: int) -> Callable[[Any], Any]:
        def forward(states: Any) -> Any:
            if self._latest is None or self._latest[0] is not states:
                self._latest = states, self.compute(states).split(self._sizes, dim=-1)
            return self._latest[1][number]

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
    for parent in model.modules():
        for names in _SIBLINGS:
            linears = [getattr(parent, name, None) for name in names]
            if all(map(_is_plain_linear, linears)) and len({_kind(linear) for linear in linears}) == 1:
                yield MergedProjections(parent, linears)


def _is_plain_linear(module: Any) -> bool:
    """Return whether a module is torch's own linear layer, without quantization, adapter or hook."""
    import torch

    return type(module) is torch.nn.Linear and "forward" not in vars(module) and not module._forward_hooks


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
        ):
            continue
        kind = type(module), eps, len(module.weight)
        if kind not in forms:
            forms[kind] = _find_norm_form(module, eps)
        if (form := forms[kind]) is not None:
            yield Replacement(module, "forward", _fuse_norm(module.weight, eps, form))


def _fuse_norm(weight: Any, eps: float, form: NormForm) -> Callable[[Any], Any]:
    def norm(states: Any) -> Any:
        return normalize(states, weight, eps, **form._asdict())

    return norm


def _find_norm_form(module: Any, eps: float) -> NormForm | None:
    """Return the form of a norm; tried with random weights, since many models have only ones."""
    import torch

    weight, states = _draw(module.weight, module.weight.shape, (3, *module.weight.shape))

    def own(states: Any) -> Any:
        return torch.func.functional_call(module, {"weight": weight}, (states,))

    distances = {form: _measure(own, _fuse_norm(weight, eps, form), states) for form in _NORM_FORMS}
    best = min(distances, key=lambda form: distances[form])
    return best if distances[best] <= _tolerance(states) else None


def _find_rotations(model: Any) -> Iterator[Replacement]:
    """Yield the functions that rotate queries and keys as Llama's does."""
    sizes: dict[Any, int] = {}
    for module in model.modules():
        owner, size = sys.modules[type(module).__module__], getattr(module, "head_dim", None)
        if hasattr(owner, _ROTATION) and isinstance(size, int) and size % 2 == 0:
            sizes[owner] = size
    for owner, size in sizes.items():
        own = getattr(owner, _ROTATION)
        given = _draw(model, (2, 4, 3, size), (2, 2, 3, size), (2, 3, size), (2, 3, size))
        if _is_close(own, rotate, *given):
            yield Replacement(owner, _ROTATION, _fuse_rotation(own))


def _fuse_rotation(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rotation that uses the kernel where it fits, and otherwise the family's own function."""

    def rotate_fast(query: Any, key: Any, cos: Any, sin: Any, *more: Any, **options: Any) -> Any:
        fits = not more and not options and query.dim() == 4 and cos.shape[1:] == query.shape[2:]
        if not fits or len(cos) not in (1, len(query)) or cos.stride() != sin.stride():
            return own(query, key, cos, sin, *more, **options)
        return rotate(query, key, cos, sin)

    return rotate_fast


def _find_gates(projections: Sequence[MergedProjections]) -> Iterator[Replacement]:
    """Yield the feed-forward parts whose output is down(silu(gate) * up)."""
    is_same: dict[type, bool] = {}
    for merged in projections:
        parent = merged.parent
        if not hasattr(parent, "gate_proj") or not hasattr(parent, "down_proj"):
            continue
        weight, kind = parent.gate_proj.weight, type(parent)
        fused = _fuse_gate(merged, parent.down_proj)
        if kind not in is_same:
            is_same[kind] = _is_close(parent, fused, *_draw(weight, (3, 1, weight.shape[1])))
        if is_same[kind]:
            yield Replacement(parent, "forward", fused)


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
    return max(float((one - other).abs().max() / one.abs().max()) for one, other in zip(*parts, strict=True))


def _tolerance(numbers: Any) -> float:
    import torch

    return _FP32_TOLERANCE if numbers.dtype == torch.float32 else _HALF_TOLERANCE
