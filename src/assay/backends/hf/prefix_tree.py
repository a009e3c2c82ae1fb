"""Token sequences as a tree, split into packed lanes: what sequences share is computed once.

Sequences that begin alike share a node for as long as they do: first the few-shot examples, then the
question, then what the options have in common. A *lane* is a part of the tree in preorder, so that a token's
descendants follow it directly, and one number per token, the end of its subtree, says which tokens may see
it. A *shared prefix* precedes several lanes; its keys and values are kept while they are computed.

Knows token ids and lengths, but neither texts nor models.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.core.shared_prefix import count_shared_prefix

ID_BYTES = array("I").itemsize
ReadRange = tuple[int, int, int]
"""(begin, end, number): reads after each of the tokens from `begin` to `end`; the first is read `number`."""
RowReadRange = tuple[int, int, int, int]
"""(begin, end, row, number): a run of reads of row `row`."""


@dataclass(slots=True)
class Node:
    """Tokens that the same sequences contain, without a branch."""

    start: int
    """Position of its first token in every sequence that contains it."""
    ids: Sequence[int]
    reads: list[RowReadRange] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    size: int = 0
    """Tokens of the whole subtree."""


@dataclass(slots=True)
class Lane:
    """A part of the tree to compute at once, in preorder."""

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """For each token, the end of its subtree: token i sees token j if j <= i < ends[j]."""
    reads: list[RowReadRange] = field(default_factory=list)
    """Runs by index in the lane."""

    def add(self, node: Node) -> None:
        """Append a subtree."""
        # An explicit stack: a tree may be deeper than Python's recursion limit.
        waiting: list[tuple[Node, int]] = [(node, 0)]
        begins: list[tuple[Node, int]] = []
        while waiting:
            current, stage = waiting.pop()
            if stage == 0:
                begin = len(self.ids)
                begins.append((current, begin))
                self.ids.extend(current.ids)
                self.positions.extend(range(current.start, current.start + len(current.ids)))
                self.ends.extend([0] * len(current.ids))
                shift = begin - current.start
                self.reads.extend((b + shift, e + shift, row, number) for b, e, row, number in current.reads)
                waiting.append((current, 1))
                waiting.extend((child, 0) for child in reversed(current.children))
            else:
                last, begin = begins.pop()
                assert last is current
                self.ends[begin : begin + len(current.ids)] = [len(self.ids)] * len(current.ids)


def make_chain_lane(ids: Sequence[int], start: int) -> Lane:
    """Return a lane of consecutive tokens, from a position on."""
    n = len(ids)
    return Lane(list(ids), list(range(start, start + n)), [n] * n)


@dataclass(slots=True)
class Group:
    """Lanes after one shared prefix."""

    prefix: tuple[int, ...]
    prefix_reads: list[RowReadRange]
    """Reads inside the part of the prefix that no other group has answered."""
    lanes: list[Lane]


LEAST_SAVING = 128
"""Tokens that a shared prefix must save to be worth a separate pass."""


def plan_lanes(
    sequences: Sequence[tuple[int, ...]],
    reads: Sequence[Sequence[ReadRange]],
    *,
    lane_tokens: int,
    least_saving: int = LEAST_SAVING,
) -> Iterator[Group]:
    """Split sequences into groups of lanes of at most `lane_tokens` tokens (a single sequence may exceed it).

    `reads[r]`: the tokens of sequence r after which something is read. A prefix is computed separately if
    that saves at least `least_saving` tokens compared to repeating it in each lane.
    """
    root = build_tree(sequences, reads)
    if root is not None:
        yield from _Cutter(lane_tokens, least_saving).groups([root], (), [])


def build_tree(sequences: Sequence[tuple[int, ...]], reads: Sequence[Sequence[ReadRange]]) -> Node | None:
    """Return the tree of some sequences; None if there are none."""
    if not sequences:
        return None
    # Big-endian bytes sort like the ids they contain, and compare at memory speed.
    packed = [_pack_ids(ids) for ids in sequences]
    order = sorted(range(len(sequences)), key=packed.__getitem__)
    root = Node(0, ())
    path: list[Node] = [root]
    last: int | None = None
    for row in order:
        ids = sequences[row]
        shared = 0 if last is None else count_shared_prefix(packed[last], packed[row]) // ID_BYTES
        _descend(path, shared)
        if shared < len(ids):
            leaf = Node(shared, ids[shared:])
            path[-1].children.append(leaf)
            path.append(leaf)
        _record_reads(path, row, reads[row])
        last = row
    root = root.children[0] if len(root.children) == 1 else root
    _measure(root)
    return root


def _pack_ids(ids: Sequence[int]) -> bytes:
    numbers = array("I", ids)
    numbers.byteswap()
    return numbers.tobytes()


def _descend(path: list[Node], depth: int) -> None:
    """Reduce the path to `depth` tokens, splitting the node that contains this position."""
    while path[-1].start >= depth and len(path) > 1:
        path.pop()
    node = path[-1]
    kept = depth - node.start
    if kept < len(node.ids):
        tail = Node(
            depth, node.ids[kept:], clip_reads(node.reads, depth, node.start + len(node.ids)), node.children
        )
        node.reads = clip_reads(node.reads, node.start, depth)
        node.ids = node.ids[:kept]
        node.children = [tail]


def clip_reads(reads: Sequence[RowReadRange], begin: int, end: int) -> list[RowReadRange]:
    """Return the parts of some runs between two positions."""
    return [
        (max(b, begin), min(e, end), row, number + max(0, begin - b))
        for b, e, row, number in reads
        if b < end and begin < e
    ]


def _record_reads(path: Sequence[Node], row: int, runs: Sequence[ReadRange]) -> None:
    """Record a row's reads at the nodes of its path."""
    for begin, end, number in runs:
        level = len(path) - 1
        while begin < end:
            node = path[level]
            first = max(begin, node.start)
            if first < end:
                node.reads.append((first, end, row, number + first - begin))
                end = first
            level -= 1


def _measure(root: Node) -> None:
    waiting, every = [root], []
    while waiting:
        node = waiting.pop()
        every.append(node)
        waiting.extend(node.children)
    for node in reversed(every):
        node.size = len(node.ids) + sum(child.size for child in node.children)


class _Cutter:
    def __init__(self, lane_tokens: int, least_saving: int) -> None:
        self._lane_tokens = lane_tokens
        self._least_saving = least_saving

    def groups(
        self, nodes: Sequence[Node], prefix: tuple[int, ...], reads: list[RowReadRange]
    ) -> Iterator[Group]:
        """Yield the groups of subtrees after one shared prefix: first its own lanes, then longer prefixes."""
        small: list[Node] = []
        prefixes: list[Node] = []
        for node in nodes:
            self._sort(node, small, prefixes)
        # The prefix's own reads are answered even if everything after it has longer prefixes.
        if small or reads:
            yield Group(prefix, reads, self._pack_lanes(small))
        for node in prefixes:
            yield from self.groups(node.children, (*prefix, *node.ids), node.reads)

    def _sort(self, node: Node, small: list[Node], prefixes: list[Node]) -> None:
        """Separate subtrees that fit into a lane from those whose beginning is worth a shared prefix."""
        waiting = [node]
        while waiting:
            current = _merge_only_children(waiting.pop())
            if current.size <= self._lane_tokens or not current.children:
                small.append(current)
                continue
            pieces = self._pieces(current)
            if (len(pieces) - 1) * len(current.ids) >= self._least_saving:
                prefixes.append(current)
            else:
                waiting.extend(reversed(pieces))

    def _pieces(self, node: Node) -> list[Node]:
        """Split the subtree into several, each with the node's own tokens before some of its children."""
        pieces: list[Node] = []
        reads = node.reads
        for bundle in _bundles(node.children, self._lane_tokens - len(node.ids)):
            size = len(node.ids) + sum(child.size for child in bundle)
            pieces.append(Node(node.start, node.ids, reads, bundle, size))
            reads = []  # Answered once.
        return pieces

    def _pack_lanes(self, nodes: Sequence[Node]) -> list[Lane]:
        lanes = []
        for bundle in _bundles(nodes, self._lane_tokens):
            lane = Lane()
            for node in bundle:
                lane.add(node)
            lanes.append(lane)
        return lanes


def _merge_only_children(node: Node) -> Node:
    """Return a node merged with its only children, down to the first branch."""
    while len(node.children) == 1:
        (child,) = node.children
        reads = [*node.reads, *child.reads]
        node = Node(node.start, (*node.ids, *child.ids), reads, child.children, node.size)
    return node


def _bundles(nodes: Sequence[Node], room: int) -> list[list[Node]]:
    """Combine subtrees, first fit by decreasing size, so that each bundle has at most `room` tokens."""
    bundles: list[list[Node]] = []
    left: list[int] = []
    for node in sorted(nodes, key=lambda node: -node.size):
        for index, free in enumerate(left):
            if node.size <= free:
                bundles[index].append(node)
                left[index] -= node.size
                break
        else:
            bundles.append([node])
            left.append(room - node.size)
    return bundles
