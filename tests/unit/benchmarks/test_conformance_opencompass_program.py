"""The comparison with OpenCompass's program, without the program: how two answers are compared and shown."""

from __future__ import annotations

import json
import urllib.request

from benchmarks.chat_log import ChatLog
from benchmarks.conformance_opencompass_program import Written, compare, difference, section
from benchmarks.opencompass_cases import answers, cases


def written(**changed: object) -> Written:
    body = {"messages": [{"role": "user", "content": "1+1="}], "max_tokens": 5, "temperature": None}
    usual = {
        "status": 0,
        "requests": [body],
        "predictions": {"qa": {"0": {"prediction": "2", "PPL": 1.0}}},
        "results": {"qa": {"accuracy": 100.0}},
        "summary": {},
        "summary_text": "20260101_000000\ntabulate format\nqa 100.00\nraw format\nanything",
        "log": "",
    }
    return Written(**{**usual, **changed})  # type: ignore[arg-type]


def test_equal_runs_are_equal_but_for_the_time_and_rounding() -> None:
    other = written(
        predictions={"qa": {"0": {"prediction": "2", "PPL": 1.00001}}},
        summary_text="20270101_000000\ntabulate format\nqa 100.00\nraw format\nsomething else",
    )
    compared = list(compare("case", "faithful", written(), other))
    assert all(all(one.aspects.values()) for one in compared)
    assert "| case | faithful | equal | equal | equal | equal |" in section(compared)


def test_a_different_request_or_file_is_named() -> None:
    body = {"messages": [{"role": "user", "content": "1+1"}], "max_tokens": 5, "temperature": 0.0}
    other = written(requests=[body], results={"qa": {"accuracy": 0.0}})
    shown = section(list(compare("case", "faithful", written(), other)))
    assert "| case | faithful | different | equal | different | equal |" in shown
    assert "results.accuracy: 100.0 and 0.0" in shown
    assert "fields of all requests[0]" in shown


def test_an_original_that_stops_is_not_compared() -> None:
    stopped = written(summary_text="", log="Traceback\nKeyError: 'n'\n")
    shown = section(list(compare("case", "faithful", stopped, written())))
    assert "case: KeyError: 'n'" in shown
    assert "| the original stops |" in shown


def test_values_of_another_type_are_different() -> None:
    assert difference({"gold": 2}, {"gold": "2"}, "row") == ['row.gold: 2 and "2"']
    assert difference([1, 2], [1], "rows") == ["rows: 2 and 1"]


def test_the_server_records_requests_and_answers_alike() -> None:
    with ChatLog(answers()) as server:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "127+545="}]}).encode()
        asked = urllib.request.Request(f"{server.url}/chat/completions", body)
        replies = set()
        for _ in range(2):
            with urllib.request.urlopen(asked) as response:
                replies.add(json.load(response)["choices"][0]["message"]["content"])
        assert replies == {server.reply("127+545=")}
        assert [one["messages"][0]["content"] for one in server.take()] == ["127+545="] * 2
        assert server.take() == []


def test_every_case_has_the_files_that_it_names() -> None:
    for case in cases():
        text = " ".join((*case.arguments, *case.files.values()))
        named = {word.split('"')[0] for word in text.split("{here}/")[1:]}
        assert {one.split()[0] for one in named} <= set(case.files), case.name
