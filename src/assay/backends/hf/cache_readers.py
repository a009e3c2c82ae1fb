"""Reads rows step by step during generation: with the model's own cache, or after a shared prefix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.backends.hf.growing_cache import GrowingRows
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.packed_forward import ReadRow, SharedPrefix, count_padding, read_rows
from assay.backends.hf.shared_attention import View, using_view
from assay.backends.hf.work_counters import Counters


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

    def step(self, tokens: Sequence[int]) -> Any:
        """Read one more token in each row."""
        import torch

        ids = _column(tokens, self._loaded.device)
        self._mask = torch.cat([self._mask, self._mask.new_ones((len(tokens), 1))], dim=1)
        return self._logits(ids)

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows, in this order; a row may be used more than once."""
        import torch

        if not rows:
            self._cache = self._mask = None
            return
        selected = torch.tensor(rows, device=self._mask.device)
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

    def __init__(self, loaded: LoadedModel, prefix: SharedPrefix, counters: Counters) -> None:
        self._loaded = loaded
        self._prefix = prefix
        self._counters = counters
        self._rows = GrowingRows(prefix, joins=not loaded.shares, dtype=loaded.model.dtype)
        self._latest: dict[tuple[int, ...], ReadRow] = {}
        """The latest prompt: the next rows to join may continue it too."""

    def join(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read what prompts add to the prefix into new rows; return the next-token logits of each."""
        import torch

        known = self._latest | self._read(
            [prompt for prompt in dict.fromkeys(prompts) if prompt not in self._latest]
        )
        rows = [known[prompt] for prompt in prompts]
        self._rows.join(rows)
        self._latest = {prompts[-1]: rows[-1].kept()}
        return torch.stack([row.logits for row in rows])

    def step(self, tokens: Sequence[int]) -> Any:
        """Read one more token in each row."""
        self._counters.forward_tokens += len(tokens)
        positions, mask = self._rows.next_column()
        feed = {
            "input_ids": _column(tokens, self._loaded.device),
            "attention_mask": mask,
            "position_ids": positions,
            "past_key_values": self._rows,
            "use_cache": False,
        }
        with using_view(View(self._prefix.layers) if self._loaded.shares else View()):
            return _last_logits(_forward(self._loaded, feed))

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows."""
        self._rows.select(rows)

    def _read(self, prompts: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], ReadRow]:
        if not prompts:
            return {}
        own = [prompt[len(self._prefix.ids) :] for prompt in prompts]
        n_own, n_padding = sum(map(len, own)), count_padding(self._loaded, [len(ids) for ids in own])
        self._counters.count_batch(n_own, n_padding)
        return dict(zip(prompts, read_rows(self._loaded, self._prefix, own), strict=True))


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


def _column(tokens: Sequence[int], device: Any) -> Any:
    import torch

    return torch.tensor(tokens, device=device)[:, None]
