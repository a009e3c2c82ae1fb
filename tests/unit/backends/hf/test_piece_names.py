from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.hf.piece_names import format_piece_name


@cache
def byte_names() -> list[str]:
    """Return the letter of every byte, as the library of tokenizers spells them."""
    tokenizers = pytest.importorskip("tokenizers")
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    names: dict[int, str] = {}
    for code in [*range(0x80), *range(0x80, 0x800, 0x20), *range(0x80, 0xC0), *range(0x800, 0x110000, 0x400)]:
        if 0xD800 <= code < 0xE000:
            continue
        spelled = "".join(piece for piece, _ in level.pre_tokenize_str(chr(code)))
        names.update(zip(chr(code).encode(), spelled, strict=True))
    return [names.get(byte, "") for byte in range(0x100)]


def read_back(shown: str) -> bytes:
    """Return the bytes of a displayed token."""
    parts = re.split(r"(<0x[0-9A-F]{2}>)", shown)
    return b"".join(
        bytes([int(part[3:5], 16)]) if part.startswith("<0x") else part.encode() for part in parts
    )


@given(st.text(min_size=1, max_size=8), st.data())
def test_any_part_of_a_text_is_shown_with_all_its_bytes(text: str, data: st.DataObject) -> None:
    names = byte_names()
    spelled = text.replace("<0x", "").encode()
    start = data.draw(st.integers(0, len(spelled)))
    part = spelled[start : data.draw(st.integers(start, len(spelled)))]
    assert read_back(format_piece_name("".join(names[byte] for byte in part))) == part


def test_pieces() -> None:
    names = byte_names()
    assert format_piece_name("".join(names[byte] for byte in " 좋아".encode())) == " 좋아"
    assert format_piece_name("".join(names[byte] for byte in " 좋아".encode()[:-1])) == " 좋<0xEC><0x95>"
    # Vocabularies that fall back on bytes already write them so; other names are left.
    assert format_piece_name("<0xEC>") == "<0xEC>"
    assert format_piece_name("▁안") == "▁안"
