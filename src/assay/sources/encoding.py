"""Text encodings: find the first byte that is not UTF-8 and guess the encoding of the file.

An error shows the guess with the text it would give, so that the user can judge it. Assay never reads a
file with a guessed encoding. A byte order mark is reliable, and such a file is read accordingly.
"""

from __future__ import annotations

import codecs
import itertools
import re
import shlex
from collections.abc import Callable
from io import BufferedReader
from typing import NamedTuple

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin

_SAMPLE_LINES = 200
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HANGUL = re.compile("[가-힣]")
_KANA = re.compile("[ぁ-ヿ]")
_HAN = re.compile("[一-鿿]")
_COMMON_HAN = {"gb18030": (0xB0, 0xD7), "big5": (0xA4, 0xC6)}
"""First bytes of the common characters, which Chinese encodings put first."""


class _Fault(NamedTuple):
    offset: int
    """Offset of the bad byte in the unpacked file."""
    line: int
    byte: int
    head: bytes
    """The beginning of the file."""
    sample: list[bytes]
    """The line with the bad byte and some lines after it."""
    n_good_before: int
    """Number of earlier lines with valid UTF-8 beyond ASCII."""


def looks_like_utf16(head: bytes) -> bool:
    """Return whether the text has so many NUL bytes that it must be UTF-16."""
    return head.count(0) * 4 > len(head)


def find_byte_order_mark(head: bytes) -> str | None:
    """Return the encoding of the byte order mark; None for UTF-8 or without a mark."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


def build_encoding_error(path: str, encoding: str, error: UnicodeDecodeError, offset: int) -> AuthorError:
    """Return the error for a file that is not in the encoding the user gave."""
    byte, at = error.object[error.start], max(0, offset + error.start)
    what = f"byte {byte:#04x} near offset {at:,} is not {encoding}: {error.reason}"
    fix = "pass the right encoding with --encoding, or omit it for UTF-8"
    return AuthorError(Problem("SOURCE-004", what, fix, Origin(path)))


def require_encoding(path: str, encoding: str) -> None:
    """Raise SOURCE-004 unless Python knows a text encoding of this name."""
    try:
        "".encode(encoding)
    except (LookupError, UnicodeError):
        what = f"unknown text encoding {encoding!r}"
        fix = "use a name such as utf-8, utf-16, cp1252, gb18030, cp932 (Shift-JIS) or cp949 (EUC-KR)"
        raise AuthorError(Problem("SOURCE-004", what, fix, Origin(path))) from None


def build_utf8_error(path: str, packer: str | None, opened: Callable[[], BufferedReader]) -> AuthorError:
    """Return the error for a file that is not UTF-8: where, the likely encoding, how to convert it."""
    fault = _find_fault(opened)
    encoding = _guess_encoding(fault)
    what = f"byte {fault.byte:#04x} at offset {fault.offset:,} is not UTF-8"
    if encoding is None:
        what += "; the text around it is, so only this character is damaged"
        fix = f"retype the character on line {fault.line}"
    else:
        what += f"; decoded as {encoding}, the line reads {_preview(fault, encoding)!r}"
        fix = f"if that is right, add --encoding {encoding}"
        if packer != "zip":
            fix += f", or convert the file: `{_conversion(path, packer, encoding)}`"
    return AuthorError(Problem("SOURCE-004", what, fix, Origin(path, line=fault.line)))


def _conversion(path: str, packer: str | None, encoding: str) -> str:
    """Return the command that converts a file to UTF-8."""
    name = shlex.quote(path)
    read, written = f"iconv -f {encoding} -t utf-8 {name}", name + ".utf8"
    if packer is not None:
        read = f"{packer} -dc {name} | iconv -f {encoding} -t utf-8 | {packer}"
    return f"{read} > {written} && mv {written} {name}"


def _find_fault(opened: Callable[[], BufferedReader]) -> _Fault:
    """Read the lines again to find the first that does not decode: a stream decoder loses the position."""
    offset = n_good = 0
    with opened() as stream:
        head = stream.peek(4096)[:4096]
        for number, line in enumerate(stream, 1):
            try:
                n_good += not line.isascii() and bool(line.decode())
            except UnicodeDecodeError as error:
                sample = [line, *itertools.islice(stream, _SAMPLE_LINES)]
                at = offset + error.start
                return _Fault(at, number, line[error.start], head, sample, n_good)
            offset += len(line)
    # Every line decodes, so the NUL bytes of UTF-16 raised the error.
    at = head.index(0)
    return _Fault(at, 1, 0, head, head.splitlines(keepends=True), 0)


def _guess_encoding(fault: _Fault) -> str | None:
    """Return the likeliest encoding, or None if the file is UTF-8 with one damaged character."""
    if 0 in fault.head:
        # Only UTF-16 text contains NUL bytes: half of every ASCII character, including line ends.
        return "utf-16le" if fault.head[1::2].count(0) > fault.head[::2].count(0) else "utf-16be"
    n_bad = sum(not _can_decode(line, "utf-8") for line in fault.sample)
    n_good = fault.n_good_before + sum(not line.isascii() for line in fault.sample) - n_bad
    if n_good > 4 * n_bad:
        return None
    return guess_legacy(b"".join(line for line in fault.sample if not line.isascii()))


def guess_legacy(sample: bytes) -> str:
    """Return the likeliest encoding of text that is neither UTF-8 nor UTF-16."""
    runs = re.findall(rb"[\x80-\xff]+", sample)
    n_single = sum(len(run) == 1 for run in runs)
    # Accented letters appear between ASCII letters; kana and Hangul are pairs of high bytes.
    if n_single * 2 < len(runs):
        for encoding, script, share in (("cp932", _KANA, 0.3), ("cp949", _HANGUL, 0.8)):
            if _can_decode(sample, encoding):
                wide = [char for char in sample.decode(encoding) if char > "\x7f"]
                if len(script.findall("".join(wide))) >= share * len(wide):
                    return encoding
    chinese = max(_COMMON_HAN, key=lambda encoding: _share_of_common_han(sample, encoding))
    if _share_of_common_han(sample, chinese) >= 0.5:
        return chinese
    return "cp1252" if _can_decode(sample, "cp1252") else "latin1"


def _share_of_common_han(sample: bytes, encoding: str) -> float:
    """Return the share of non-ASCII characters that are common Chinese ones when decoded this way."""
    if not _can_decode(sample, encoding):
        return 0.0
    first, last = _COMMON_HAN[encoding]
    wide = [char for char in sample.decode(encoding) if char > "\x7f"]
    n = sum(_HAN.match(char) is not None and first <= char.encode(encoding)[0] <= last for char in wide)
    return n / len(wide) if wide else 0.0


def _can_decode(text: bytes, encoding: str) -> bool:
    try:
        text.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _preview(fault: _Fault, encoding: str) -> str:
    # UTF-16 cannot be split at a newline byte, so show the beginning of the file instead.
    preview = fault.head if encoding.startswith("utf-") else fault.sample[0]
    return preview.decode(encoding, errors="ignore").lstrip("\ufeff\r\n").partition("\n")[0].strip("\r")[:60]
