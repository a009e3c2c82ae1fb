from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.instructions.kinds import NoComma


@given(st.text(alphabet="a,;，、", max_size=12))
def test_only_the_comma_counts(response: str) -> None:
    assert NoComma().is_followed(response) is (response.count(",") == 0)
