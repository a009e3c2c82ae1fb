"""Which model a worker has opened, and how that differs from the run's.

Every worker opens the model by itself, where it is: under the same path or name there may lie other files.
What decides answers has to be the same; what decides their last digits is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

import msgspec

from assay.backends.package_versions import read_package_versions
from assay.core.errors import BackendError, Problem
from assay.core.model import ModelIdentity
from assay.core.ports import Backend

_SHOWN = 5
"""Differences, or nodes, that are named one by one."""
_DIGITS = 12
"""Of a hash that is shown."""


class OpenedModel(msgspec.Struct, frozen=True):
    """A model as it was found on a machine."""

    identity: ModelIdentity
    files: dict[str, str] = {}
    """The hash of each of its files, where they decide who it is."""
    versions: dict[str, str] = {}
    """Of the packages that it is computed by."""


@runtime_checkable
class _FileModel(Protocol):
    """A model that is computed here, from files."""

    @property
    def computed_by(self) -> tuple[str, ...]:
        """Return the packages that compute it."""

    def file_hashes(self) -> Mapping[str, str]:
        """Return the hash of each file that decides who it is."""


def describe_opened_model(model: Backend) -> OpenedModel:
    """Return which model this is, here. May hash weight files; does not load them."""
    if not isinstance(model, _FileModel):
        return OpenedModel(model.identity(), versions=read_package_versions(()))
    return OpenedModel(model.identity(), dict(model.file_hashes()), read_package_versions(model.computed_by))


def find_model_difference(ours: OpenedModel, theirs: OpenedModel, node: str) -> BackendError | None:
    """Return the error of a worker on a node that has another model than the run; None: it has the same."""
    if ours.identity == theirs.identity:
        return None
    differing = list(_differences(ours, theirs))
    shown = "; ".join(differing[:_SHOWN])
    more = f"; and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
    what = f"a worker on {node} finds another model than the run under {ours.identity.name}: {shown}{more}"
    same = "have the same files on every node, or give the model by a path on storage that all nodes share"
    if not ours.files and (commit := ours.identity.weights.partition("@")[2]):
        same = f"name the revision, so that every node has the same: --model-arg revision={commit}"
    fix = f"{same}; what was answered is kept, and the same command goes on"
    return BackendError(Problem("WORKER-009", what, fix))


def _differences(ours: OpenedModel, theirs: OpenedModel) -> Iterator[str]:
    """Yield what differs, each as half a sentence that says what was found and what was expected."""
    found, expected = _fields(theirs.identity), _fields(ours.identity)
    if ours.files and theirs.files and ours.files != theirs.files:
        yield from _compare_fields(theirs.files, ours.files)
        # One hash for all of them says no more.
        del found["weights"], expected["weights"]
    yield from _compare_fields(found, expected)


def _fields(identity: ModelIdentity) -> dict[str, str]:
    fields = {
        "backend": identity.backend,
        "name": identity.name,
        "weights": identity.weights,
        "dtype": identity.dtype,
        "the chat template": identity.template,
    }
    return {**fields, **{name: str(value) for name, value in identity.args.items()}}


def _compare_fields(found: Mapping[str, str], expected: Mapping[str, str]) -> Iterator[str]:
    for name in (*expected, *(name for name in found if name not in expected)):
        if found.get(name) != expected.get(name):
            yield f"{name} is {_format_value(found.get(name))}, in the run {_format_value(expected.get(name))}"


def _format_value(value: str | None) -> str:
    if not value:
        return "not there"
    is_hash = len(value) > _DIGITS and all(char in "0123456789abcdef" for char in value)
    return value[:_DIGITS] if is_hash else value


class VersionDifferences:
    """Which versions workers have that the run has not."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], dict[str, None]] = {}

    def take(self, node: str, found: Mapping[str, str]) -> None:
        """Take what there is on a node."""
        for package, version in found.items():
            self._nodes.setdefault((package, version), {})[node] = None

    def notes(self, ours: Mapping[str, str]) -> list[str]:
        """Return what a person should know of it."""
        return [
            f"{package} is {version} on {_format_nodes(list(nodes))} and {ours.get(package, 'not there')} where the "
            "run was started: numbers may differ in their last digits"
            for (package, version), nodes in self._nodes.items()
            if ours.get(package) != version
        ]


def _format_nodes(nodes: list[str]) -> str:
    shown = ", ".join(nodes[:_SHOWN])
    return f"{shown} and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else shown
