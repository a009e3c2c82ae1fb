"""Computes packed lanes on a transformers model: a shared prefix kept as keys and values, lanes after it.

A *lane* is a packed sequence: several sequences that share tokens, written as one (see `prefix_tree`). Its
tokens have their own positions, and a mask lets each see only the shared prefix and its own ancestors. So an
option costs only its own tokens, and nothing is read twice. The results equal those of separate sequences,
to the last digits of fp32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import accumulate
from typing import Any, NamedTuple

from assay.backends.hf.likelihood import (
    BatchReads,
    PendingLogprobs,
    Row,
    compute_logprobs,
    gather_outputs,
    send_to_device,
)
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.prefix_tree import (
    Lane,
    RowReadRange,
    clip_reads,
    make_chain_lane,
)
from assay.backends.hf.shared_attention import Block, View, using_view
from assay.backends.hf.tree_attention import TokenTrees
from assay.core.shared_prefix import count_shared_prefix

PREFIX_CHUNK = 1024
GPU_PREFIX_CHUNK = 4096
"""A prefix is read in pieces of this many tokens: its mask, or its activations on a GPU, must stay small."""
LEAST_BLOCK = 96
"""Subtrees are attended to together up to this many tokens."""


class SharedPrefix:
    """The keys and values of a shared prefix, for every layer: a pair of [1, heads, tokens, size]."""

    def __init__(self, ids: tuple[int, ...] = (), layers: Sequence[tuple[Any, Any]] = ()) -> None:
        self.ids = ids
        self.layers = tuple(layers)

    def cut(self, length: int) -> SharedPrefix:
        """Return the beginning of the prefix; shares memory with it."""
        layers = [(keys[:, :, :length], values[:, :, :length]) for keys, values in self.layers]
        return SharedPrefix(self.ids[:length], layers)

    def extend_to(
        self, loaded: LoadedModel, ids: tuple[int, ...], reads: Sequence[RowReadRange], rows: Sequence[Row]
    ) -> SharedPrefix:
        """Return a longer prefix, after reading the new tokens and the requested results inside them."""
        import torch

        prefix = self
        at_once = GPU_PREFIX_CHUNK if loaded.device.type == "cuda" else PREFIX_CHUNK
        while len(prefix.ids) < len(ids):
            start = len(prefix.ids)
            part = ids[start : start + at_once]
            end = start + len(part)
            lane = make_chain_lane(part, start)
            lane.reads = [(b - start, e - start, row, n) for b, e, row, n in clip_reads(reads, start, end)]
            cache = RowCache(prefix, keeps=True, joins=not loaded.shares)
            _compute(loaded, cache, [lane], rows).settle()
            layers = cache.own
            if loaded.shares and prefix.layers:
                layers = [
                    (torch.cat([k, own_k], dim=-2), torch.cat([v, own_v], dim=-2))
                    for (k, v), (own_k, own_v) in zip(prefix.layers, cache.own, strict=True)
                ]
            prefix = SharedPrefix(ids[:end], layers)
        return prefix

    @property
    def n_bytes(self) -> int:
        """Return its size in memory."""
        return sum(part.numel() * part.element_size() for layer in self.layers for part in layer)


class RowCache:
    """The cache that a model gets while it reads rows after a shared prefix.

    With `joins`, a layer gets the prefix's keys and values together with its own, as any attention expects;
    without, only its own, and the attention itself reads the prefix (see shared_attention).
    """

    is_compileable = False

    def __init__(self, prefix: SharedPrefix, *, keeps: bool, joins: bool) -> None:
        self.prefix = prefix
        self.own: list[tuple[Any, Any]] = []
        """Keys and values that were read (with the prefix's, if it joins), if they are kept."""
        self._keeps = keeps
        self.joins = joins

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Take a layer's new keys and values; return all that its attention reads."""
        import torch

        if self.joins and self.prefix.layers:
            n = keys.shape[0]
            prefix_keys, prefix_values = self.prefix.layers[layer_idx]
            keys = torch.cat([prefix_keys.expand(n, -1, -1, -1), keys], dim=-2)
            values = torch.cat([prefix_values.expand(n, -1, -1, -1), values], dim=-2)
        if self._keeps:
            # Values may be a part of a larger product, whose memory they would keep.
            self.own.append((keys.contiguous(), values.contiguous()))
        return keys, values

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        """Return how many tokens precede the next ones."""
        return len(self.prefix.ids)


class SharedPrefixCache:
    """Recently read prefixes, so that a prefix is read once per run and not once per window."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._cached: list[SharedPrefix] = []
        self.n_read = 0
        """Tokens read into prefixes so far."""

    def get(
        self, loaded: LoadedModel, ids: tuple[int, ...], reads: Sequence[RowReadRange], rows: Sequence[Row]
    ) -> SharedPrefix:
        """Return the prefix of these tokens; reads only the part that is not cached."""
        # Results requested inside the prefix need hidden states, which are not kept.
        known = min((begin for begin, _, _, _ in reads), default=len(ids))
        best, length = SharedPrefix(), 0
        for prefix in self._cached:
            shared = count_shared_prefix(prefix.ids, ids)
            if min(shared, known) > length:
                best, length = prefix, min(shared, known)
        prefix = best if length == len(best.ids) else best.cut(length)
        if length < len(ids):
            prefix = prefix.extend_to(loaded, ids, reads, rows)
            self.n_read += len(ids) - length
        self._keep(prefix)
        return prefix

    def clear(self) -> None:
        """Release all prefixes."""
        self._cached.clear()

    def _keep(self, prefix: SharedPrefix) -> None:
        # A cached prefix of this prefix adds nothing.
        self._cached = [
            other
            for other in self._cached
            if other is not prefix and other.ids != prefix.ids[: len(other.ids)]
        ]
        self._cached.append(prefix)
        while len(self._cached) > 1 and sum(entry.n_bytes for entry in self._cached) > self._max_bytes:
            self._cached.pop(0)


def compute_lanes(
    loaded: LoadedModel, prefix: SharedPrefix, lanes: Sequence[Lane], rows: Sequence[Row]
) -> PendingLogprobs:
    """Compute a batch of lanes after a shared prefix; return the results for the rows."""
    return _compute(loaded, RowCache(prefix, keeps=False, joins=not loaded.shares), lanes, rows)


class ReadRows(NamedTuple):
    """Rows that were read after a shared prefix."""

    layers: Sequence[tuple[Any, Any]]
    """For every layer their own keys and values, a pair of [rows, heads, columns, size].

    After a row's last token, its columns contain anything.
    """
    lengths: Sequence[int]
    logits: Any
    """The next-token logits: [rows, vocabulary], in fp32."""

    def take(self, rows: Sequence[int]) -> ReadRows:
        """Return some of the rows, in this order, in their own memory; a row may be taken more than once."""
        import torch

        index = send_to_device(torch.tensor(rows), self.logits.device)
        layers = [(keys[index], values[index]) for keys, values in self.layers]
        return ReadRows(layers, [self.lengths[row] for row in rows], self.logits[index])


def read_rows(
    loaded: LoadedModel, prefix: SharedPrefix, rows: Sequence[Sequence[int]], *, splits: bool
) -> ReadRows:
    """Read rows of tokens after a shared prefix, to continue from them.

    With `splits`, the attention reads the prefix itself (see shared_attention); without, rows get copies.
    """
    import torch

    cache = RowCache(prefix, keeps=True, joins=not splits)
    lanes = [make_chain_lane(row, len(prefix.ids)) for row in rows]
    batch = _pack_lanes(loaded, cache, lanes) if splits else _pad_lanes(loaded, cache, lanes)
    ends = torch.tensor([start + len(row) - 1 for start, row in zip(batch.starts, rows, strict=True)])
    with _using(loaded, batch.view), torch.inference_mode():
        picked, head = gather_outputs(loaded, batch.feed, ends)
        logits = (picked if head is None else head(picked)).float()
        lengths = [len(row) for row in rows]
        if splits:
            places = _find_places(lengths, loaded.device)
            layers = [(_unpack(k, places, lengths), _unpack(v, places, lengths)) for k, v in cache.own]
        else:
            # The prefix's keys and values precede those of every row.
            begin = len(prefix.ids)
            layers = [(keys[:, :, begin:], values[:, :, begin:]) for keys, values in cache.own]
    return ReadRows(layers, lengths, logits)


def _find_places(lengths: Sequence[int], device: Any) -> tuple[Any, Any]:
    """Return for each token of rows that are concatenated in one its row and its column."""
    import torch

    sizes = torch.tensor(lengths)
    rows = torch.arange(len(lengths)).repeat_interleave(sizes)
    columns = torch.arange(len(rows)) - (sizes.cumsum(0) - sizes)[rows]
    return send_to_device(rows, device), send_to_device(columns, device)


def _unpack(packed: Any, places: tuple[Any, Any], lengths: Sequence[int]) -> Any:
    """Return [rows, heads, columns, size] of rows that are concatenated in one, by one operation."""
    _, heads, _, size = packed.shape
    unpacked = packed.new_zeros((len(lengths), heads, max(lengths), size))
    rows, columns = places
    unpacked[rows, :, columns] = packed[0].transpose(0, 1)
    return unpacked


def count_padding(lengths: Sequence[int]) -> int:
    """Return how many padding tokens are computed when rows of these lengths are fed as a padded batch."""
    return len(lengths) * max(lengths, default=0) - sum(lengths)


def count_lane_padding(loaded: LoadedModel, lanes: Sequence[Lane]) -> int:
    """Return how many padding tokens are computed with these lanes."""
    return 0 if loaded.shares else count_padding([len(lane.ids) for lane in lanes])


def _compute(
    loaded: LoadedModel, cache: RowCache, lanes: Sequence[Lane], rows: Sequence[Row]
) -> PendingLogprobs:
    import torch

    batch = _lay_out_lanes(loaded, cache, lanes)
    wanted = _collect_reads(lanes, rows, batch.starts)
    with _using(loaded, batch.view), torch.inference_mode():
        if wanted:
            return compute_logprobs(loaded, batch.feed, wanted)
        (loaded.body or loaded.model)(**batch.feed)
        return PendingLogprobs()


@contextmanager
def _using(loaded: LoadedModel, view: View | None) -> Iterator[None]:
    """Let the model's attention use a view, and its parts their faster forms; None: compute as usual."""
    with using_view(view), nullcontext() if view is None else loaded.using_pieces():
        yield


class _Batch(NamedTuple):
    """Lanes as they are fed to a model."""

    feed: dict[str, Any]
    starts: list[int]
    """The position at which each lane begins, counted through the batch row by row."""
    view: View | None


def _lay_out_lanes(loaded: LoadedModel, cache: RowCache, lanes: Sequence[Lane]) -> _Batch:
    """Lay out lanes without padding if the attention can separate them; otherwise as padded rows."""
    return (_pack_lanes if loaded.shares else _pad_lanes)(loaded, cache, lanes)


def _pack_lanes(loaded: LoadedModel, cache: RowCache, lanes: Sequence[Lane]) -> _Batch:
    view = View(cache.prefix.layers)
    if loaded.has_kernels:
        view = view._replace(trees=_collect_trees(lanes, loaded))
    else:
        view = view._replace(blocks=_blocks(lanes, loaded))
    return _Batch(_send_feed(loaded, cache, _build_packed_feed(lanes)), _starts(lanes), view)


def _pad_lanes(loaded: LoadedModel, cache: RowCache, lanes: Sequence[Lane]) -> _Batch:
    feed = _build_padded_feed(lanes, len(cache.prefix.ids) if cache.joins else 0, loaded)
    starts = [n * feed["input_ids"].shape[1] for n in range(len(lanes))]
    return _Batch(_send_feed(loaded, cache, feed), starts, None)


def _send_feed(loaded: LoadedModel, cache: RowCache, feed: dict[str, Any]) -> dict[str, Any]:
    feed = {name: send_to_device(part, loaded.device) for name, part in feed.items()}
    return feed | {"past_key_values": cache, "use_cache": False}


def _collect_reads(lanes: Sequence[Lane], rows: Sequence[Row], starts: Sequence[int]) -> list[BatchReads]:
    """Return every read of the lanes, given the position of each lane in the batch."""
    return [
        BatchReads(rows[row], number, end - begin, start + begin)
        for start, lane in zip(starts, lanes, strict=True)
        for begin, end, row, number in lane.reads
    ]


def _starts(lanes: Sequence[Lane]) -> list[int]:
    return list(accumulate((len(lane.ids) for lane in lanes[:-1]), initial=0))


def _build_packed_feed(lanes: Sequence[Lane]) -> dict[str, Any]:
    """Feed all lanes as one row, without padding; the attention separates them."""
    import torch

    return {
        "input_ids": torch.tensor([[id_ for lane in lanes for id_ in lane.ids]]),
        "position_ids": torch.tensor([[at for lane in lanes for at in lane.positions]]),
        # Models use a mask of four dimensions unchanged; the attention has its own.
        "attention_mask": torch.zeros((1, 1, 1, 1)),
    }


def _blocks(lanes: Sequence[Lane], loaded: LoadedModel) -> list[Block]:
    """Return the stretches of the row whose tokens see each other, with the mask of each."""
    import torch

    blocks = []
    for start, lane in zip(_starts(lanes), lanes, strict=True):
        for begin, end in _split_subtrees(lane.ends):
            ends = torch.tensor(
                [[subtree_end - begin for subtree_end in lane.ends[begin:end]]], device=loaded.device
            )
            blocks.append(Block(start + begin, start + end, _mask(ends, 0, loaded.model.dtype)))
    return blocks


def _collect_trees(lanes: Sequence[Lane], loaded: LoadedModel) -> TokenTrees:
    """Return the ends of the subtrees of all lanes, counted through the row."""
    ends = [start + end for start, lane in zip(_starts(lanes), lanes, strict=True) for end in lane.ends]
    return TokenTrees(ends, loaded.device)


def _split_subtrees(ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield stretches of a lane that do not see each other: whole subtrees, small ones combined."""
    begin = end = 0
    while end < len(ends):
        following = ends[end]
        # A call costs more than the pairs of a few additional tokens.
        if end > begin and following - begin > LEAST_BLOCK:
            yield begin, end
            begin = end
        end = following
    yield begin, end


def _build_padded_feed(lanes: Sequence[Lane], n_prefix: int, loaded: LoadedModel) -> dict[str, Any]:
    """Feed lanes as a padded batch with a mask that any attention supports."""
    import torch

    width = max(len(lane.ids) for lane in lanes)
    ids = torch.zeros((len(lanes), width), dtype=torch.long)
    positions = torch.zeros_like(ids)
    # Padding sees only itself: a token that sees nothing would become NaN.
    ends = torch.arange(1, width + 1).repeat(len(lanes), 1)
    for index, lane in enumerate(lanes):
        n = len(lane.ids)
        ids[index, :n] = torch.tensor(lane.ids)
        positions[index, :n] = torch.tensor(lane.positions)
        ends[index, :n] = torch.tensor(lane.ends)
    mask = _mask(ends.to(loaded.device), n_prefix, loaded.model.dtype)
    return {"input_ids": ids, "position_ids": positions, "attention_mask": mask}


def _mask(ends: Any, n_prefix: int, dtype: Any) -> Any:
    """Return [batch, 1, lane, prefix + lane]: 0 where a token may look, else the lowest number."""
    import torch

    width = ends.shape[1]
    at = torch.arange(width, device=ends.device)
    seen = (at[None, :] <= at[:, None]) & (at[None, :, None] < ends[:, None, :])
    mask = torch.zeros((len(ends), 1, width, n_prefix + width), dtype=dtype, device=ends.device)
    mask[:, 0, :, n_prefix:].masked_fill_(~seen, torch.finfo(dtype).min)
    return mask
