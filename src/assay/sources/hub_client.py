"""Dataset repositories on the Hugging Face hub: lookup, download, cached commits, and errors.

Respects the client's own settings: HF_HOME, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE. Independent of configs,
splits and rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.core.sizes import format_size
from assay.hub.client import endpoint, hub_client, quiet_client
from assay.hub.downloads import download_files
from assay.hub.errors import HubTrouble, TroubleKind, hub_calls
from assay.hub.repository import Repository, RepositoryFile
from assay.sources.dataset_folder import DatasetMissing
from assay.sources.hub_name import SCHEME, HubName

INSTALL = "pip install 'assay-eval[datasets]'"


class DatasetCommit(NamedTuple):
    """A dataset's repository at one commit."""

    name: str
    """The current name on the hub."""
    commit: str
    files: tuple[str, ...] = ()
    """Its paths; empty if the hub was not asked."""

    @property
    def repository(self) -> Repository:
        """The repository, for requests to the hub."""
        return Repository(self.name, self.commit, "dataset")


class HubUnavailable(DatasetMissing):
    """The hub is not available: no network, offline mode, or too many requests."""


def find_repository(name: HubName) -> DatasetCommit:
    """Look up a dataset; raise if it does not exist or the hub is not available."""
    with translating_hub_errors(name):
        listed = Repository(name.repository, name.revision, "dataset").list_files(with_sizes=False)
        if listed.is_gated:
            Repository(listed.name, kind="dataset").check_access()
        return DatasetCommit(listed.name, listed.commit, tuple(listed.files))


def find_cached_repository(name: HubName) -> DatasetCommit | None:
    """Return the commit a name and revision meant at their last lookup on this machine, by any tool."""
    if name.is_pinned:
        assert name.revision is not None
        return DatasetCommit(name.repository, name.revision)
    repository = Repository(name.repository, name.revision, "dataset")
    own, clients = _own_ref(name), repository.folder / "refs" / repository.revision
    newest = max(
        (ref for ref in (own, clients) if ref.is_file()), key=lambda ref: ref.stat().st_mtime, default=None
    )
    if newest is None:
        return None
    words = newest.read_text(encoding="utf-8").split()
    return DatasetCommit(words[0] if newest == own else name.repository, words[-1])


def remember_commit(name: HubName, repository: DatasetCommit) -> None:
    """Store the commit that a name and revision mean now, for offline runs."""
    if not name.is_pinned:
        ref = _own_ref(name)
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(f"{repository.name} {repository.commit}\n", encoding="utf-8")


def _own_ref(name: HubName) -> Path:
    return _own_folder(name.repository) / "refs" / (name.revision or "main")


def find_cached_snapshot(repository: DatasetCommit, n_files: int | None) -> Path | None:
    """Return the folder of a commit's files in the client's cache; None if some are known to be missing.

    `n_files`: the number of files of the commit, if known.
    """
    with quiet_client() as client:
        try:
            folder = client.snapshot_download(
                repository.name, repo_type="dataset", revision=repository.commit, local_files_only=True
            )
        except (OSError, ValueError):
            return None
    n_cached = sum(path.is_file() for path in Path(folder).rglob("*"))
    return Path(folder) if n_files is None or n_cached >= n_files else None


def build_tables_path(repository: DatasetCommit) -> Path:
    """Return the folder for tables made from a repository's files, next to the client's own files."""
    return _own_folder(repository.name) / repository.commit


def _own_folder(name: str) -> Path:
    return Path(hub_client().constants.HF_ASSETS_CACHE) / "assay" / name.replace("/", "--")


def fetch_files(name: HubName, at: DatasetCommit, files: Sequence[RepositoryFile], *, what: str = "") -> None:
    """Download the missing files into the client's cache. `what`: a description, if not the rows."""
    with translating_hub_errors(name):
        download_files(at.repository, at.commit, files, what=what)


def find_files(name: HubName, at: DatasetCommit, paths: Sequence[str]) -> list[RepositoryFile]:
    """Return files with their sizes on the hub."""
    with translating_hub_errors(name):
        return at.repository.find_files(paths)


def count_parquet_rows(name: HubName, at: DatasetCommit, paths: Sequence[str]) -> int:
    """Return the number of rows of parquet files on the hub; reads only their footers."""
    import pyarrow.parquet

    n_rows = 0
    with translating_hub_errors(name), quiet_client() as client:
        files = client.HfFileSystem(endpoint=client.constants.ENDPOINT)
        for path in paths:
            with files.open(f"datasets/{at.name}@{at.commit}/{path}") as stream:
                n_rows += pyarrow.parquet.read_metadata(stream).num_rows
    return n_rows


def find_nearest_names(repository: str) -> list[str]:
    """Return names on the hub that are similar to a missing one, the most similar first."""
    return Repository(repository, kind="dataset").find_similar_names()


def build_package_error(error: ModuleNotFoundError) -> HubUnavailable:
    """Return the error for a missing optional package."""
    what = f"reading a dataset from the hub needs the package {error.name!r}, which is not installed"
    fix = INSTALL if error.name in ("datasets", "huggingface_hub", "pyarrow") else f"pip install {error.name}"
    return HubUnavailable(Problem("HUB-001", what, fix))


@contextmanager
def translating_hub_errors(name: HubName) -> Iterator[None]:
    """Turn errors of the client and the hub into errors that say how to fix them."""
    try:
        with _needing_packages(), hub_calls():
            yield
    except HubTrouble as trouble:
        raise _build_hub_error(trouble, name) from trouble


@contextmanager
def _needing_packages() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise build_package_error(error) from error


def _build_hub_error(trouble: HubTrouble, name: HubName) -> AuthorError:
    kind, detail = trouble.kind, trouble.detail
    again = "run the same command again"
    if kind is TroubleKind.NO_REPOSITORY:
        return DatasetMissing(_build_repository_problem(name))
    if kind is TroubleKind.NO_REVISION:
        return DatasetMissing(_build_revision_problem(name))
    if kind in (TroubleKind.NO_ACCESS, TroubleKind.DISABLED, TroubleKind.TOKEN):
        return DatasetMissing(_build_access_problem(trouble, name))
    if kind is TroubleKind.OFFLINE:
        return build_offline_error(name)
    if kind is TroubleKind.DISK_FULL:
        return AuthorError(build_disk_full_problem(name))
    if kind is TroubleKind.RATE_LIMIT:
        after = f"; it accepts requests again in {trouble.wait_s} s" if trouble.wait_s else ""
        what = f"the hub rejects further requests for now (status 429: too many requests){after}"
        fix = f"wait and {again}, which continues; a token (HF_TOKEN) has a higher limit"
        return HubUnavailable(_problem("HUB-007", what, fix, name))
    if kind in (TroubleKind.INTERRUPTED, TroubleKind.DAMAGED):
        fix = f"{again}: it continues with the files that are not complete yet"
        return HubUnavailable(_problem("HUB-011", f"the download was interrupted: {detail}", fix, name))
    if kind is TroubleKind.UNREACHABLE:
        what = f"the hub at {endpoint()} cannot be reached: {detail}"
        fix = (
            "check the network (HTTPS_PROXY, HF_ENDPOINT); or load the dataset on a machine with a network, "
            "copy its HF_HOME here and run with --offline; or pass the path of a file, or --data-root"
        )
        return HubUnavailable(_problem("HUB-008", what, fix, name))
    what = f"the hub at {endpoint()} failed: {detail}"
    return HubUnavailable(_problem("HUB-008", what, f"{again} later, which continues", name))


def _build_access_problem(trouble: HubTrouble, name: HubName) -> Problem:
    page = f"{endpoint()}/datasets/{name.repository}"
    if trouble.kind is TroubleKind.DISABLED:
        what, fix = f"the hub has disabled the dataset ({trouble.detail})", f"see {page}, or use another copy"
    elif trouble.kind is TroubleKind.NO_ACCESS and trouble.status == 403:
        what = "the dataset is gated, and the account of your token has no access to it"
        fix = f"ask for access on {page}; after it is granted, run the same command again"
    elif trouble.kind is TroubleKind.NO_ACCESS:
        what = "the dataset is gated: the hub gives it only to accounts that were granted access"
        fix = f"ask for access on {page}, then set HF_TOKEN to a token of that account (or `hf auth login`)"
    elif trouble.status == 403:
        what = f"the hub denies access ({trouble.detail})"
        fix = "set HF_TOKEN to a token that may read this dataset"
    else:
        what = f"the hub rejects the token ({trouble.detail})"
        fix = "set HF_TOKEN to a valid token, or unset it and run `hf auth logout` for public datasets"
    return _problem("HUB-005", what, fix, name)


def _build_revision_problem(name: HubName) -> Problem:
    known = Repository(name.repository, kind="dataset").revisions()
    what = f"the dataset has no revision {name.revision!r}{suggest_name(name.revision or '', known)}"
    has = f": {listing(known, at_most=8)}" if known else ""
    return _problem("HUB-012", what, f"use a branch, a tag or a commit of it{has}", name)


def _build_repository_problem(name: HubName) -> Problem:
    near = find_nearest_names(name.repository)
    what = f"there is no dataset {name.repository!r} on the hub {endpoint()}, or it is private"
    fix = "check the name; for a private dataset set HF_TOKEN"
    if near:
        fix = f"did you mean {', '.join(near)}? For a private dataset set HF_TOKEN"
    return _problem("HUB-002", what, fix, name)


def build_disk_full_problem(name: HubName, needed: int | None = None) -> Problem:
    """Return the problem of a cache without enough disk space."""
    place = hub_client().constants.HF_HOME
    what = f"the disk that holds the hub's cache is full ({place})"
    if needed is not None:
        what = f"the dataset needs {format_size(needed)} of disk space in the hub's cache ({place}), "
        what += "which has less"
    fix = "free disk space, or set HF_HOME to a folder on a larger disk; the same command then continues"
    return _problem("HUB-010", what, fix, name)


def build_offline_error(name: HubName, missing: str = "") -> HubUnavailable:
    """Return the error for a dataset that is not cached, while the network must not be used."""
    place = hub_client().constants.HF_HOME
    what = (
        "the network must not be used (--offline, HF_HUB_OFFLINE), and the hub's cache "
        f"{place} does not contain {missing or 'the dataset'}"
    )
    fix = "run once without --offline and HF_HUB_OFFLINE; or set HF_HOME to a cache that has it"
    return HubUnavailable(_problem("HUB-009", what, fix, name))


def _problem(code: str, what: str, fix: str, name: HubName) -> Problem:
    return Problem(code, what, fix, Origin(f"{SCHEME}{name.repository}"))
