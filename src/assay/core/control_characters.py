"""Non-ASCII characters that control a terminal or reorder a line. Models and files can contain them."""

from __future__ import annotations

STEERING_CODES = frozenset(
    [
        *range(0x7F, 0xA0),  # DEL and C1, among which CSI begins a sequence as ESC [ does.
        *(0x061C, 0x200E, 0x200F),  # Direction marks.
        *(0x2028, 0x2029),  # Line and paragraph separators.
        *range(0x202A, 0x202F),  # Direction embeddings and overrides.
        *range(0x2066, 0x206A),  # Direction isolates.
    ]
)
