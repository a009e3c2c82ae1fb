"""Errors about models on the hub, each with its fix.

MODEL-011 no such model · 012 no such revision · 013 no access · 014 hub not reachable or not working ·
015 rate limit · 016 offline and not cached · 017 disk full · 018 no loadable model ·
019 the model needs its own code. `docs/reference/errors.md` explains them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from assay.core.download import format_folder
from assay.core.errors import BackendError, Problem, listing
from assay.hub.client import cache_folder, endpoint, has_token
from assay.hub.errors import HubTrouble, TroubleKind
from assay.hub.repository import Repository, list_cached_names

_MOST_NAMES = 8


def nothing_to_load_error(what: str, fix: str) -> BackendError:
    """Return MODEL-018: the repository contains no model that can be loaded."""
    return BackendError(Problem("MODEL-018", what, fix))


def remote_code_error(what: str, fix: str) -> BackendError:
    """Return MODEL-019: the model needs code from its repository."""
    return BackendError(Problem("MODEL-019", what, fix))


@contextmanager
def explaining_hub_errors(repository: Repository, backend: str) -> Iterator[None]:
    """Turn HubTrouble into the error that the user sees."""
    try:
        yield
    except HubTrouble as trouble:
        raise BackendError(_problem(trouble, repository, backend)) from trouble


def _problem(trouble: HubTrouble, repository: Repository, backend: str) -> Problem:
    kind, name = trouble.kind, repository.name
    if kind is TroubleKind.NO_REPOSITORY:
        return _repository_problem(repository, backend)
    if kind is TroubleKind.NO_REVISION:
        known = repository.revisions()
        has = f"; it has {listing(known)}" if known else ""
        fix = f"use a branch, a tag or a whole commit, such as {backend}:{name}@{(known or ['main'])[0]}"
        return Problem("MODEL-012", f"the model {name} has no revision {repository.revision!r}{has}", fix)
    if kind in (TroubleKind.NO_ACCESS, TroubleKind.DISABLED, TroubleKind.TOKEN):
        return _access_problem(trouble, name)
    if kind is TroubleKind.RATE_LIMIT:
        wait = f"wait {trouble.wait_s} seconds" if trouble.wait_s else "wait some minutes"
        more = "" if has_token() else "; a token in HF_TOKEN raises the limit"
        what = f"the hub {endpoint()} is limiting requests, including those for {name}: {trouble.detail}"
        return Problem("MODEL-015", what, f"{wait} and run the same command: it resumes the download{more}")
    if kind is TroubleKind.OFFLINE:
        return _offline_problem(trouble, repository, backend)
    if kind is TroubleKind.DISK_FULL:
        fix = "free some space, or set HF_HOME to a folder on another disk; the same command resumes"
        return Problem("MODEL-017", trouble.detail, fix)
    return _connection_problem(trouble, name)


def _repository_problem(repository: Repository, backend: str) -> Problem:
    name, similar = repository.name, repository.find_similar_names()
    named = f"; its search finds {listing(similar)}" if similar else ""
    what = f"no folder {name!r} here, and the hub {endpoint()} has no public model with that name{named}"
    first = f"write {backend}:{similar[0]}" if similar else "check the name"
    if has_token():
        private = "for a private model, use a token in HF_TOKEN that has access to it"
    else:
        private = "for a private model, put a token that has access to it into HF_TOKEN"
    return Problem("MODEL-011", what, f"{first}, or give the path of a local folder; {private}")


def _access_problem(trouble: HubTrouble, name: str) -> Problem:
    if trouble.kind is TroubleKind.TOKEN:
        what = f"the hub {endpoint()} rejects the request for {name}: {trouble.detail}"
        return Problem("MODEL-013", what, "correct or unset HF_TOKEN; `hf auth whoami` shows its account")
    what = f"access to the model {name} is restricted: {trouble.detail}"
    ask = f"request access at {endpoint()}/{name} in a browser"
    if has_token():
        return Problem("MODEL-013", what, f"{ask}, with the account of the token in use")
    return Problem("MODEL-013", what, f"{ask}, then put a token of that account into HF_TOKEN")


def _offline_problem(trouble: HubTrouble, repository: Repository, backend: str) -> Problem:
    cached = [name for name in list_cached_names() if name != repository.name]
    has = f"the cache has {listing(cached, at_most=_MOST_NAMES)}" if cached else "it has no other model"
    what = f"{trouble.detail}, and Assay does not contact the hub while offline; {has}"
    fix = f"run once without --offline and HF_HUB_OFFLINE, or run `hf download {repository.name}` before"
    return Problem("MODEL-016", what, f"{fix}, or give the path of a local folder: {backend}:FOLDER")


def _connection_problem(trouble: HubTrouble, name: str) -> Problem:
    resume = "run the same command again: it resumes the download"
    if trouble.kind is TroubleKind.DAMAGED:
        return Problem("MODEL-014", f"the download of {name} failed: {trouble.detail}", resume)
    is_set = "HF_ENDPOINT" in os.environ
    check = "check HF_ENDPOINT, the network and the proxy" if is_set else "check the network and the proxy"
    is_silent = trouble.kind in (TroubleKind.UNREACHABLE, TroubleKind.INTERRUPTED)
    verb = "cannot be reached" if is_silent else "does not answer correctly"
    what = f"the hub {endpoint()} {verb}, so {name} cannot be downloaded: {trouble.detail}"
    cache = format_folder(cache_folder())
    fix = f"{check}, then {resume}; without a network, only models in {cache} and local folders can be used"
    return Problem("MODEL-014", what, fix)
