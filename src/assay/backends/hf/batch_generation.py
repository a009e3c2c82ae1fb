"""Generates texts in a batch that is kept full; shared prefixes of prompts are read once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from assay.backends.hf.batching import Budget, RunningBatch, is_out_of_memory
from assay.backends.hf.cache_readers import PlainFeeder, SharedPrefixFeeder
from assay.backends.hf.decoding_trial import Decoding
from assay.backends.hf.generation import DecodeLoop, Draft, EndDetector, Feeder, begin_answer
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.packed_forward import SharedPrefixCache
from assay.backends.hf.slot_cache import StepShape
from assay.backends.hf.work_counters import Counters
from assay.core.shared_prefix import count_shared_prefix

GENERATE_FACTOR = 4
"""Generation keeps key-value caches in memory, not activations, so its batches may be larger."""
LEAST_SHARED = 16
"""Shorter shared prefixes are not worth a separate pass."""
MANY_SAMPLES = 16
"""This many samples of one prompt fill a batch and share the prompt as their prefix; fewer are generated
together with other prompts, each with its own copy."""


class BatchGenerator:
    """Completes drafts."""

    def __init__(
        self,
        loaded: LoadedModel,
        budget: Budget,
        counters: Counters,
        ending: EndDetector,
        prefixes: SharedPrefixCache | None,
        decoding: Decoding | None,
    ) -> None:
        """Without a prefix cache and a way of decoding after prefixes, prompts are read whole."""
        self._loaded = loaded
        self._budget = budget
        self._counters = counters
        self._ending = ending
        self._prefixes = prefixes
        self._decoding = decoding
        # A GPU gets the next step before the tokens of this one are read, so that it does not wait.
        self.n_ahead = 1 if loaded.device.type == "cuda" else 0

    def run(self, drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
        """Complete drafts; yield them as they finish.

        A thought that uses up its budget is ended, and its answer generated with those of the others.
        """
        answers: dict[Draft, Draft] = {}
        for done in self._generate(drafts):
            answers.update((begin_answer(draft), draft) for draft in done if draft.needs_answer)
            if finished := [draft for draft in done if not draft.needs_answer]:
                yield finished
        for done in self._generate(list(answers)):
            for answer in done:
                self._ending.take_answer(answers[answer], answer)
            yield [answers[answer] for answer in done]

    def _generate(self, drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
        for prefix, alike in self._groups(drafts):
            yield from self._generate_drafts(alike, prefix)

    def _groups(self, drafts: Sequence[Draft]) -> Iterator[tuple[tuple[int, ...] | None, list[Draft]]]:
        """Group drafts by their shared prefix; None: use the model's own cache."""
        reach = self._loaded.window if self._prefixes is not None else 0
        # Beyond the window of sliding attention, only the model itself knows what it sees.
        far = [draft for draft in drafts if reach is not None and len(draft.prompt) + draft.max_new > reach]
        if far:
            yield None, far
        left = set(far)
        yield from share_prompts([draft for draft in drafts if draft not in left])

    def _generate_drafts(
        self, drafts: Sequence[Draft], prefix: tuple[int, ...] | None
    ) -> Iterator[list[Draft]]:
        n_prefix = len(prefix or ())

        def length(draft: Draft) -> int:
            return len(draft.prompt) - n_prefix + draft.max_new

        # Equal prompts are adjacent, so that they are read together.
        ordered = sorted(drafts, key=lambda draft: draft.prompt)
        # In a stateful model, padding before a shorter prompt would become part of its state.
        budget = Budget(self._budget.tokens, 1) if self._loaded.is_stateful else self._budget
        batch = RunningBatch(budget, ordered, length, factor=GENERATE_FACTOR)
        while batch.waiting:
            for done in self._write_until_out_of_memory(batch, prefix):
                self._counters.generated_tokens += sum(len(draft.ids) for draft in done)
                yield done

    def _write_until_out_of_memory(
        self, batch: RunningBatch[Draft], prefix: tuple[int, ...] | None
    ) -> Iterator[list[Draft]]:
        """Generate until all are finished; if memory runs out, leave the rest waiting for a smaller batch."""
        try:
            loop = DecodeLoop(
                self._feeder(batch, prefix),
                self._ending,
                batch,
                n_ahead=self.n_ahead,
                device=self._loaded.device,
                on_device_time=self._counters.time_device,
            )
            yield from loop.run()
            self._counters.padding_tokens += loop.n_dropped
        except (RuntimeError, MemoryError) as trouble:
            if not is_out_of_memory(trouble):
                raise
        else:
            return
        # Outside the handler: the error keeps its frames and their tensors in memory until it is released.
        if hopeless := batch.shrink():
            for draft in hopeless:
                _mark_out_of_memory(draft)
            yield hopeless

    def _feeder(self, batch: RunningBatch[Draft], prefix: tuple[int, ...] | None) -> Feeder:
        if prefix is None or self._prefixes is None or self._decoding is None:
            return PlainFeeder(self._loaded, self._counters)
        began, known = time.perf_counter(), self._prefixes.n_read
        shared = self._prefixes.get(self._loaded, prefix, (), ())
        feeder = SharedPrefixFeeder(
            self._loaded,
            shared,
            self._counters,
            self._decoding.way,
            self._decoding.steps,
            StepShape(*batch.largest),
        )
        self._counters.forward_tokens += self._prefixes.n_read - known
        seconds = time.perf_counter() - began
        for draft in batch.waiting:
            draft.seconds += seconds / len(batch.waiting)
        return feeder


def share_prompts(drafts: Sequence[Draft]) -> Iterator[tuple[tuple[int, ...], list[Draft]]]:
    """Group drafts whose prompts share a prefix; yield the prefix and the drafts of each group.

    At least one token of every prompt is its own, because something must be read to continue from.
    """
    samples: dict[tuple[int, ...], list[Draft]] = {}
    for draft in sorted(drafts, key=lambda draft: draft.prompt):
        samples.setdefault(draft.prompt, []).append(draft)
    for prompt in [prompt for prompt, same in samples.items() if len(same) >= MANY_SAMPLES]:
        yield prompt[:-1], samples.pop(prompt)
    ordered = list(samples)
    loose: list[Draft] = []
    at = 0
    while at < len(ordered):
        length, end = _find_shared_group(ordered, at)
        group = [draft for prompt in ordered[at:end] for draft in samples[prompt]]
        if end - at > 1:
            yield ordered[at][:length], group
        else:
            loose += group
        at = end
    if loose:
        yield (), loose


def _find_shared_group(ordered: Sequence[tuple[int, ...]], at: int) -> tuple[int, int]:
    """Return the length of the prefix that the prompts from `at` on share, and the end of their group."""
    length, end = len(ordered[at]) - 1, at + 1
    while end < len(ordered):
        shared = min(length, len(ordered[end]) - 1, count_shared_prefix(ordered[at], ordered[end]))
        # A neighbour that would give up most of the shared prefix begins its own group; the first neighbour
        # only shows how much of the first prompt is shared at all.
        if shared < LEAST_SHARED or (end - at > 1 and 2 * shared < length):
            break
        length, end = shared, end + 1
    return length, end


def _mark_out_of_memory(draft: Draft) -> None:
    """Mark a text that does not fit into memory even alone as failed."""
    draft.ids.clear()
    total = len(draft.prompt) + draft.max_new
    draft.failure = ("memory", f"memory ran out on a single text of up to {total:,} tokens")
