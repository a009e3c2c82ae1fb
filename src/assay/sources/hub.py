"""Hub names to local files: a folder of datasets is asked before any hub is.

The folder may hold `hub.json`, which maps hub names to folders under it. What a file is (which config,
which split) is told by its path, through one declared list of layouts. A split is never replaced by
another one.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core.errors import AuthorError, Problem, listing, nearest
from assay.core.origin import Origin
from assay.sources.files import known_suffix

LAYOUTS = (
    "{split}/{config}{sep}{split}",  # mmlu: dev/anatomy_dev
    "{split}/{config}",  # test/anatomy
    "{config}/{split}",  # ARC-Easy/validation
    "{config}/{word}{sep}{split}{sep}{word}",  # KorNLI/xnli.dev.ko
    "{config}/{word}{sep}{split}",  # KorSTS/sts-dev, klue-nli-v1.1/klue-nli-v1.1_dev
    "{dataset}/{config}",  # bbh: bbh/web_of_lies
    "{split}",  # train
    "{config}{sep}{split}",  # anatomy_dev
    "{config}",  # web_of_lies
)
"""Paths of data files inside a dataset's folder, without their suffix. The first that fits is taken, so
those that say most stand first. A config or split that appears twice must be the same both times."""

SPELLINGS = (("validation", "valid", "val"), ("train", "training"), ("test",))
"""Names that are one word for one split."""
SYNONYMS = (("validation", "valid", "val", "dev"),)
"""Names that people use for one split, taken when no spelling of the asked one is there."""

_SPLIT_WORDS = ("auxiliary_train", "devtest", "dev", *(name for names in SPELLINGS for name in names))
_PLAIN_CONFIGS = ("default", "main", "plain_text", "data")
"""What hubs and writers call the only config of a dataset."""
_BESIDES = re.compile(r".*\.meta\.json|dataset_infos?\.json|dataset_dict\.json|state\.json|hub\.json")
"""Names of files that describe data and hold none."""
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


class DataFile(NamedTuple):
    """One data file of a dataset, and what its path says about it."""

    path: Path
    config: str | None
    split: str | None


class Hub:
    """A folder of datasets, found by hub name or by folder name."""

    def __init__(self, data_root: Path) -> None:
        self.root = data_root

    def resolve(self, name: str, *, config: str | None = None, split: str | None = None) -> Path:
        """Return the one data file of a dataset, config and split; raise when it is none or several.

        Either may be left out where only one exists, the config also where some files belong to none.
        `val`, `valid`, `validation` and `dev` stand for each other when the asked one is absent. A
        dataset whose files name no split counts as `test`.
        """
        found = _of_split(self._of_config(name, config), split)
        if len(found) == 1:
            return found[0].path
        asked = f"{name!r}, config {config!r}, split {split!r}"
        if found:
            files = listing((str(file.path.relative_to(self.root)) for file in found), at_most=8)
            fix = "name the config and the split; where that is not enough, give the path of one file"
            raise self._error(f"{asked} fits {len(found)} files: {files}", fix)
        present = listing(self.splits(name, config)) or "none: its files name no split"
        fix = "ask for a split that is there, or add its file"
        raise self._error(f"{asked} is not there; the splits are {present}", fix)

    def configs(self, name: str) -> tuple[str, ...]:
        """Return the configs of a dataset as its paths name them; empty when it has only one, unnamed."""
        return tuple(sorted({file.config for file in self._files(name) if file.config}))

    def splits(self, name: str, config: str | None = None) -> tuple[str, ...]:
        """Return the splits of a config, or of the whole dataset, as its paths name them."""
        return tuple(sorted({file.split for file in self._of_config(name, config) if file.split}))

    def _of_config(self, name: str, config: str | None) -> list[DataFile]:
        files = self._files(name)
        unnamed = [file for file in files if file.config is None]
        if config is None:
            return unnamed or files
        dataset = self._folder(name).name
        matches = [file for file in files if file.config == config]
        matches = matches or [file for file in files if file.config and _bare(file.config, dataset) == config]
        if not matches and config in (*_PLAIN_CONFIGS, dataset, name.rpartition("/")[2]):
            matches = unnamed
        if matches:
            return matches
        present = self.configs(name)
        has = f"the configs are {listing(present)}" if present else "the dataset has no configs"
        fix = "ask for a config that is there" if present else "leave the config out"
        raise self._error(f"{name!r} has no config {config!r}{nearest(config, present)}; {has}", fix)

    def _files(self, name: str) -> list[DataFile]:
        folder = self._folder(name)
        layouts = [_pattern(layout, folder.name) for layout in LAYOUTS]
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = [file for path in paths if (file := _data_file(path, folder, layouts))]
        if not files:
            what = f"{str(folder)!r} holds no data file in a layout that is known"
            raise self._error(what, f"lay the files out as one of {', '.join(LAYOUTS)}")
        # Beside files that name their split, one that names none is a companion (categories, outputs).
        return [file for file in files if file.split] or files

    def _folder(self, name: str) -> Path:
        listed = self._names.get(name)
        folder = self.root / (listed if listed is not None else name)
        # A name comes from a dataset's author: it must not lead out of the root.
        if not name or ".." in Path(name).parts or Path(name).is_absolute() or not folder.is_dir():
            if listed is not None:
                what = f"hub.json maps {name!r} to {listed!r}, and {str(folder)!r} is not a folder"
                raise self._error(what, "mend hub.json or add the folder")
            known = sorted({*self._names, *self._folders()})
            searched = f"no dataset {name!r}{nearest(name, known)} in {str(self.root)!r}"
            has = f"it holds {listing(known)}" if known else "there is no hub.json and no folder in it"
            fix = "name a dataset that is there, add its folder and a line in hub.json, or mend --data-root"
            raise self._error(f"{searched}; {has}", fix)
        return folder

    @cached_property
    def _names(self) -> dict[str, str]:
        try:
            return msgspec.json.decode((self.root / "hub.json").read_bytes(), type=dict[str, str])
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._error(f"hub.json is broken: {error}", 'write {"hub/name": "folder", ...}') from None

    def _folders(self) -> list[str]:
        return [path.name for path in self.root.iterdir() if path.is_dir()] if self.root.is_dir() else []

    def _error(self, what: str, fix: str) -> AuthorError:
        return AuthorError(Problem("SOURCE-010", what, fix, Origin(str(self.root))))


def _of_split(files: list[DataFile], split: str | None) -> list[DataFile]:
    if split is None:
        return files
    for names in (split,), _same(split, SPELLINGS), _same(split, SYNONYMS):
        if found := [file for file in files if file.split in names]:
            return found
    # Evaluation data is what people keep unsplit; never handed out as train, where shots come from.
    return [file for file in files if file.split is None and split == "test"]


def _same(split: str, groups: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return next((group for group in groups if split in group), ())


def _bare(config: str, dataset: str) -> str:
    """Return a config's name without the dataset's name before it and a version after it."""
    return re.sub(r"-v[\d.]+$", "", config.removeprefix(f"{dataset}-"))


def _data_file(path: Path, folder: Path, layouts: list[re.Pattern[str]]) -> DataFile | None:
    relative = path.relative_to(folder)
    suffix = known_suffix(path.name)
    if suffix is None or _BESIDES.fullmatch(path.name) or any(part[0] == "." for part in relative.parts):
        return None
    stem = _SHARD.sub("", relative.as_posix()[: -len(suffix)])
    match = next((match for layout in layouts if (match := layout.fullmatch(stem))), None)
    if match is None:
        return None
    config, split = (match.groupdict().get(part) for part in ("config", "split"))
    # The dataset's own name says nothing more: `gsm8k/gsm8k-train.arrow`, `humaneval/HumanEval.jsonl`.
    is_plain = config in _PLAIN_CONFIGS or (config or "").lower() == folder.name.lower()
    return DataFile(path, None if is_plain else config, split)


def _pattern(layout: str, dataset: str) -> re.Pattern[str]:
    """Return a layout as a regular expression."""
    parts = {
        "dataset": re.escape(dataset),
        "config": r"(?P<config>[^/]+)",
        "split": rf"(?P<split>{'|'.join(_SPLIT_WORDS)})",
        "sep": "[-_.]",
        "word": "[^/]+",
    }
    for part in ("config", "split"):
        first, name, rest = layout.partition(f"{{{part}}}")
        layout = first + name + rest.replace(name, f"(?P={part})") if name else layout
    return re.compile(re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], layout))
