"""Reading rows step by step while they are written: by the model's own cache, or behind a shared trunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.backends.loaded import Loaded
from assay.backends.packed import RowCache, Trunk
from assay.backends.shared_attention import View, looking


class PlainFeeder:
    """Every row whole, with the model's own cache and the masks it makes itself: works for any family."""

    def __init__(self, loaded: Loaded) -> None:
        from transformers import DynamicCache

        self._loaded = loaded
        self._cache = DynamicCache(config=loaded.model.config)
        self._mask: Any = None
        self.n_computed = 0

    def prefill(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read the prompts; return the logits of what follows each."""
        ids, self._mask = _left_padded(prompts, self._loaded.device)
        return self._logits(ids)

    def step(self, tokens: Sequence[int]) -> Any:
        """Read one more token in each row."""
        ids = _column(tokens, self._loaded.device)
        self._mask = _longer(self._mask)
        return self._logits(ids)

    def select(self, rows: Sequence[int]) -> None:
        """Go on with some of the rows."""
        import torch

        keep = torch.tensor(rows, device=self._mask.device)
        self._cache.batch_select_indices(keep)
        self._mask = self._mask[keep]

    def _logits(self, ids: Any) -> Any:
        self.n_computed += ids.numel()
        feed = {
            "input_ids": ids,
            "attention_mask": self._mask,
            "past_key_values": self._cache,
            "use_cache": True,
        }
        if "position_ids" in self._loaded.takes:
            # Counted over real tokens, so that padding does not shift a row.
            feed["position_ids"] = (self._mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        return _last_logits(self._loaded, feed)


class TrunkFeeder:
    """Rows that begin alike: the beginning stands once, each row adds its own tokens behind it."""

    def __init__(self, loaded: Loaded, trunk: Trunk) -> None:
        self._loaded = loaded
        self._trunk = trunk
        self._cache = RowCache(trunk, keeps=True, joins=not loaded.shares)
        self._mask: Any = None
        self.n_computed = 0

    def prefill(self, prompts: Sequence[tuple[int, ...]]) -> Any:
        """Read what the prompts add to the trunk; return the logits of what follows each."""
        import torch

        n = len(self._trunk.ids)
        ids, self._mask = _left_padded([prompt[n:] for prompt in prompts], self._loaded.device)
        at = torch.arange(ids.shape[1], device=ids.device)
        is_self = at[:, None] == at[None, :]
        # Padding sees itself, since a token that sees nothing would turn into no number at all.
        seen = ((at[None, :] <= at[:, None]) & self._mask[:, None, :].bool()) | is_self
        return self._logits(ids, seen[:, None])

    def step(self, tokens: Sequence[int]) -> Any:
        """Read one more token in each row."""
        ids = _column(tokens, self._loaded.device)
        self._mask = _longer(self._mask)
        return self._logits(ids, self._mask[:, None, None, :].bool())

    def select(self, rows: Sequence[int]) -> None:
        """Go on with some of the rows."""
        import torch

        keep = torch.tensor(rows, device=self._mask.device)
        self._cache.select(keep)
        self._mask = self._mask[keep]

    def _logits(self, ids: Any, seen: Any) -> Any:
        import torch

        self.n_computed += ids.numel()
        n_trunk, dtype = len(self._trunk.ids), self._loaded.model.dtype
        mask = torch.zeros(seen.shape, dtype=dtype, device=ids.device)
        mask.masked_fill_(~seen, torch.finfo(dtype).min)
        if not self._loaded.shares:
            mask = torch.nn.functional.pad(mask, (n_trunk, 0))
        places = (self._mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        feed = {
            "input_ids": ids,
            "attention_mask": mask,
            "position_ids": places + n_trunk,
            "past_key_values": self._cache,
            "use_cache": False,
        }
        with looking(View(self._trunk.layers) if self._loaded.shares else View()):
            return _last_logits(self._loaded, feed)


def _last_logits(loaded: Loaded, feed: dict[str, Any]) -> Any:
    more = {"logits_to_keep": 1} if "logits_to_keep" in loaded.takes else {}
    return loaded.model(**feed, **more).logits[:, -1].float()


def _left_padded(rows: Sequence[tuple[int, ...]], device: Any) -> tuple[Any, Any]:
    """Return ids and mask with the rows' ends aligned, so that all go on at the same column."""
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


def _longer(mask: Any) -> Any:
    import torch

    return torch.cat([mask, mask.new_ones((len(mask), 1))], dim=1)
