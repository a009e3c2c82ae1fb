"""The names of vocabulary pieces that hold part of a character, made readable.

Vocabularies over bytes name each byte by a letter that can be printed: `ìĿ` is the first two of the three
bytes of 음. Vocabularies that fall back on bytes write them as `<0xEC>`; that form is shown for both.
"""

from __future__ import annotations

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(0x100) if byte not in _PRINTABLE]
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {chr(0x100 + n): byte for n, byte in enumerate(_OTHERS)}
"""The letter of each byte, as GPT-2's vocabulary has it and those after it."""


def format_piece_name(name: str) -> str:
    """Return whole characters as they are and the bytes of parted ones as `<0xEC>`."""
    if name.startswith("<0x") or not all(letter in _BYTES for letter in name):
        return name
    spelled = bytes(_BYTES[letter] for letter in name).decode("utf-8", errors="surrogateescape")
    return "".join(
        f"<0x{ord(char) - 0xDC00:02X}>" if "\udc80" <= char <= "\udcff" else char for char in spelled
    )
