"""Reads rows step by step during generation: with the model's own cache, or after a shared prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import groupby
from typing import Any, NamedTuple

from assay.backends.hf.likelihood import send_to_device
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.packed_forward import ReadRows, SharedPrefix, count_padding, read_rows
from assay.backends.hf.shared_attention import View, using_view
from assay.backends.hf.slot_cache import SlotCache, StepShape
from assay.backends.hf.step_graphs import StepRunner
from assay.backends.hf.work_counters import Counters

READ_TOKENS = 32_768
"""Prompts are read in batches of up to this many tokens, padding included."""


class DecodingWay(NamedTuple):
    """How rows after a shared prefix are generated on a device."""

    splits: bool = False
    """Whether the attention reads the prefix itself (see shared_attention); if not, every row has a copy."""
    records: bool = False
    """Whether steps are recorded and replayed (see step_graphs), with rounded sizes so that few differ."""
    reads_columns: bool = False
    """Whether a row reads only its own columns of the cache (see step_attention)."""


class PlainFeeder:
    """Every row whole, with the model's own cache and its own masks: works for any family.

    Rows leave, but join only when no row is left: a family's cache may contain windows or states that only
    the family itself can combine.
    """

    joins = False

    def __init__(self, loaded: LoadedModel, counters: Counters) -> None:
        self._loaded = loaded
        self._counters = counters
        self._cache: Any = None
        self._mask: Any = None

    def join(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read prompts into new rows; return the next-token logits of each."""
        from transformers import DynamicCache

        distinct = {prompt: row for row, prompt in enumerate(dict.fromkeys(prompts))}
        self._cache = None if self._loaded.makes_cache else DynamicCache(config=self._loaded.model.config)
        ids, self._mask = _pad_left(list(distinct), self._loaded.device)
        self._counters.batches += 1
        self._counters.padding_tokens += ids.numel() - sum(map(len, distinct))
        logits = self._logits(ids)
        if len(distinct) == len(prompts):
            return logits
        rows = [distinct[prompt] for prompt in prompts]
        self.select(rows)
        return logits[rows]

    def step(self, tokens: Any) -> Any:
        """Read one more token in each row."""
        import torch

        self._mask = torch.cat([self._mask, self._mask.new_ones((len(tokens), 1))], dim=1)
        return self._logits(tokens[:, None])

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows, in this order; a row may be used more than once."""
        import torch

        if not rows:
            self._cache = self._mask = None
            return
        selected = send_to_device(torch.tensor(rows), self._mask.device)
        # The only selection that caches of every kind support, including states of linear attention.
        self._cache.reorder_cache(selected)
        self._mask = self._mask[selected]

    def _logits(self, ids: Any) -> Any:
        self._counters.forward_tokens += ids.numel()
        feed = {
            "input_ids": ids,
            "attention_mask": self._mask,
            "past_key_values": self._cache,
            "use_cache": True,
        }
        if "position_ids" in self._loaded.takes:
            # Counted over real tokens, so that padding does not shift a row.
            feed["position_ids"] = (self._mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        output = _forward(self._loaded, feed)
        if self._loaded.makes_cache:
            self._cache = output.past_key_values
        return _last_logits(output)


class SharedPrefixFeeder:
    """Rows with a shared prefix: the prefix exists once, and each row adds its own tokens after it.

    Rows leave and join at any step. A prompt is read once for all rows that continue it in different ways.
    """

    joins = True

    def __init__(
        self,
        loaded: LoadedModel,
        prefix: SharedPrefix,
        counters: Counters,
        way: DecodingWay,
        steps: StepRunner,
        expected: StepShape | None = None,
    ) -> None:
        """`expected`: how many rows there will be at once, and the most tokens that one of them will have."""
        self._loaded = loaded
        self._prefix = prefix
        self._counters = counters
        self._way = way
        self._cache = SlotCache(
            prefix,
            joins=not way.splits,
            rounds=way.records,
            dtype=loaded.model.dtype,
            device=loaded.device,
            expected=expected if way.records else None,
        )
        self._steps = steps
        steps.forget()
        self._latest: tuple[tuple[int, ...], ReadRows] | None = None
        """The latest prompt: the next rows to join may continue it too."""

    def join(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read what prompts add to the prefix into new rows; return the next-token logits of each."""
        import torch

        at: dict[tuple[int, ...], tuple[ReadRows, int]] = {}
        if self._latest is not None:
            at[self._latest[0]] = self._latest[1], 0
        for part, read in self._read([prompt for prompt in dict.fromkeys(prompts) if prompt not in at]):
            at |= {prompt: (read, row) for row, prompt in enumerate(part)}
        logits = []
        for _, same in groupby((at[prompt] for prompt in prompts), key=lambda found: id(found[0])):
            found = list(same)
            read, rows = found[0][0], [row for _, row in found]
            taken = read if rows == list(range(len(read.lengths))) else read.take(rows)
            self._cache.join(taken)
            logits.append(taken.logits)
        read, row = at[prompts[-1]]
        self._latest = prompts[-1], read.take([row])
        return torch.cat(logits)

    def step(self, tokens: Any) -> Any:
        """Read one more token in each row."""
        n_rows = self._cache.n_rows
        shape, has_moved = self._cache.begin_step(tokens)
        if has_moved:
            self._steps.forget()
        self._counters.forward_tokens += shape.slots
        self._counters.padding_tokens += shape.slots - n_rows
        return self._steps.run(shape, self._compute_step)[:n_rows]

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows."""
        self._cache.select(rows)

    def _compute_step(self) -> Any:
        view = View(self._prefix.layers) if self._way.splits else None
        if view is not None and self._way.reads_columns:
            view = view._replace(n_columns=self._cache.count_columns())
        with using_view(view), nullcontext() if view is None else self._loaded.using_pieces():
            logits = _last_logits(_forward(self._loaded, self._cache.feed()))
        self._cache.end_step()
        return logits

    def _read(
        self, prompts: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[Sequence[tuple[int, ...]], ReadRows]]:
        """Read prompts, as many at once as memory for their activations allows; yield each part."""
        n_prefix, begin = len(self._prefix.ids), 0
        while begin < len(prompts):
            end, longest = begin, 0
            while end < len(prompts):
                longest = max(longest, len(prompts[end]) - n_prefix)
                if end > begin and longest * (end + 1 - begin) > READ_TOKENS:
                    break
                end += 1
            own = [prompt[n_prefix:] for prompt in prompts[begin:end]]
            n_padding = 0 if self._way.splits else count_padding([len(ids) for ids in own])
            self._counters.count_batch(sum(map(len, own)), n_padding)
            yield prompts[begin:end], read_rows(self._loaded, self._prefix, own, splits=self._way.splits)
            begin = end


def _forward(loaded: LoadedModel, feed: dict[str, Any]) -> Any:
    more = {"logits_to_keep": 1} if "logits_to_keep" in loaded.takes else {}
    return loaded.model(**feed, **more)


def _last_logits(output: Any) -> Any:
    return output.logits[:, -1].float()


def _pad_left(rows: Sequence[tuple[int, ...]], device: Any) -> tuple[Any, Any]:
    """Return ids and mask with the rows' ends aligned, so that all continue at the same column."""
    import torch

    longest = max(len(row) for row in rows)
    ids = torch.zeros((len(rows), longest), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, longest - len(row) :] = torch.tensor(row)
        mask[index, longest - len(row) :] = 1
    return ids.to(device), mask.to(device)
