"""Lanes on a GPU: concatenated in one row after a shared prefix, with torch's block-sparse flex attention.

The ends of subtrees determine block by block which tokens see each other, so the mask costs nothing to
create and blocks without a pair are skipped. The decoder layers are compiled one by one: they are the same
program, so it is compiled once, in seconds. The prefix's keys and values are tensors on the attention
modules, where the compiled program finds them; nothing in it depends on the layer, the prefix or the number
of tokens, and without a prefix there is an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

from assay.backends.hf import shared_attention
from assay.backends.hf.likelihood import send_to_device, sum_exponentials
from assay.backends.hf.prefix_tree import Lane

NAME = "assay_flex"
BLOCK = 128
"""Tokens in a block, the unit in which the mask is sparse."""
_LEAST_BLOCKS = 2
"""Shorter rows and prefixes are padded: a single block would be compiled as a separate case."""

_KERNEL_OPTIONS: Any = {"IS_DIVISIBLE": True}
"""What the compiler cannot know about changing sizes: they are multiples of a block."""

Layers = Sequence[tuple[Any, Any]]


class Blocks(NamedTuple):
    """Which blocks of keys the blocks of queries read: [query blocks, key blocks], prefix first."""

    some: Any
    """Where some pairs see each other, and the mask decides."""
    every: Any
    """Where all pairs do."""


class FlexLanes:
    """A model prepared to compute lanes on a GPU."""

    def __init__(self, model: Any, layers: Sequence[Any]) -> None:
        self._model = model
        self._device = model.device
        self._layers = layers
        self._attention: dict[int, list[Any]] = {}
        for module in model.modules():
            if isinstance(index := getattr(module, "layer_idx", None), int):
                self._attention.setdefault(index, []).append(module)
        self._placed: Layers | None = None
        self._prefix_width = 0

    @cached_property
    def _compiled_layers(self) -> list[Any]:
        import torch

        return [torch.compile(layer.forward, dynamic=True) for layer in self._layers]

    @cached_property
    def _empty_layers(self) -> Layers:
        """Keys and values of no tokens."""
        import torch
        from transformers import DynamicCache

        cache = DynamicCache(config=self._model.config)
        with torch.inference_mode():
            first = torch.zeros((1, 1), dtype=torch.long, device=self._device)
            self._model.base_model(input_ids=first, past_key_values=cache, use_cache=True)
        return [(layer.keys[:, :, :0], layer.values[:, :, :0]) for layer in cache.layers]

    @cached_property
    def sum_up(self) -> Any:
        """The sum over the vocabulary for reading results, in one pass."""
        import torch

        return torch.compile(sum_exponentials, dynamic=True)

    @contextmanager
    def using_prefix(self, prefix: Layers) -> Iterator[None]:
        """Let the model compute lanes after a shared prefix, with its compiled layers."""
        if prefix is not self._placed:
            self._place(prefix)
        for layer, forward in zip(self._layers, self._compiled_layers, strict=True):
            layer.forward = forward
        try:
            with _allowing_any_sizes():
                yield
        finally:
            for layer in self._layers:
                del layer.forward

    def feed(self, lanes: Sequence[Lane], n_prefix: int) -> dict[str, Any]:
        """Return the model's inputs: all lanes as one row, padded to whole blocks."""
        import torch

        n_tokens = sum(len(lane.ids) for lane in lanes)
        ids = torch.zeros((1, round_up_to_blocks(n_tokens)), dtype=torch.long)
        positions = torch.full_like(ids, n_prefix)
        # Padding sees only itself: a token that sees nothing would become NaN.
        ends = torch.arange(1, ids.shape[1] + 1)
        begin = 0
        for lane in lanes:
            mine = slice(begin, begin + len(lane.ids))
            ids[0, mine] = torch.tensor(lane.ids)
            positions[0, mine] = torch.tensor(lane.positions)
            ends[mine] = torch.tensor(lane.ends) + begin
            begin = mine.stop
        return {
            "input_ids": send_to_device(ids, self._device),
            "position_ids": send_to_device(positions, self._device),
            "attention_mask": self._mask(ends, n_prefix),
            "use_cache": False,
        }

    def _place(self, prefix: Layers) -> None:
        """Attach a prefix's keys and values to the modules that read them."""
        import torch

        self._placed = prefix
        layers = prefix or self._empty_layers
        n_prefix = layers[0][0].shape[2]
        self._prefix_width = round_up_to_blocks(n_prefix)
        pad = (0, 0, 0, self._prefix_width - n_prefix)
        for index, modules in self._attention.items():
            parts = tuple(torch.nn.functional.pad(part, pad) for part in layers[index])
            for module in modules:
                module.shared_prefix = parts

    def _mask(self, ends: Any, n_prefix: int) -> Any:
        import torch
        from torch.nn.attention.flex_attention import BlockMask

        width, blocks = self._prefix_width, find_blocks(ends, n_prefix, self._prefix_width)
        ends = send_to_device(ends.to(torch.int32), self._device)
        # Tensors, so that another prefix is another value and not another program.
        own_from = torch.full((), width, dtype=torch.int32, device=self._device)
        prefix_to = torch.full((), n_prefix, dtype=torch.int32, device=self._device)

        def sees(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
            own = key - own_from
            is_own = (own >= 0) & (own <= query) & (query < ends[torch.clamp(own, min=0)])
            return (key < prefix_to) | is_own

        return BlockMask.from_kv_blocks(
            *self._list_blocks(blocks.some),
            *self._list_blocks(blocks.every),
            BLOCK_SIZE=BLOCK,
            mask_mod=sees,
            seq_lengths=(len(ends), width + len(ends)),
            compute_q_blocks=False,  # Needed only for the backward pass.
        )

    def _list_blocks(self, blocks: Any) -> tuple[Any, Any]:
        """Return how many key blocks each query block reads, and their order, those first."""
        import torch

        counts = blocks.sum(dim=1, dtype=torch.int32)
        order = blocks.to(torch.int8).argsort(dim=1, descending=True, stable=True).to(torch.int32)
        return send_to_device(counts[None, None], self._device), send_to_device(
            order[None, None].contiguous(), self._device
        )


@contextmanager
def _allowing_any_sizes() -> Iterator[None]:
    """Compile programs that do not depend on two sizes being equal, as they may be in the first batch."""
    from torch.fx.experimental import _config

    with _config.patch(use_duck_shape=False):
        yield


def enable_flex_attention(model: Any) -> FlexLanes | None:
    """Switch a model over; None if it is not on a GPU, or not made of equal layers with torch's attention."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    layers = getattr(model.base_model, "layers", None)
    # Generation may have switched it over to attention in two parts, which is torch's own otherwise.
    is_torchs = model.config._attn_implementation in ("sdpa", shared_attention.NAME)
    if model.device.type != "cuda" or not is_torchs or not layers:
        return None
    AttentionInterface.register(NAME, _attention())
    AttentionMaskInterface.register(NAME, sdpa_mask)
    model.set_attn_implementation(NAME)
    return FlexLanes(model, layers)


def _attention() -> Any:
    """Return the attention function; imports what it needs before anything is compiled."""
    import torch
    from torch.nn.attention.flex_attention import BlockMask, flex_attention

    def attend(
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any,
        scaling: float | None = None,
        **more: Any,
    ) -> tuple[Any, None]:
        """Attend to the prefix and to the row's own tokens with a block mask; without one, by the view."""
        if not isinstance(attention_mask, BlockMask):
            return shared_attention.attend(module, query, key, value, attention_mask, scaling=scaling, **more)
        key = torch.cat([module.shared_prefix[0], key], dim=2)
        value = torch.cat([module.shared_prefix[1], value], dim=2)
        grouped = query.shape[1] != key.shape[1]
        out: Any = flex_attention(
            query,
            key,
            value,
            block_mask=attention_mask,
            scale=scaling,
            enable_gqa=grouped,
            kernel_options=_KERNEL_OPTIONS,
        )
        return out.transpose(1, 2), None

    return attend


def round_up_to_blocks(n_tokens: int) -> int:
    """Return the number of tokens rounded up to whole blocks."""
    return max(_LEAST_BLOCKS, -(-n_tokens // BLOCK)) * BLOCK


def find_blocks(ends: Any, n_prefix: int, prefix_width: int) -> Blocks:
    """Return which blocks read which, from the end of each token's subtree.

    Token i sees token j if j <= i < ends[j], and the first `n_prefix` tokens of the prefix.
    """
    import torch

    by_block = ends.view(-1, BLOCK)
    number = torch.arange(len(by_block))
    begin = number[:, None] * BLOCK
    is_before = number[None, :] < number[:, None]
    some = is_before & (by_block.amax(dim=1)[None, :] > begin)
    every = some & (by_block.amin(dim=1)[None, :] >= begin + BLOCK)
    some = (some & ~every) | torch.eye(len(by_block), dtype=torch.bool)
    prefix_blocks = torch.arange(prefix_width // BLOCK).expand(len(by_block), -1)
    prefix_every = prefix_blocks < n_prefix // BLOCK
    prefix_some = (prefix_blocks == n_prefix // BLOCK) & (n_prefix % BLOCK > 0)
    return Blocks(torch.cat([prefix_some, some], dim=1), torch.cat([prefix_every, every], dim=1))
