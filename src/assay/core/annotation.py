"""Tags and notes that people attach to runs and samples."""

from __future__ import annotations

import msgspec

from assay.core.errors import Problem, UsageError

MOST_TAGS = 20
MOST_TAG_CHARS = 60
MOST_NOTE_CHARS = 10_000


class Annotation(msgspec.Struct, frozen=True):
    """The tags and the note of a run, or of one of its samples."""

    run: str
    """The name of the run's folder."""
    task: str = ""
    sample: str = ""
    """The sample's id; empty with an empty `task`: the run itself."""
    tags: tuple[str, ...] = ()
    note: str = ""
    author: str = ""
    """The name of the token that wrote it; empty: a user of this machine."""
    changed_at: float = 0.0
    """Seconds since 1970."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to store."""
        return not self.tags and not self.note


def clean_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Return tags without surrounding spaces and repetitions; reject what could not be searched for."""
    found = tuple(dict.fromkeys(filter(None, (" ".join(tag.split()) for tag in tags))))
    too_long = next((tag for tag in found if len(tag) > MOST_TAG_CHARS), None)
    if too_long is not None:
        raise _limit_error(f"the tag {too_long[:20]!r}... has {len(too_long)} characters", MOST_TAG_CHARS)
    bad = next((tag for tag in found if "," in tag or '"' in tag or not tag.isprintable()), None)
    if bad is not None:
        raise UsageError(
            Problem(
                "STORE-025",
                f"the tag {bad!r} contains a comma, a quote or a control character",
                "use letters, digits, spaces and dashes",
            )
        )
    if len(found) > MOST_TAGS:
        raise _limit_error(f"there are {len(found)} tags", MOST_TAGS)
    return found


def clean_note(note: str) -> str:
    """Return a note without surrounding white space; reject a very long one."""
    note = note.strip()
    if "\0" in note:
        raise UsageError(Problem("STORE-025", "the note contains a NUL character", "remove it"))
    if len(note) > MOST_NOTE_CHARS:
        raise _limit_error(f"the note has {len(note):,} characters", MOST_NOTE_CHARS)
    return note


def _limit_error(what: str, most: int) -> UsageError:
    return UsageError(Problem("STORE-025", what, f"use at most {most:,}"))
