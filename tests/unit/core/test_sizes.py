from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.sizes import format_size, read_size


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("0", 0),
        ("512", 512),
        ("12B", 12),
        ("256MB", 256_000_000),
        (" 1.5 GiB ", 3 << 29),
        ("64kb", 64_000),
        ("2tib", 2 << 40),
    ],
)
def test_sizes_that_people_write(text: str, n_bytes: int) -> None:
    assert read_size(text) == n_bytes


@pytest.mark.parametrize("text", ["", "lots", "-1", "1,5MB", "256 M", "1e9", "MB", "0x10", "٣MB", "1MB2"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="such as 256MB"):
        read_size(text)


@given(st.integers(0, 10**15 - 1))
def test_a_shown_size_is_read_again_within_its_three_digits(n_bytes: int) -> None:
    assert abs(read_size(format_size(n_bytes)) - n_bytes) <= n_bytes * 0.005


def test_sizes_that_people_read() -> None:
    assert [format_size(n) for n in (0, 999, 1000, 999_950, 256_000_000, 1_500_000_000)] == [
        "0 B",
        "999 B",
        "1 kB",
        "1 MB",
        "256 MB",
        "1.5 GB",
    ]
