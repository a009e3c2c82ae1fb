"""Checks that a worker has opened the same model as the run.

Every worker opens the model on its own machine, where the same path or name may contain other files. What
decides answers must be the same; what decides only their last digits is reported.
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
"""Differences or nodes listed individually."""
_DIGITS = 12
"""Displayed digits of a hash."""


class OpenedModel(msgspec.Struct, frozen=True):
    """A model as found on a machine."""

    identity: ModelIdentity
    files: dict[str, str] = {}
    """The hash of each of its files, if they identify it."""
    versions: dict[str, str] = {}
    """Versions of the packages that compute it."""


@runtime_checkable
class _FileModel(Protocol):
    """A model that is computed locally, from files."""

    @property
    def computed_by(self) -> tuple[str, ...]:
        """Return the packages that compute it."""

    def file_hashes(self) -> Mapping[str, str]:
        """Return the hash of each file that identifies it."""


def describe_opened_model(model: Backend) -> OpenedModel:
    """Return a description of this machine's model. May hash weight files; does not load them."""
    if not isinstance(model, _FileModel):
        return OpenedModel(model.identity(), versions=read_package_versions(()))
    return OpenedModel(model.identity(), dict(model.file_hashes()), read_package_versions(model.computed_by))


def find_model_difference(ours: OpenedModel, theirs: OpenedModel, node: str) -> BackendError | None:
    """Return the error of a worker whose model differs from the run's; None if it is the same."""
    if ours.identity == theirs.identity:
        return None
    differing = list(_differences(ours, theirs))
    listed = "; ".join(differing[:_SHOWN])
    more = f"; and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
    what = f"a worker on {node} has another model under {ours.identity.name} than the run: {listed}{more}"
    same = "put the same files on every node, or give a path on storage that all nodes share"
    if not ours.files and (commit := ours.identity.weights.partition("@")[2]):
        same = f"set the revision, so that every node has the same: --model-arg revision={commit}"
    fix = f"{same}; finished requests are kept, and the same command resumes"
    return BackendError(Problem("WORKER-009", what, fix))


def _differences(ours: OpenedModel, theirs: OpenedModel) -> Iterator[str]:
    """Yield each difference, with the value found and the value expected."""
    found, expected = _fields(theirs.identity), _fields(ours.identity)
    if ours.files and theirs.files and ours.files != theirs.files:
        yield from _compare_fields(theirs.files, ours.files)
        # The combined hash adds no information.
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


def _compare_fields(fields: Mapping[str, str], expected: Mapping[str, str]) -> Iterator[str]:
    for name in (*expected, *(name for name in fields if name not in expected)):
        if fields.get(name) != expected.get(name):
            here, there = _format_value(expected.get(name)), _format_value(fields.get(name))
            yield f"{name} is {there}, in the run {here}"


def _format_value(value: str | None) -> str:
    if not value:
        return "missing"
    is_hash = len(value) > _DIGITS and all(char in "0123456789abcdef" for char in value)
    return value[:_DIGITS] if is_hash else value


class VersionDifferences:
    """Package versions of workers that differ from the run's."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], dict[str, None]] = {}

    def take(self, node: str, fields: Mapping[str, str]) -> None:
        """Record the versions on a node."""
        for package, version in fields.items():
            self._nodes.setdefault((package, version), {})[node] = None

    def notes(self, ours: Mapping[str, str]) -> list[str]:
        """Return a note for each difference."""
        return [
            f"{package} is {version} on {_format_nodes(list(nodes))}, but {ours.get(package, 'missing')} "
            "where the run was started: numbers may differ in their last digits"
            for (package, version), nodes in self._nodes.items()
            if ours.get(package) != version
        ]


def _format_nodes(nodes: list[str]) -> str:
    listed = ", ".join(nodes[:_SHOWN])
    return f"{listed} and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else listed
