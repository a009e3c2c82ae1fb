"""Plans requests to an engine with a prefix cache, so that each token is computed once.

Rows form a tree: the question, the common prefix of options, the options. Each node at which something is
scored becomes one request, and the nodes below it follow. The tokens that come after a node's last token, in
each row, are scored by id. So options of one token, and the first tokens of all others, need one request. The
other tokens of a node are scored as the prompt's own.

To score a prompt's own tokens, an engine computes logits for every token that is not cached. So a long
context is a separate request without such scores, and long texts are scored piece by piece: only a few
hundred rows of the size of the vocabulary exist at a time.

Cached tokens are not computed, so they cannot be scored. If nodes follow one another in this order, the cache
ends where scoring begins. It contains more only if an equal text was read before. Then the text is read again
without the cache, under its own salt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

from assay.backends.hf.likelihood import Row
from assay.backends.hf.prefix_tree import Node, RowReadRange, build_tree, clip_reads
from assay.backends.vllm.token_engine import EngineAnswer, ReadAnswer, ReadAsk
from assay.core.response import Failure

PIECE = 512
"""Positions of a prompt that are scored in one request."""
SLACK = 128
"""Tokens before the first scored one: fewer are not worth a separate request."""
MOST_IDS = 128
"""Maximum tokens that can be scored by id in one request."""


@dataclass(slots=True, eq=False)
class ReadJob:
    """A request to the engine, and the reads of rows that it answers."""

    ask: ReadAsk
    begin: int
    """The first scored position; the last is that of the prompt's last token."""
    reads: Sequence[RowReadRange]
    rows: Sequence[Row]
    """All rows; reads refer to them by number."""
    followers: list[ReadJob] = field(default_factory=list)

    @property
    def own_rows(self) -> Iterator[Row]:
        """Yield the rows that this job reads."""
        for number in dict.fromkeys(row for _, _, row, _ in self.reads):
            yield self.rows[number]

    def take(self, answer: EngineAnswer, seconds: float) -> Sequence[ReadJob]:
        """Write the answer into the rows; return the jobs that follow."""
        assert isinstance(answer, ReadAnswer)
        for row in (mine := list(self.own_rows)):
            row.seconds += seconds / len(mine)
        if answer.own_logprobs is None:
            return [self._again()]
        for begin, end, index, number in self.reads:
            self._put(answer, begin, end, self.rows[index], number)
        return self.followers

    def reject(self, why: str) -> None:
        """Mark its rows as failed, and those of the jobs that would follow: they become its own."""
        waiting = list(self.followers)
        while waiting:
            job = waiting.pop()
            waiting.extend(job.followers)
            self.reads = [*self.reads, *job.reads]
        for row in self.own_rows:
            row.failure = Failure("engine", why)

    def _put(self, answer: ReadAnswer, begin: int, end: int, row: Row, number: int) -> None:
        assert answer.own_logprobs is not None
        last = len(self.ask.prompt) - 1
        own = slice(begin - self.begin, min(end, last) - self.begin)
        logprobs, is_top = list(answer.own_logprobs[own]), list(answer.own_is_top[own])
        if end > last:
            token = row.tokens[number + last - begin]
            if token not in answer.next_logprobs:  # Scored by another request, because there are many.
                end = last
            else:
                logprobs.append(answer.next_logprobs[token])
                is_top.append(token == answer.first_choice)
        if begin < end:
            row.put(number, logprobs, is_top)

    def _again(self) -> ReadJob:
        """Return the first of the jobs that read the same without the cache."""
        salt = f"again {next(_SALTS)}"
        jobs = _chain_jobs(self.ask.prompt, self.reads, self.rows, known=0, piece=PIECE, salt=salt)
        jobs[-1].followers.extend(self.followers)
        return jobs[0]


_SALTS = count(1)


def plan_reads(rows: Sequence[Row], *, shares: bool, reads_own: bool = True) -> list[ReadJob]:
    """Return the jobs that read rows; further jobs follow them.

    If the engine shares no prefixes, each row is read separately. If it cannot score a prompt's own tokens,
    each token is scored as the next one.
    """
    if not shares:
        reads = [[(begin, end, n, number) for begin, end, number in row.runs] for n, row in enumerate(rows)]
        piece = max((len(row.inputs) for row in rows), default=1) if reads_own else 1
        return [
            _chain_jobs(row.inputs, mine, rows, known=len(row.inputs), piece=piece)[0]
            for row, mine in zip(rows, reads, strict=True)
        ]
    piece = PIECE if reads_own else 1
    planned: list[ReadJob] = []
    # A node, its prefix, how much of that was already requested, and the list for its jobs.
    waiting: list[tuple[Node, tuple[int, ...], int, list[ReadJob]]] = []
    if (root := build_tree([row.inputs for row in rows], [row.runs for row in rows])) is not None:
        waiting.append((root, (), 0, planned))
    while waiting:  # Depth first, so that rows with a common prefix are requested together.
        node, before, known, behind = waiting.pop()
        path = (*before, *node.ids)
        if node.reads:
            jobs = _chain_jobs(path, node.reads, rows, known=known, piece=piece)
            behind.append(jobs[0])
            known, behind = len(path), jobs[-1].followers
        waiting.extend((child, path, known, behind) for child in reversed(node.children))
    return planned


def _chain_jobs(
    path: tuple[int, ...],
    reads: Sequence[RowReadRange],
    rows: Sequence[Row],
    *,
    known: int,
    piece: int,
    salt: str = "",
) -> list[ReadJob]:
    """Return jobs that follow one another and score everything along a path.

    `known`: how many of its tokens were requested before.
    """
    jobs = [
        _job(path[:end], clip_reads(reads, begin, end), rows, begin, salt)
        for begin, end in _parts(_find_first_read(reads), len(path), known, piece)
    ]
    for job, following in pairwise(jobs):
        job.followers.append(following)
    return jobs


def _parts(first: int, end: int, known: int, piece: int) -> Iterator[tuple[int, int]]:
    """Yield first and last position that each request scores."""
    if first - known > SLACK and first + 1 < end:
        yield first, first + 1
        first += 1
    while end - first > piece:
        yield first, first + piece
        first += piece
    yield first, end


def _job(
    prompt: tuple[int, ...], reads: Sequence[RowReadRange], rows: Sequence[Row], begin: int, salt: str = ""
) -> ReadJob:
    """Return the job that scores a prompt from a position on; more follow if many tokens may come next."""
    last = len(prompt) - 1
    final = clip_reads(reads, last, last + 1)
    ids = tuple(dict.fromkeys(rows[row].tokens[number] for _, _, row, number in final))
    ask = ReadAsk(prompt, ids[:MOST_IDS], begin if begin < last else None, salt)
    rest = [ids[at : at + MOST_IDS] for at in range(MOST_IDS, len(ids), MOST_IDS)]
    more = [ReadJob(ReadAsk(prompt, some, None, salt), last, final, rows) for some in rest]
    return ReadJob(ask, begin, reads, rows, more)


def _find_first_read(reads: Sequence[RowReadRange]) -> int:
    return min(begin for begin, _, _, _ in reads)
