from __future__ import annotations

import re

from benchmarks.known_benchmarks import PAGE, read_record, render_page


def test_the_page_is_what_the_script_recorded() -> None:
    record = read_record()
    page = PAGE.read_text(encoding="utf-8")
    assert page == render_page(record), "run `python -m benchmarks.known_benchmarks --page`"
    named = re.findall(r"^\| [^|]+ \| `([^`]+)`", page.partition("<!-- known -->")[2], re.MULTILINE)
    assert sorted(named) == sorted(one.name for one in record.outcomes)


def test_every_outcome_runs_or_says_why_it_stops() -> None:
    for one in read_record().outcomes:
        assert bool(one.stops) != bool(one.rows), one.name
        assert one.stops or one.method, one.name
