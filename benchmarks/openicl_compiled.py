"""Entries of a checkout's configs, compiled over made-up rows: all of Assay is in the path but the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from assay.app.openicl_scoring import OpenIclScoring, build_author_imports
from assay.backends.hf.sentence_encoder import open_embedder
from assay.core.compilation import Compilation
from assay.core.errors import AssayError
from assay.core.origin import Origin
from assay.core.task import TaskSettings
from assay.dialects.openicl.arguments import ConfigArguments
from assay.dialects.openicl.authored.base_classes import BaseDataset
from assay.dialects.openicl.authored.code import AuthorCode, get_short_name
from assay.dialects.openicl.compile import compile_entry
from assay.dialects.openicl.config.entry import Component, DatasetEntry
from assay.dialects.openicl.entries import ConfigEntry
from assay.dialects.openicl.entry_validation import EntryContext, OpenIclTools
from assay.dialects.openicl.task import ConfigTask
from assay.dialects.openicl.templates.meta import read_meta_template
from benchmarks.openicl_original import Way

_ENCODING = ("TopkRetriever", "MDLRetriever", "DPPRetriever", "VotekRetriever")
"""Retrievers that need an encoder; what they pick is compared elsewhere."""
_OF_EVERY_RETRIEVER = ("ice_separator", "ice_eos_token", "ice_num")


class MadeCode(AuthorCode):
    """The code of a checkout, but for dataset classes: these return made-up rows."""

    splits: Mapping[str, Sequence[Mapping[str, Any]]] = {}

    def require(self, kind: Any, what: str, where: Origin, known: Iterable[str] = ()) -> Any:
        """Return what a name stands for."""
        if what != "dataset class":
            return super().require(kind, what, where, known)
        with suppress(AssayError):
            # Its file may register evaluators, too; where it does not run, they are missed by name.
            self.find(kind)
        splits = {name: [dict(row) for row in rows] for name, rows in self.splits.items()}

        class Made(BaseDataset):
            def load(self, **_: Any) -> Any:
                return splits

        return Made


class Compiler:
    """Compiles entries over made-up rows."""

    def __init__(self, checkout: Path) -> None:
        self._tools = OpenIclTools(build_author_imports(), OpenIclScoring(), open_embedder)
        self._checkout = checkout
        self._code = MadeCode([], checkout, None, self._tools.offered)

    def compiled(
        self,
        found: ConfigEntry,
        splits: Mapping[str, Sequence[Mapping[str, Any]]],
        way: Way,
        *,
        is_faithful: bool,
    ) -> Compilation[ConfigTask]:
        """Return an entry as a task; AssayError for what is wrong with it."""
        self._code.splits = splits
        arguments = ConfigArguments(self._checkout, read_meta_template(way.meta, []))
        settings = TaskSettings(is_chat=way.is_chat, is_faithful=is_faithful)
        asked = EntryContext(settings, arguments, self._tools, self._code)
        return compile_entry(found, str(found.config.path), asked)


def with_fixed_examples(entry: DatasetEntry) -> DatasetEntry:
    """Return an entry whose examples are not found by an encoder: the first of the split stand for them."""
    retriever = entry.infer_cfg.retriever
    if get_short_name(retriever.type) not in _ENCODING:
        return entry
    count = int(retriever.arguments.get("ice_num", 1))
    kept = {key: one for key, one in retriever.arguments.items() if key in _OF_EVERY_RETRIEVER}
    fixed = Component("FixKRetriever", {"fix_id_list": list(range(count)), **kept})
    return msgspec.structs.replace(entry, infer_cfg=msgspec.structs.replace(entry.infer_cfg, retriever=fixed))
