"""The requests that an author's `construct_requests` creates, named after what a model is asked for.

`rf.loglikelihood(context, continuation)` can be unpacked: `ll, is_greedy = rf.loglikelihood(...)`. A whole
one gives different results in the two systems that share these names: the number in LEAP, and the pair in
lm-evaluation-harness (lm-eval). The factory that created it determines which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

LOGLIKELIHOOD = "loglikelihood"
ROLLING = "loglikelihood_rolling"
GREEDY_UNTIL = "greedy_until"
REQUEST_RETURN_LENGTHS: dict[str, int | None] = {LOGLIKELIHOOD: 2, GREEDY_UNTIL: None, ROLLING: None}
"""The number of values a request can be unpacked into; None: a single value."""


class Request:
    """One request to the model, or one of the values of its result."""

    def __init__(
        self, request_type: str, args: tuple[Any, ...], index: int | None = None, *, is_classic: bool = False
    ) -> None:
        if request_type not in REQUEST_RETURN_LENGTHS:
            known = ", ".join(REQUEST_RETURN_LENGTHS)
            raise NotImplementedError(f"unknown request type {request_type!r}; known types are {known}")
        self.request_type = request_type
        self.args = args
        self.index = index
        self.is_classic = is_classic
        """Whether it is lm-eval's: a whole loglikelihood then gives the number and the greedy flag."""

    def __iter__(self) -> Iterator[Request]:
        return iter([self[index] for index in range(self._n_values())])

    def __getitem__(self, index: int) -> Request:
        """Return one value, counted from the end if the index is negative."""
        part = range(self._n_values())[index]
        return Request(self.request_type, self.args, part, is_classic=self.is_classic)

    def _n_values(self) -> int:
        length = REQUEST_RETURN_LENGTHS[self.request_type]
        if length is None:
            raise IndexError(f"{self.request_type} has one value and cannot be unpacked")
        return length

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Request):
            return NotImplemented
        return (self.request_type, self.args, self.index) == (other.request_type, other.args, other.index)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Req_{self.request_type}{self.args}[{self.index}]\n"


class RequestFactory:
    """Creates requests by type: `rf.greedy_until(context, {"until": ["."]})`."""

    def __init__(self, *, is_classic: bool = False) -> None:
        self._is_classic = is_classic

    def __getattr__(self, request_type: str) -> Callable[..., Request]:
        if request_type.startswith("__"):
            raise AttributeError(request_type)

        def make(*args: Any) -> Request:
            return Request(request_type, args, is_classic=self._is_classic)

        return make
