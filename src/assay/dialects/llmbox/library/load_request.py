"""What an author requests to load, after applying the rules of `load_args` and `load_kwargs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, listing

_ABOUT_DOWNLOADS = frozenset(
    {
        "cache_dir",
        "download_config",
        "download_mode",
        "keep_in_memory",
        "num_proc",
        "token",
        "trust_remote_code",
        "use_auth_token",
        "verification_mode",
    }
)
"""Arguments of `load_dataset` about how data is fetched, not which data; they have no effect here."""


class LoadRequest(NamedTuple):
    """One dataset and one of its configs, under the author's names."""

    dataset_name: str
    hub_name: str
    config: str | None
    dataset_path: str | None

    @classmethod
    def of(
        cls,
        dataset_name: str,
        subset_name: str | None,
        load_args: Sequence[str] | None,
        dataset_path: str | None,
    ) -> LoadRequest:
        """Return the request; raise an AuthorError if `load_args` has none of its three forms."""
        if isinstance(load_args, str):
            fix = f"write a tuple, with its comma: ({load_args!r},)"
            raise AuthorError(
                Problem("DATA-003", f"load_args is the text {load_args!r}, expected a tuple", fix)
            )
        if load_args is None and dataset_path is None:
            what = f"load_args of {dataset_name!r} is None, so there is nothing to load"
            fix = "set load_args, or set self.evaluation_data in load_raw_dataset"
            raise AuthorError(Problem("DATA-003", what, fix))
        named = tuple(load_args or ())
        if len(named) > 2 or not all(isinstance(name, str) for name in named):
            what = f"load_args of {dataset_name!r} is {load_args!r}"
            raise AuthorError(Problem("DATA-003", what, "write (name,), (name, subset) or ()"))
        config = subset_name or (named[1] if len(named) == 2 else None)
        path = None if dataset_path is None else str(Path(dataset_path).expanduser())
        return cls(dataset_name, named[0] if named else dataset_name, config, path)

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which a folder of datasets can contain it: the hub's, then the dataset's own."""
        return tuple(dict.fromkeys((self.hub_name, self.dataset_name)))

    @property
    def configs(self) -> tuple[str | None, ...]:
        """The config under each of its possible names; the requested one is last."""
        if "wmt" in self.dataset_name and self.config and self.config.startswith("en-"):
            # The hub names a language pair with English last, in both directions.
            return (f"{self.config.removeprefix('en-')}-en", self.config)
        if self.config is None and self.dataset_path is not None:
            # In a repository of many tasks, use the one with the dataset's own name.
            return (self.dataset_name, None)
        return (self.config,)

    def __str__(self) -> str:
        return repr(f"{self.dataset_name}:{self.config}" if self.config else self.dataset_name)


def require_known(load_kwargs: Mapping[str, Any], dataset_name: str) -> None:
    """Raise an AuthorError for arguments of `load_dataset` that select data in an unsupported way."""
    others = sorted(set(load_kwargs) - _ABOUT_DOWNLOADS)
    if others:
        what = f"load_kwargs of {dataset_name!r} has {listing(others)}, which would select different data"
        fix = "omit it, and pass the path of the right files as dataset_path"
        raise AuthorError(Problem("DATA-003", what, fix))
