"""AISBench's `config` of a synthetic dataset: its keys and their valid values.

    {"Type": "string", "RequestCount": 100, "StringConfig": {
        "Input": {"Method": "uniform", "Params": {"MinValue": 1, "MaxValue": 200}},
        "Output": {"Method": "zipf", "Params": {"Alpha": 1.5, "MinValue": 1, "MaxValue": 100}}}}

docs/guides/serving-benchmark-data.md lists the differences from the original's items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from assay.bench.lengths import (
    HIGHEST_ALPHA,
    MAX_LENGTH,
    ConstantLength,
    Gaussian,
    LengthDistribution,
    LengthShares,
    Uniform,
    Zipf,
    parse_share,
)
from assay.bench.synthetic import SyntheticSpec
from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin

_FLOAT32 = 3.4028235e38
_TYPES = ("string", "tokenid")
_TOP_KEYS = ("Type", "RequestCount", "TrustRemoteCode", "StringConfig", "TokenIdConfig")


def is_synthetic_config(value: object) -> bool:
    """Return whether a value is meant as the config of a synthetic dataset, valid or not."""
    return isinstance(value, Mapping) and "Type" in value and "RequestCount" in value


def read_synthetic_config(
    config: Mapping[str, Any], where: Origin, *, seed: int = 0, is_chat: bool = True
) -> SyntheticSpec:
    """Return the specification of a config; raise AuthorError with the key that is wrong."""
    top = _Table(config, "", where)
    top.require(("Type", "RequestCount"), optional=_TOP_KEYS[2:])
    kind = str(top.values["Type"]).lower()
    if kind not in _TYPES:
        top.wrong("Type", f"expected one of {listing(_TYPES)}")
    n = top.read_integer("RequestCount", 1)
    if not isinstance(top.values.get("TrustRemoteCode", False), bool):
        top.wrong("TrustRemoteCode", "expected true or false")
    if kind == "string":
        table = top.table("StringConfig")
        table.require(("Input", "Output"))
        prompts, answers = (_lengths(table.table(key)) for key in ("Input", "Output"))
        return SyntheticSpec(n, prompts, answers, seed=seed, is_chat=is_chat)
    table = top.table("TokenIdConfig")
    table.require(("RequestSize",), optional=("PrefixLen", "VocabSize"))
    size = table.read_integer("RequestSize", 1)
    return SyntheticSpec(
        n,
        ConstantLength(size),
        kind="token_ids",
        shared_prefix=table.read_integer("PrefixLen", 0, size) if "PrefixLen" in table.values else 0,
        vocab_size=table.read_integer("VocabSize", 1) if table.values.get("VocabSize") is not None else None,
        seed=seed,
        is_chat=is_chat,
    )


def _uniform(params: _Table) -> LengthDistribution:
    return Uniform(*params.bounds())


def _gaussian(params: _Table) -> LengthDistribution:
    return Gaussian(params.number("Mean"), params.number("Var", least=0), *params.bounds())


def _zipf(params: _Table) -> LengthDistribution:
    alpha = params.number("Alpha")
    if not 1 < alpha <= HIGHEST_ALPHA:
        params.wrong("Alpha", f"expected a number above 1 and at most {HIGHEST_ALPHA:g}")
    return Zipf(alpha, *params.bounds())


def _percentage(params: _Table) -> LengthDistribution:
    key, given = "PercentageDistribute", params.values["PercentageDistribute"]
    if not isinstance(given, list | tuple) or not all(map(_is_pair, given)):
        params.wrong(key, "expected pairs of a length and its share, such as [[128, 0.3], [512, 0.7]]")
    try:
        return LengthShares(tuple((_check_integer(length), parse_share(share)) for length, share in given))
    except ValueError as error:
        params.wrong(key, str(error))


class _Method(NamedTuple):
    keys: tuple[str, ...]
    make: Callable[[_Table], LengthDistribution]


_METHODS = {
    "uniform": _Method(("MinValue", "MaxValue"), _uniform),
    "gaussian": _Method(("Mean", "Var", "MinValue", "MaxValue"), _gaussian),
    "zipf": _Method(("Alpha", "MinValue", "MaxValue"), _zipf),
    # The original supports it only for custom datasets.
    "percentage": _Method(("PercentageDistribute",), _percentage),
}


def _lengths(table: _Table) -> LengthDistribution:
    table.require(("Method", "Params"))
    name = table.values["Method"]
    if not isinstance(name, str) or name not in _METHODS:
        table.wrong("Method", f"expected one of {listing(_METHODS)}{suggest_name(str(name), _METHODS)}")
    params = table.table("Params")
    params.require(_METHODS[name].keys)
    return _METHODS[name].make(params)


class _Table:
    """A dict of the config with its key path."""

    def __init__(self, values: Mapping[str, Any], name: str, where: Origin) -> None:
        self.values = values
        self._name = name
        self._where = where

    def require(self, required: tuple[str, ...], *, optional: tuple[str, ...] = ()) -> None:
        """Raise AuthorError unless it has exactly these keys."""
        known = required + optional
        for key in required:
            if key not in self.values:
                self._raise(f"key {self._path(key)!r} is missing", f"it has the keys {listing(known)}")
        for key in self.values:
            if key not in known:
                what = f"unknown key {self._path(str(key))!r}{suggest_name(str(key), known)}"
                self._raise(what, f"use {listing(known)}")

    def table(self, key: str) -> _Table:
        """Return the dict under a key."""
        if key not in self.values:
            self._raise(f"key {self._path(key)!r} is missing", "add it")
        value = self.values[key]
        if not isinstance(value, Mapping):
            self.wrong(key, "expected a dict")
        return _Table(value, self._path(key), self._where)

    def read_integer(self, key: str, least: int, most: int = MAX_LENGTH) -> int:
        """Return the integer under a key."""
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.wrong(key, f"expected an integer from {least} to {most}")
        return value

    def number(self, key: str, least: float = -_FLOAT32) -> float:
        """Return the number under a key, within the range of float32."""
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= _FLOAT32:
            self.wrong(key, "expected a number" + (f" of at least {least:g}" if least > -_FLOAT32 else ""))
        return float(value)

    def bounds(self) -> tuple[int, int]:
        """Return MinValue and MaxValue."""
        low, high = self.read_integer("MinValue", 1), self.read_integer("MaxValue", 1)
        if low > high:
            self.wrong("MinValue", f"expected at most MaxValue, which is {high}")
        return low, high

    def wrong(self, key: str, expected: str) -> NoReturn:
        """Raise AuthorError for a value."""
        self._raise(
            f"key {self._path(key)!r}: found {self.values[key]!r:.80}, {expected}", "correct the value"
        )

    def _path(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key

    def _raise(self, what: str, fix: str) -> NoReturn:
        raise AuthorError(Problem("BENCH-022", what, fix, self._where))


def _is_pair(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def _check_integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"the length is {value!r}, expected an integer")
    return value
