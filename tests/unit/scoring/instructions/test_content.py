from __future__ import annotations

import pytest

from assay.scoring.instructions.kinds import Placeholders, Postscript


@pytest.mark.parametrize(
    ("response", "count"),
    [("none", 0), ("[name] [address]", 2), ("[[name]]", 1), ("[]", 1), ("[two\nlines]", 0), ("]a[", 0)],
)
def test_placeholders(response: str, count: int) -> None:
    assert Placeholders(count).is_followed(response)
    assert not Placeholders(count + 1).is_followed(response)


@pytest.mark.parametrize(
    ("marker", "response", "is_followed"),
    [
        ("P.S.", "Bye.\n\nP.S. One more", True),
        ("P.S.", "p. s. one more", True),
        ("P.S.", "PS one more", False),
        ("P.S.", "P.S one more", False),
        ("P.S.", "P.P.S. one more", True),
        ("P.P.S", "P.P.S one more", True),
        ("P.P.S", "p. p. s. one more", True),
        ("P.P.S", "P.S. one more", False),
        ("N.B.", "n.b. this", True),
        ("N.B.", "nxbx this", False),
    ],
)
def test_postscript(marker: str, response: str, is_followed: bool) -> None:
    assert Postscript(marker).is_followed(response) is is_followed
