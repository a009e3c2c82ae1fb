from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import msgspec
import pytest

from assay.bench.load_result import LoadResult
from assay.bench.measures import Measures
from assay.bench.page import N_LOADS, render_page
from assay.bench.page_data import LoadView, PageData, PageHead, SearchView, SweepView
from assay.bench.page_records import PageRecorder, build_load_view
from assay.bench.page_summary import build_search_view, build_sweep_view
from assay.bench.records import CallRecord
from assay.bench.sweep import LoadTrial, SweepResult
from assay.core.response import Failure
from assay.core.timing import CallTimes
from fakes.simulated_load import closed_load, page_head

HOSTILE = (
    "</script><script>alert(1)</script><svg onload=alert(2)>\"'><img src=//evil.example/x> \u202e txt.exe"
)


class Page(HTMLParser):
    """A page as a browser would take it apart; an element that is not closed is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("style", "script"):
            self.inside[self._open[-1]] = self.inside.get(self._open[-1], "") + data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    def count(self, name: str) -> int:
        return sum(tag == name for tag, _ in self.tags)

    def stops(self) -> Iterator[list[list[object]]]:
        for _, attributes in self.tags:
            if stops := attributes.get("data-stops"):
                yield json.loads(stops)


def one_load(records: list[CallRecord], head: PageHead | None = None) -> PageData:
    return PageData(head or page_head(), (build_load_view(records, level=4),))


def swept(*, is_search: bool) -> tuple[SweepResult, tuple[LoadView, ...]]:
    views, trials = [], []
    for level in (1, 2, 4, 8):
        recorder, measures = PageRecorder(), Measures()
        for record in closed_load(level, 20 * level):
            recorder.add(record)
            measures.add(record)
        views.append(recorder.view(f"concurrency {level}", measures))
        broken = ("p99 ttft 600 ms > 500 ms",) if level == 8 and is_search else ()
        driven = LoadResult(1.0, 20 * level, 20 * level, 20 * level, 0)
        trials.append(LoadTrial(level, driven, measures.summary(), broken))
    limits = ("p99 ttft < 500 ms",) if is_search else ()
    return SweepResult("concurrency", tuple(trials), 4.0, "all levels were tried", limits), tuple(views)


def several() -> PageData:
    (ladder, views), (search, _) = swept(is_search=False), swept(is_search=True)
    return PageData(page_head(), views, sweep=build_sweep_view(ladder), search=build_search_view(search))


def scheduled(n: int) -> list[CallRecord]:
    return [
        CallRecord(str(at), at, CallTimes(at * 0.1 + 0.001, at * 0.1 + 1, (at * 0.1 + 0.5,)), due=at * 0.1)
        for at in range(n)
    ]


PAGES: dict[str, Callable[[], PageData]] = {
    "closed": lambda: one_load(list(closed_load(4, 100, failing=0.1))),
    "open": lambda: one_load(scheduled(50)),
    "several": several,
    "all failed": lambda: one_load(list(closed_load(4, 20, failing=1.1))),
    "one call": lambda: one_load(list(closed_load(1, 1))),
    "one token": lambda: one_load(list(closed_load(1, 3, n_tokens=1))),
    "no stream": lambda: one_load(list(closed_load(4, 20, streams=False))),
    "no time": lambda: one_load([CallRecord("i", 0, CallTimes(5.0, 5.0))]),
    "no calls": lambda: one_load([]),
    "nothing": lambda: PageData(page_head()),
    "no rungs": lambda: PageData(
        page_head(), sweep=SweepView("rate", ()), search=SearchView("rate", (), (), None)
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole_and_alone(name: str) -> None:
    text = render_page(PAGES[name]())
    page = Page(text)
    assert [page.count(tag) for tag in ("html", "head", "body", "main", "h1", "script", "style")] == [1] * 7
    # Nothing is loaded, nothing leaves, and no markup runs anything.
    assert {tag for tag, _ in page.tags}.isdisjoint(
        {"link", "img", "iframe", "object", "base", "form", "a", "use"}
    )
    for _, attributes in page.tags:
        assert set(attributes).isdisjoint({"src", "href", "style", "srcset", "action", "xlink:href"})
        assert not any(attribute.startswith("on") for attribute in attributes)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(|innerHTML|eval\(", text)
    # What Python could not work out must not be drawn.
    assert not re.search(r"\bnan\b|\binf\b|None", text)


@pytest.mark.parametrize("name", PAGES)
def test_what_is_pointed_at_lies_in_its_plot(name: str) -> None:
    for stops in Page(render_page(PAGES[name]())).stops():
        for x, y, words in stops:
            assert 0 <= x <= 1000  # type: ignore[operator]
            assert -1 <= y <= 1000  # type: ignore[operator]
            assert isinstance(words, str)
            assert words


def test_the_policy_lets_this_script_and_this_style_run_and_nothing_else() -> None:
    page = Page(render_page(PAGES["closed"]()))
    policy = next(
        attributes["content"] or ""
        for _, attributes in page.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.inside[kind].encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert (rules["require-trusted-types-for"], rules["trusted-types"]) == ("'script'", "'none'")
    known = {"default-src", "base-uri", "form-action", "script-src", "style-src"}
    assert set(rules) == {*known, "require-trusted-types-for", "trusted-types"}


def test_hostile_names_and_messages_are_shown_as_text() -> None:
    head = page_head(HOSTILE, address=HOSTILE, dataset=HOSTILE, load=HOSTILE, date=HOSTILE)
    head = msgspec.structs.replace(
        head, notes=(HOSTILE,), settings=((HOSTILE, HOSTILE),), versions=((HOSTILE, HOSTILE),)
    )
    failure = Failure(HOSTILE, HOSTILE)
    records = [
        CallRecord(HOSTILE, number, CallTimes(1.0, 2.0 + number), failure=failure) for number in range(3)
    ]
    harmless = Page(
        render_page(one_load([msgspec.structs.replace(one, failure=Failure("k", "m")) for one in records]))
    )
    page = Page(render_page(one_load(records, head)))
    shown = HOSTILE.replace("\u202e", "⟨U+202E⟩")
    # Model and title, address, dataset, load, date, note, setting and its name, kind, message, versions.
    assert page.text.count(shown) == 13
    assert page.count("script") == 1
    assert page.count("svg") == harmless.count("svg")
    assert page.count("img") == 0
    assert "\u202e" not in page.text


def test_hostile_names_of_loads_limits_and_notes_are_shown_as_text() -> None:
    data = several()
    assert data.sweep is not None
    assert data.search is not None
    trials = tuple(msgspec.structs.replace(trial, broken=(HOSTILE,)) for trial in data.search.trials)
    hostile = PageData(
        data.head,
        tuple(
            msgspec.structs.replace(load, name=HOSTILE, notes=(HOSTILE,), steady_note=HOSTILE)
            for load in data.loads
        ),
        msgspec.structs.replace(data.sweep, note=HOSTILE),
        msgspec.structs.replace(data.search, note=HOSTILE, limits=(HOSTILE,), trials=trials),
    )
    page, harmless = Page(render_page(hostile)), Page(render_page(data))
    assert {name: page.count(name) for name in ("script", "img")} == {"script": 1, "img": 0}
    assert page.count("svg") == harmless.count("svg")
    assert "⟨U+202E⟩ txt.exe" in page.text


def test_names_in_any_script_are_kept() -> None:
    page = Page(render_page(PageData(page_head("한국어-모델", dataset="بيانات الاختبار"))))
    assert "한국어-모델" in page.texts
    assert "بيانات الاختبار" in page.texts
    # Text that runs the other way turns nothing around it.
    assert page.count("bdi") >= 2


def test_the_same_data_gives_the_same_page_also_when_it_was_stored() -> None:
    data = PAGES["several"]()
    stored = msgspec.json.decode(msgspec.json.encode(data), type=PageData)
    assert render_page(data) == render_page(several()) == render_page(stored)


def test_a_page_of_many_calls_is_small() -> None:
    data = one_load(scheduled(100_000))
    assert data.loads[0].n_calls == 100_000
    # As many loads as a page shows in full then fit into 3 MB.
    assert len(render_page(data).encode()) < 3_000_000 / N_LOADS


def test_many_loads_are_bounded_and_it_is_said() -> None:
    data = several()
    many = msgspec.structs.replace(data, loads=data.loads * 10)
    page = Page(render_page(many))
    assert page.count("details") == N_LOADS
    assert f"The last {N_LOADS} of 40 loads." in page.text


def test_tables_hold_every_statistic() -> None:
    page = Page(render_page(PAGES["closed"]()))
    for word in ("mean", "min", "max", "p50", "p75", "p90", "p95", "p99", "TTFT, ms", "ITL, ms", "TPOT, ms"):
        assert word in page.texts
    for word in ("Request throughput", "Output token throughput", "http_500", "timeout"):
        assert word in page.texts


def test_what_is_absent_is_said_in_words() -> None:
    assert "were not streamed" in Page(render_page(PAGES["no stream"]())).text
    assert "No request succeeded." in Page(render_page(PAGES["all failed"]())).text
    assert "No requests were sent." in Page(render_page(PAGES["no calls"]())).text
    assert "No requests were sent." in Page(render_page(PAGES["nothing"]())).text
    assert "so there is no schedule" in Page(render_page(PAGES["closed"]())).text
    assert "All values are " in Page(render_page(PAGES["one call"]())).text
    assert "No level was finished." in Page(render_page(PAGES["no rungs"]())).text


def test_the_chosen_level_is_named() -> None:
    page = Page(render_page(PAGES["several"]()))
    assert "The highest level that met all limits: 4 concurrent." in page.texts
    assert "chosen: 4 concurrent" in page.texts
    nothing = msgspec.structs.replace(several(), search=SearchView("rate", ("failed < 1 %",), (), None))
    assert "No tested level met all limits." in Page(render_page(nothing)).texts


def test_a_rung_says_what_its_summary_says() -> None:
    ladder, _ = swept(is_search=False)
    for trial, rung in zip(ladder.trials, build_sweep_view(ladder).rungs, strict=True):
        summary = trial.summary
        assert (rung.level, rung.n_calls, rung.n_failed) == (trial.level, summary.n_calls, 0)
        assert rung.requests_per_s == summary.throughput.requests_per_s
        assert rung.output_per_s == summary.throughput.output_tokens_per_s
        assert {one.name: one.stats for one in rung.latencies}["TTFT"] == summary.metrics["ttft"]


def test_a_trial_that_was_cut_short_kept_nothing() -> None:
    search, _ = swept(is_search=True)
    cut = msgspec.structs.replace(search, trials=search.trials[:2], is_partial=True)
    assert [trial.broken for trial in build_search_view(cut).trials] == [(), ("not finished",)]
