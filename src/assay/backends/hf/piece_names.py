"""Readable names of vocabulary pieces that contain parts of characters.

Byte-level vocabularies represent each byte by a printable letter: `ìĿ` is the first two of the three bytes
of 음. Vocabularies with byte fallback write them as `<0xEC>`; Assay shows this form for both.
"""

from __future__ import annotations

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(0x100) if byte not in _PRINTABLE]
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {chr(0x100 + n): byte for n, byte in enumerate(_OTHERS)}
"""The byte of each letter, as in GPT-2's vocabulary and its successors."""


def format_piece_name(name: str) -> str:
    """Return complete characters unchanged and the bytes of incomplete ones as `<0xEC>`."""
    if name.startswith("<0x") or not all(letter in _BYTES for letter in name):
        return name
    spelled = bytes(_BYTES[letter] for letter in name).decode("utf-8", errors="surrogateescape")
    return "".join(
        f"<0x{ord(char) - 0xDC00:02X}>" if "\udc80" <= char <= "\udcff" else char for char in spelled
    )
