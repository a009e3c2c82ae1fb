"""Characters beyond ASCII that steer a terminal or reorder a line; models and files may write them."""

from __future__ import annotations

STEERING_CODES = frozenset(
    [
        *range(0x7F, 0xA0),  # DEL and C1, among which CSI begins a sequence as ESC [ does.
        *(0x061C, 0x200E, 0x200F),  # Marks of direction.
        *(0x2028, 0x2029),  # Separators of lines and paragraphs.
        *range(0x202A, 0x202F),  # Embeddings and overrides of direction.
        *range(0x2066, 0x206A),  # Isolates of direction.
    ]
)
