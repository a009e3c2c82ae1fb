"""Attention of packed sequences on a GPU: a shared prefix, and a row in which tokens form trees.

Sequences that share tokens are written as one, in the order of a tree: token i sees token j of its own row if
j <= i < ends[j], where ends[j] is the end of the subtree of j. The ends decide block by block whether some
pair or every pair of tokens see each other; blocks without a pair are skipped. The kernel is Assay's own,
because compiling torch's block-sparse attention for a model takes longer than many runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from assay.backends.hf.fused_kernels import round_up_to_power
from assay.backends.hf.likelihood import send_to_device


class Tile(NamedTuple):
    """How much of the attention one program computes at once."""

    queries: int
    keys: int
    warps: int
    stages: int
    """Blocks of keys and values in fast memory at the same time."""

    def count_bytes(self, width: int, itemsize: int) -> int:
        """Return how much fast memory a program needs for heads of a width."""
        return (self.queries + 2 * self.keys * self.stages) * width * itemsize


_NARROW_HEADS = 64
_NARROW_TILES = (Tile(128, 64, 4, 3), Tile(128, 64, 4, 2), Tile(64, 32, 4, 2))
_WIDE_TILES = (Tile(64, 64, 4, 3), Tile(64, 64, 4, 2), Tile(64, 32, 4, 2), Tile(32, 16, 4, 1))
_FP32_TILES = (Tile(64, 32, 4, 2), Tile(32, 32, 4, 1), Tile(16, 16, 4, 1))
"""Measured on an H200 with a prefix of 1,500 tokens and 16,896 more; the next ones for less fast memory."""
_LEAST_FAST_MEMORY = 48 << 10
"""Bytes that every GPU has for one program."""


class BlockTables(NamedTuple):
    """For each block of queries, the blocks of keys that it reads."""

    order: Any
    """[query blocks, key blocks]: first those where every pair is visible, then those where some are."""
    n_every: Any
    n_some: Any


class TokenTrees:
    """The tokens of one row, by the ends of their subtrees."""

    def __init__(self, ends: Sequence[int], device: Any) -> None:
        import torch

        self._ends = torch.tensor(ends, dtype=torch.int32)
        self.ends = send_to_device(self._ends, device)
        self._tables: dict[Tile, BlockTables] = {}

    def build_tables(self, tile: Tile) -> BlockTables:
        """Return which blocks read which; found in the first layer, the same in all."""
        if tile not in self._tables:
            tables = find_blocks(self._ends, tile)
            self._tables[tile] = BlockTables(*(send_to_device(part, self.ends.device) for part in tables))
        return self._tables[tile]


def find_blocks(ends: Any, tile: Tile) -> BlockTables:
    """Return which blocks of keys each block of queries reads, from the ends of subtrees."""
    import torch

    n_tokens = len(ends)
    n_keys = -(-n_tokens // tile.keys)
    # Keys after the last token are visible to none of them.
    by_block = torch.nn.functional.pad(ends, (0, n_keys * tile.keys - n_tokens)).view(n_keys, tile.keys)
    keys_begin = torch.arange(n_keys) * tile.keys
    begin = torch.arange(0, n_tokens, tile.queries)[:, None]
    end = (begin + tile.queries).clamp(max=n_tokens)
    some = (keys_begin < end) & (by_block.amax(dim=1) > begin)
    every = (keys_begin + tile.keys <= begin + 1) & (by_block.amin(dim=1) >= end)
    order = (2 * every.int() + (some & ~every).int()).argsort(dim=1, descending=True, stable=True)
    n_every, n_some = every.sum(dim=1), (some & ~every).sum(dim=1)
    return BlockTables(*(part.to(torch.int32).contiguous() for part in (order, n_every, n_some)))


def attend_trees(
    query: Any, keys: Any, values: Any, prefix: tuple[Any, Any] | None, trees: TokenTrees, scale: float
) -> Any:
    """Return [1, tokens, heads, size]: attention of each token to the prefix and to its own ancestors.

    `query` is [1, heads, tokens, size]; keys and values, and those of the prefix, [1, groups, tokens, size].
    """
    import torch

    from assay.backends.hf import gpu_kernels

    _, heads, n_tokens, size = query.shape
    prefix_keys, prefix_values = prefix or (keys, values)
    for part in (keys, values, prefix_keys, prefix_values):
        if (part.shape[1], part.shape[3]) != (keys.shape[1], size):
            raise ValueError(f"keys or values of another size ({part.shape[1]} x {part.shape[3]})")
    if not all(part.stride(3) == 1 for part in (query, keys, values, prefix_keys, prefix_values)):
        raise ValueError("the numbers of a head are not adjacent in memory")
    width = max(16, round_up_to_power(size))
    tile = choose_tile(width, query.dtype.itemsize, find_fast_memory(query.device))
    tables = trees.build_tables(tile)
    out = torch.empty((1, n_tokens, heads, size), dtype=query.dtype, device=query.device)
    with torch.cuda.device_of(query):
        gpu_kernels.attend_trees[(-(-n_tokens // tile.queries), heads)](
            query,
            *(keys, values, prefix_keys, prefix_values),
            out,
            *(trees.ends, tables.order, tables.n_every, tables.n_some),
            scale * 1.4426950408889634,  # Powers of 2 are faster than those of e.
            *(part.stride(n) for part in (query, keys, values, prefix_keys, prefix_values) for n in (1, 2)),
            tables.order.stride(0),
            n_tokens,
            0 if prefix is None else prefix_keys.shape[2],
            heads=heads,
            per_group=heads // keys.shape[1],
            size=size,
            width=width,
            block_queries=tile.queries,
            block_keys=tile.keys,
            num_warps=tile.warps,
            num_stages=tile.stages,
        )
    return out


def choose_tile(width: int, itemsize: int, fast_memory: int) -> Tile:
    """Return the fastest tile that fits into the fast memory of a processor."""
    tiles = _NARROW_TILES if width <= _NARROW_HEADS else _WIDE_TILES
    tiles = tiles if itemsize < 4 else _FP32_TILES
    return next((tile for tile in tiles if tile.count_bytes(width, itemsize) <= fast_memory), tiles[-1])


@cache
def find_fast_memory(device: Any) -> int:
    """Return how many bytes of fast memory a program may use on a device."""
    import torch

    if device.type != "cuda":
        return _LEAST_FAST_MEMORY
    properties = torch.cuda.get_device_properties(device)
    return int(getattr(properties, "shared_memory_per_block_optin", _LEAST_FAST_MEMORY))
