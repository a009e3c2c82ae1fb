from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import pytest

from assay.backends.python.function_identity import UnknownIdentity, fingerprint_function


def define(source: str, **variables: Any) -> Callable[[str], str]:
    """Return the function `f` that a program defines."""
    namespace: dict[str, Any] = {"__name__": "__main__", **variables}
    exec(compile(source, "program.py", "exec"), namespace)  # noqa: S102
    function: Callable[[str], str] = namespace["f"]
    return function


def fingerprint(source: str, **variables: Any) -> str:
    return fingerprint_function(define(source, **variables))


PLAIN = "def f(prompt):\n    return prompt + 'a'\n"


def test_equal_code_has_equal_fingerprints() -> None:
    assert fingerprint(PLAIN) == fingerprint(PLAIN)
    assert fingerprint(PLAIN) == fingerprint("# moved down\n" + PLAIN)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PLAIN, PLAIN.replace("'a'", "'b'")),
        ("def f(prompt, n=1): return prompt * n", "def f(prompt, n=2): return prompt * n"),
        ("S = 'a'\ndef f(prompt): return S", "S = 'b'\ndef f(prompt): return S"),
        ("def g(x): return x\ndef f(p): return g(p)", "def g(x): return x * 2\ndef f(p): return g(p)"),
        ("S = {'k': [1]}\ndef f(p): return S['k']", "S = {'k': [2]}\ndef f(p): return S['k']"),
        (
            "class M:\n    n = 1\n    def __call__(self, p): return p * self.n\nf = M()",
            "class M:\n    n = 2\n    def __call__(self, p): return p * self.n\nf = M()",
        ),
        (
            "def f(p):\n    return [x for x in p if x != 'a']",
            "def f(p):\n    return [x for x in p if x != 'b']",
        ),
        (
            "def make(n): return lambda p: p * n\nf = make(1)",
            "def make(n): return lambda p: p * n\nf = make(2)",
        ),
    ],
)
def test_whatever_the_code_uses_changes_the_fingerprint(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(other)


def test_attributes_of_objects_count() -> None:
    source = "class M:\n    def __init__(self, n): self.n = n\n    def __call__(self, p): return p\nf = M(N)"
    assert fingerprint(source, N=1) == fingerprint(source, N=1)
    assert fingerprint(source, N=1) != fingerprint(source, N=2)


def test_recursive_functions_and_libraries_are_described() -> None:
    source = "import re\ndef f(p): return f(re.sub('a', '', p)) if p else ''"
    assert fingerprint(source) == fingerprint(source)
    assert fingerprint_function(functools.partial(re.sub, "a", "b")) == fingerprint_function(
        functools.partial(re.sub, "a", "b")
    )


def test_a_value_whose_state_is_not_known_has_no_fingerprint() -> None:
    with pytest.raises(UnknownIdentity, match="its variable 'client' depends on a object") as first:
        fingerprint("def f(prompt): return client", client=object())
    with pytest.raises(UnknownIdentity) as second:
        fingerprint("def f(prompt): return client", client=object())
    assert first.value.unique != second.value.unique
