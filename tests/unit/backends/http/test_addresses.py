"""Addresses as people write them."""

from __future__ import annotations

import pytest

from assay.backends.http.addresses import check_address
from assay.core.errors import AssayError


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "http://[::1]:8000/v1",
        "https://a-b.example/some/%20/v1",
        "http://localhost/v1",
    ],
)
def test_what_can_be_called_is_left_as_it_is(url: str) -> None:
    assert check_address(url, "an example") == url


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:99999/v1", "not the address"),
        ("http:///v1", "not the address"),
        ("http://a..b/v1", "not the address"),
        (f"http://{'a' * 70}.example/v1", "not the address"),
        ("http://127.0.0.1/a b/v1", "a space"),
        ("http://127.0.0.1/v1\nX-Other: 1", "a space"),
        ("http://127.0.0.1/모델/v1", "non-ASCII"),
        ("http://모델.example/v1", "non-ASCII"),
    ],
)
def test_what_cannot_be_called_is_rejected_before_anything_is_sent(url: str, message: str) -> None:
    with pytest.raises(AssayError) as caught:
        check_address(url, "an example")
    (problem,) = caught.value.problems
    assert problem.code == "MODEL-001"
    assert message in problem.what
