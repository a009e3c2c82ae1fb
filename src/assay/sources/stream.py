"""A file's bytes, unpacked. Turns what a disk or a packer can do wrong into errors a person can mend."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from typing import cast

from assay.sources.encoding import looks_like_utf16, not_utf8
from assay.sources.faults import damaged, no_rows, unreadable


@contextmanager
def reading(path: str) -> Iterator[BufferedReader]:
    """Open a text file's bytes for reading: unpacked, the byte order mark left out.

    An error that bad bytes cause anywhere in the block is raised as an AuthorError.
    """
    try:
        try:
            with open_bytes(path) as stream:
                head = stream.peek(4096)
                if not head:
                    raise no_rows(path, "zero bytes")
                if looks_like_utf16(head):
                    # Without a mark, English UTF-16 is valid UTF-8 full of NULs: no decoder would complain.
                    raise UnicodeDecodeError("utf-8", head[:4], 0, 1, "UTF-16")
                if head.startswith(codecs.BOM_UTF8):
                    stream.read(len(codecs.BOM_UTF8))
                yield stream
        except UnicodeDecodeError:
            raise not_utf8(path, partial(open_bytes, path)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        # Outermost: a damaged gzip file yields bytes that are not UTF-8 before it is found out.
        raise damaged(path, "gzip", error) from None


def open_bytes(path: str) -> BufferedReader:
    """Open a file for reading, through gzip when its name ends in .gz."""
    try:
        if path.lower().endswith(".gz"):
            # A GzipFile reads, peeks and iterates as a BufferedReader does; typeshed does not know.
            return cast(BufferedReader, gzip.open(path, "rb"))
        return open(path, "rb")
    except OSError as error:
        raise unreadable(path, error) from None
