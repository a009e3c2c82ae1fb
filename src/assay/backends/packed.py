"""Computing packed lanes on a transformers model: trunks kept as keys and values, lanes behind them.

A lane's tokens carry their own positions, and a mask lets each see the trunk and its own ancestors alone,
so an option costs its own tokens and nothing is read twice. What comes out equals computing every sequence
by itself, to the last digits of fp32.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from assay.backends.flex_lanes import in_blocks
from assay.backends.likelihood import Answers, Row, Wanted, answer, sent
from assay.backends.loaded import Loaded
from assay.backends.prefix_tree import Lane, Read, n_shared, within
from assay.backends.shared_attention import Block, View, looking

TRUNK_CHUNK = 1024
"""A trunk is read in pieces of this many tokens, so that its mask stays small."""


class Trunk:
    """The keys and values of a beginning, for every layer: a pair of [1, heads, tokens, size]."""

    def __init__(self, ids: tuple[int, ...] = (), layers: Sequence[tuple[Any, Any]] = ()) -> None:
        self.ids = ids
        self.layers = tuple(layers)

    def cut(self, length: int) -> Trunk:
        """Return the trunk's own beginning; shares memory with it."""
        layers = [(keys[:, :, :length], values[:, :, :length]) for keys, values in self.layers]
        return Trunk(self.ids[:length], layers)

    def grown(
        self, loaded: Loaded, ids: tuple[int, ...], reads: Sequence[Read], rows: Sequence[Row]
    ) -> Trunk:
        """Return a longer trunk, after reading the tokens that are new and what was wanted inside them."""
        import torch

        trunk = self
        while len(trunk.ids) < len(ids):
            start = len(trunk.ids)
            part = ids[start : start + TRUNK_CHUNK]
            end = start + len(part)
            chain = Lane(list(part), list(range(start, end)), [len(part)] * len(part))
            chain.reads = [(b - start, e - start, row, n) for b, e, row, n in within(reads, start, end)]
            cache = RowCache(trunk, keeps=True, joins=not loaded.shares)
            _compute(loaded, cache, [chain], rows).settle()
            layers = cache.own
            if loaded.shares and trunk.layers:
                layers = [
                    (torch.cat([k, own_k], dim=-2), torch.cat([v, own_v], dim=-2))
                    for (k, v), (own_k, own_v) in zip(trunk.layers, cache.own, strict=True)
                ]
            trunk = Trunk(ids[:end], layers)
        return trunk

    @property
    def n_bytes(self) -> int:
        """Return the memory it holds."""
        return sum(part.numel() * part.element_size() for layer in self.layers for part in layer)


class RowCache:
    """What a model is handed as its cache: rows of their own behind one trunk.

    With `joins`, a layer is given the trunk's keys and values together with its own, as any attention
    expects; without, only its own, and the attention itself looks at the trunk (see shared_attention).
    """

    is_compileable = False

    def __init__(self, trunk: Trunk, *, keeps: bool, joins: bool) -> None:
        self.trunk = trunk
        self.own: list[tuple[Any, Any]] = []
        """Keys and values of the rows so far (with the trunk's, where it joins), when they are kept."""
        self._keeps = keeps
        self._joins = joins

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Take a layer's new keys and values; return all that its attention looks at."""
        import torch

        before: tuple[Any, Any] | None = None
        if layer_idx < len(self.own):
            before = self.own[layer_idx]
        elif self._joins and self.trunk.layers:
            trunk_keys, trunk_values = self.trunk.layers[layer_idx]
            n = keys.shape[0]
            before = trunk_keys.expand(n, -1, -1, -1), trunk_values.expand(n, -1, -1, -1)
        if before is not None:
            keys = torch.cat([before[0], keys], dim=-2)
            values = torch.cat([before[1], values], dim=-2)
        if self._keeps:
            self.own[layer_idx : layer_idx + 1] = [(keys, values)]
        return keys, values

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        """Return how many tokens stand before the ones that come next."""
        width = self.own[0][0].shape[-2] if self.own else 0
        return width if self._joins and self.own else len(self.trunk.ids) + width

    def select(self, rows: Any) -> None:
        """Go on with some of the rows."""
        self.own = [(keys[rows], values[rows]) for keys, values in self.own]


class Trunks:
    """Trunks read lately, so that a beginning is read once in a run and not once in a window."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: list[Trunk] = []
        self.n_read = 0
        """Tokens read into trunks so far."""

    def get(self, loaded: Loaded, ids: tuple[int, ...], reads: Sequence[Read], rows: Sequence[Row]) -> Trunk:
        """Return the trunk of these tokens, read as far as it is not known yet."""
        # What is wanted inside the trunk needs hidden states, which are not kept.
        known = min((begin for begin, _, _, _ in reads), default=len(ids))
        best, length = Trunk(), 0
        for trunk in self._kept:
            shared = n_shared(trunk.ids, ids)
            if min(shared, known) > length:
                best, length = trunk, min(shared, known)
        trunk = best if length == len(best.ids) else best.cut(length)
        if length < len(ids):
            trunk = trunk.grown(loaded, ids, reads, rows)
            self.n_read += len(ids) - length
        self._keep(trunk)
        return trunk

    def clear(self) -> None:
        """Let go of all trunks."""
        self._kept.clear()

    def _keep(self, trunk: Trunk) -> None:
        # A kept trunk that is a beginning of this one says nothing that this one does not.
        self._kept = [
            other for other in self._kept if other is not trunk and other.ids != trunk.ids[: len(other.ids)]
        ]
        self._kept.append(trunk)
        while len(self._kept) > 1 and sum(one.n_bytes for one in self._kept) > self._max_bytes:
            self._kept.pop(0)


def compute_lanes(loaded: Loaded, trunk: Trunk, lanes: Sequence[Lane], rows: Sequence[Row]) -> Answers:
    """Compute a batch of lanes behind a trunk; return what was read for the rows."""
    if loaded.flex is None:
        return _compute(loaded, RowCache(trunk, keeps=False, joins=not loaded.shares), lanes, rows)
    with loaded.flex.behind(trunk.layers):
        return answer(loaded, loaded.flex.feed(lanes, len(trunk.ids)), _wanted(lanes, rows, _starts(lanes)))


def n_computed(loaded: Loaded, lanes: Sequence[Lane]) -> int:
    """Return how many tokens a batch of lanes takes, filling included."""
    n_tokens = sum(len(lane.ids) for lane in lanes)
    if loaded.flex is not None:
        return in_blocks(n_tokens)
    return n_tokens if loaded.shares else len(lanes) * max(len(lane.ids) for lane in lanes)


def _compute(loaded: Loaded, cache: RowCache, lanes: Sequence[Lane], rows: Sequence[Row]) -> Answers:
    import torch

    if loaded.shares:
        feed, starts = _end_to_end(lanes), _starts(lanes)
        view = View(cache.trunk.layers, _blocks(lanes, loaded))
    else:
        feed = _side_by_side(lanes, len(cache.trunk.ids), loaded)
        starts, view = [n * feed["input_ids"].shape[1] for n in range(len(lanes))], View()
    wanted = _wanted(lanes, rows, starts)
    feed = {name: sent(part, loaded.device) for name, part in feed.items()}
    feed |= {"past_key_values": cache, "use_cache": False}
    with looking(view), torch.inference_mode():
        if wanted:
            return answer(loaded, feed, wanted)
        (loaded.body or loaded.model)(**feed)
        return Answers()


def _wanted(lanes: Sequence[Lane], rows: Sequence[Row], starts: Sequence[int]) -> list[Wanted]:
    """Return every read of the lanes, given at which place of the batch each lane begins."""
    return [
        Wanted(rows[row], number, end - begin, start + begin)
        for start, lane in zip(starts, lanes, strict=True)
        for begin, end, row, number in lane.reads
    ]


def _starts(lanes: Sequence[Lane]) -> list[int]:
    return list(accumulate((len(lane.ids) for lane in lanes[:-1]), initial=0))


def _end_to_end(lanes: Sequence[Lane]) -> dict[str, Any]:
    """Feed all lanes as one row, without padding; the attention keeps them apart."""
    import torch

    return {
        "input_ids": torch.tensor([[id_ for lane in lanes for id_ in lane.ids]]),
        "position_ids": torch.tensor([[at for lane in lanes for at in lane.positions]]),
        # Models take a mask of four dimensions as it is; the attention has its own.
        "attention_mask": torch.zeros((1, 1, 1, 1)),
    }


def _blocks(lanes: Sequence[Lane], loaded: Loaded) -> list[Block]:
    """Return for each lane where it lies in the row and who sees whom in it."""
    import torch

    blocks = []
    for start, lane in zip(_starts(lanes), lanes, strict=True):
        ends = torch.tensor([lane.ends], device=loaded.device)
        blocks.append(Block(start, start + len(lane.ids), _mask(ends, 0, loaded.model.dtype)))
    return blocks


def _side_by_side(lanes: Sequence[Lane], n_trunk: int, loaded: Loaded) -> dict[str, Any]:
    """Feed lanes as a padded batch with a mask that any attention understands."""
    import torch

    width = max(len(lane.ids) for lane in lanes)
    ids = torch.zeros((len(lanes), width), dtype=torch.long)
    positions = torch.zeros_like(ids)
    # Padding sees itself alone: a token that sees nothing would turn into no number at all.
    ends = torch.arange(1, width + 1).repeat(len(lanes), 1)
    for index, lane in enumerate(lanes):
        n = len(lane.ids)
        ids[index, :n] = torch.tensor(lane.ids)
        positions[index, :n] = torch.tensor(lane.positions)
        ends[index, :n] = torch.tensor(lane.ends)
    mask = _mask(ends.to(loaded.device), n_trunk, loaded.model.dtype)
    return {"input_ids": ids, "position_ids": positions, "attention_mask": mask}


def _mask(ends: Any, n_trunk: int, dtype: Any) -> Any:
    """Return [batch, 1, lane, trunk + lane]: 0 where a token may look, the lowest number where not."""
    import torch

    width = ends.shape[1]
    at = torch.arange(width, device=ends.device)
    seen = (at[None, :] <= at[:, None]) & (at[None, :, None] < ends[:, None, :])
    mask = torch.zeros((len(ends), 1, width, n_trunk + width), dtype=dtype, device=ends.device)
    mask[:, 0, :, n_trunk:].masked_fill_(~seen, torch.finfo(dtype).min)
    return mask
