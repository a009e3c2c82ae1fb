"""The folder of one dataset: which of its files belongs to which config and split, judged by their paths.

Supports common folder layouts, hub repositories, the cache of the `datasets` library and the output of its
`save_to_disk`. Runs no loader script. Never replaces a split by another one.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.names import compose_name
from assay.core.origin import Origin
from assay.sources.files import find_suffix
from assay.sources.shards import SHARD

LAYOUTS = (
    "{split}/{config}{sep}{split}",  # mmlu: dev/anatomy_dev
    "{split}/{config}",  # test/anatomy
    "{config}/{split}",  # ARC-Easy/validation
    "{config}/{split}/data",  # save_to_disk: ARC-Easy/test/data
    "data/{config}/{split}",  # data/ARC-Easy/test
    "{config}/{word}{sep}{split}{sep}{word}",  # KorNLI/xnli.dev.ko
    "{config}/{word}{sep}{split}",  # KorSTS/sts-dev, klue-nli-v1.1/klue-nli-v1.1_dev, main/gsm8k-test (cache)
    "{dataset}/{config}",  # bbh: bbh/web_of_lies
    "{split}",  # train
    "{config}{sep}{split}",  # anatomy_dev
    "{config}",  # web_of_lies
)
"""Paths of data files inside a dataset's folder, without their suffix. The first that fits is used, so the
most specific ones come first. A config or split that appears twice must be the same both times."""

SPELLINGS = (("validation", "valid", "val"), ("train", "training"), ("test",))
"""Spellings of the same split name."""
SYNONYMS = (("validation", "valid", "val", "dev"),)
"""Different names for the same split, used if no spelling of the requested one exists."""

_SPLIT_WORDS = (
    "auxiliary_train",
    "devtest",
    "dev",
    r"(?:train|dev|test)_r\d",  # the rounds of ANLI
    "(?:validation|test)_(?:mis)?matched",  # MNLI
    *(name for names in SPELLINGS for name in names),
)
_ONLY_CONFIGS = ("default", "main", "plain_text")
"""Names that hubs use for the only config of a dataset, or for the first of several."""
_PLAIN_CONFIGS = (*_ONLY_CONFIGS, "data")
"""Names of folders that say nothing about the config."""
_BESIDES = re.compile(
    r".*\.meta\.json|dataset_infos?\.json|dataset_dict\.json|state\.json|hub\.json|.*\.ya?ml"
)
"""Names of files that describe data but contain none."""
_CACHED = re.compile(r"(?:^|(?<=/))\d+\.\d+\.\d+/[0-9a-f]{16,}/")
"""The version and fingerprint between the config and the files in the `datasets` library's cache."""


class DatasetMissing(AuthorError):
    """A requested dataset, config or split is not on this machine."""


class DataFile(NamedTuple):
    """A data file of a dataset, with what its path says about it."""

    path: Path
    config: str | None
    """None also for a generic name such as `main`."""
    written: str | None
    """The config as written in the path."""
    split: str | None
    whole: str
    """The path without its shard number, which all shards of a table share."""
    n_shards: int
    """The number of shards of the table, according to the file name."""


class DatasetFolder:
    """The folder with the files of one dataset."""

    def __init__(self, path: Path, *, name: str | None = None, stands_for: str | None = None) -> None:
        self.path = path
        self.name = name or path.name
        """The name of the dataset, for errors and for files that repeat it."""
        self.stands_for = stands_for
        """The config that the whole folder belongs to, if hub.json says so."""

    def files(self, *, config: str | None = None, split: str | None = None) -> tuple[Path, ...]:
        """Return the file of a config and split, or its shards in order; raise if no file or several match.

        Both can be omitted if there is only one; the config also if some files belong to no config. If the
        requested split is missing, `val`, `valid`, `validation` and `dev` can replace each other. A dataset
        whose files name no split counts as `test`.
        """
        matches = _filter_split(self._filter_config(config, split), split)
        request = f"{self.name!r}, config {config!r}, split {split!r}"
        if not matches:
            splits = listing(self.splits(config)) or "missing: no file name contains a split"
            fix = "use an existing split, or add its file"
            raise DatasetMissing(self._problem(f"{request} does not exist; the splits are {splits}", fix))
        if len({file.whole for file in matches}) > 1:
            files = listing((self._relative(file.path) for file in matches), at_most=8)
            fix = "name the config and the split; if that is not enough, pass the path of one file"
            raise AuthorError(self._problem(f"{request} matches {len(matches)} files: {files}", fix))
        if len(matches) < matches[0].n_shards:
            shards = f"{len(matches)} of {matches[0].n_shards} shards of {self._relative(matches[0].path)!r}"
            raise DatasetMissing(self._problem(f"{request} has {shards}", "add the missing shards"))
        return tuple(file.path for file in matches)

    def configs(self, split: str | None = None) -> tuple[str, ...]:
        """Return the configs as named in the paths; empty if there is only one, without a name.

        `split` is a split name of the user's own that is not one of the usual words.
        """
        files = self._files(split)
        if not files[0].split and any(file.config is None for file in files):
            # Besides a file with the dataset's own name, other files without a split are auxiliary.
            return ()
        named = {file.config for file in files if file.config}
        generic = {file.written for file in files if file.written in _ONLY_CONFIGS} if named else set()
        return tuple(sorted(named.union(filter(None, generic))))

    def splits(self, config: str | None = None) -> tuple[str, ...]:
        """Return the splits of a config, or of the whole dataset, as named in the paths."""
        return tuple(sorted({file.split for file in self._filter_config(config, None) if file.split}))

    def _filter_config(self, config: str | None, split: str | None) -> list[DataFile]:
        config = None if config is None else compose_name(config)
        files = self._files(split)
        unnamed = [file for file in files if file.config is None]
        if config is None or config == self.stands_for:
            return unnamed or files
        dataset = self.path.name
        matches = [file for file in files if file.config == config]
        matches = matches or [
            file for file in files if file.config and _strip_config(file.config, dataset) == config
        ]
        if not matches and config in (*_PLAIN_CONFIGS, dataset, self._last_name):
            matches = unnamed
        if matches:
            return matches
        present = self.configs(split)
        has = f"the configs are {listing(present)}" if present else "the dataset has no configs"
        fix = "use an existing config" if present else "omit the config"
        what = f"{self.name!r} has no config {config!r}{suggest_name(config, present)}; {has}"
        raise DatasetMissing(self._problem(what, fix))

    def _files(self, split: str | None) -> list[DataFile]:
        words = (*_SPLIT_WORDS, re.escape(split)) if split else _SPLIT_WORDS
        layouts = [_pattern(layout, self.path.name, words) for layout in LAYOUTS]
        files = [file for path in self._paths if (file := self._data_file(path, layouts))]
        if not files:
            what = f"{str(self.path)!r} contains no data file in a known layout"
            fix = f"arrange the files in one of these layouts: {', '.join(LAYOUTS)}"
            raise DatasetMissing(self._problem(what, fix))
        # Besides files that name their split, one without a split is auxiliary (categories, outputs).
        return [file for file in files if file.split] or files

    @cached_property
    def _paths(self) -> list[Path]:
        return sorted(path for path in self.path.rglob("*") if path.is_file())

    def _data_file(self, path: Path, layouts: list[re.Pattern[str]]) -> DataFile | None:
        relative = path.relative_to(self.path)
        suffix = find_suffix(path.name)
        if suffix is None or _BESIDES.fullmatch(path.name) or any(part[0] == "." for part in relative.parts):
            return None
        stem = _CACHED.sub("", compose_name(relative.as_posix()[: -len(suffix)]))
        shard = SHARD.search(stem)
        whole = stem[: shard.start()] if shard else stem
        match = next((match for layout in layouts if (match := layout.fullmatch(whole))), None)
        if match is None:
            return None
        config, split = (match.groupdict().get(part) for part in ("config", "split"))
        # The dataset's own name adds nothing: `gsm8k/gsm8k-train.arrow`, `humaneval/HumanEval.jsonl`.
        is_plain = config in _PLAIN_CONFIGS or (config or "").lower() in (
            self.path.name.lower(),
            self._last_name.lower(),
        )
        # Two cached tables that differ only by version are not shards of each other.
        place = f"{relative.parent}/{whole}{suffix}"
        n_shards = int(shard[1]) if shard else 1
        return DataFile(path, None if is_plain else config, config, split, place, n_shards)

    @property
    def _last_name(self) -> str:
        return self.name.rpartition("/")[2]

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self.path.parent))

    def _problem(self, what: str, fix: str) -> Problem:
        return Problem("SOURCE-010", what, fix, Origin(str(self.path)))


def _filter_split(files: list[DataFile], split: str | None) -> list[DataFile]:
    if split is None:
        return files
    for names in (split,), _find_synonyms(split, SPELLINGS), _find_synonyms(split, SYNONYMS):
        if matches := [file for file in files if file.split in names]:
            return matches
    # Unsplit data is usually evaluation data. It is never used as train, which examples come from.
    return [file for file in files if file.split is None and split == "test"]


def _find_synonyms(split: str, groups: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return next((group for group in groups if split in group), ())


def _strip_config(config: str, dataset: str) -> str:
    """Return a config name without the dataset's name before it and a version after it."""
    return re.sub(r"-v[\d.]+$", "", config.removeprefix(f"{dataset}-"))


def _pattern(layout: str, dataset: str, split_words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a layout as a regular expression."""
    parts = {
        "dataset": re.escape(dataset),
        "config": r"(?P<config>[^/]+)",
        "split": rf"(?P<split>{'|'.join(split_words)})",
        "sep": "[-_.]",
        "word": "[^/]+",
    }
    for part in ("config", "split"):
        first, name, rest = layout.partition(f"{{{part}}}")
        layout = first + name + rest.replace(name, f"(?P={part})") if name else layout
    return re.compile(re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], layout))
