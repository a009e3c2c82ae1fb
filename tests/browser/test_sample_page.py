"""The page of one sample, in report files that open from a disk."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

import assay
from assay.results.pages.report_file import write_report_page
from assay.results.store import JOURNAL, SAMPLES, SCORES

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<svg onload=alert(3)><style>*{display:none}</style>",
    "</pre></script><iframe src=javascript:alert(4)>",
    "a\u202eb\u2066c\u200bd\u0007e",
)
GIF = "R0lGODlhAQABAIAAAAUEBAAAACwAAAAAAQABAAACAkQBADs="
WAV = "UklGRiUAAABXQVZFZm10IBAAAAABAAEARKwAAESsAAABAAgAZGF0YQEAAACA"
WAYS: dict[str, Callable[[dict[str, Any]], float]] = {
    "sum": lambda option: option["sum_logprob"],
    "per_token": lambda option: option["sum_logprob"] / option["n_tokens"],
    "per_char": lambda option: option["sum_logprob"] / option["n_chars"],
    "per_byte": lambda option: option["sum_logprob"] / option["n_bytes"],
    "pmi": lambda option: option["sum_logprob"] - option["unconditional"],
}


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def changed(folder: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change every stored line of a kind."""
    lines = read(folder, name)
    for line in lines:
        change(line)
    written = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    (folder / name).write_text("".join(written), encoding="utf-8")


def stored(folder: Path, sample: str, track: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a sample and its score by one method, as they are stored."""
    record = next(one for one in read(folder, SAMPLES) if one["sample"]["id"] == sample)
    score = next(one for one in read(folder, SCORES) if (one["sample_id"], one["track"]) == (sample, track))
    return record, score


def open_sample(page: Page, folder: Path, sample: str, **state: str) -> None:
    page.goto("about:blank")
    page.goto(f"{(folder / 'report.html').as_uri()}#{urlencode({'sample': sample, **state})}")
    expect(page.locator("#sample h1")).to_have_text(sample)


def open_folds(page: Page) -> None:
    """Open all that is folded, and what is folded in that."""
    closed = page.locator("#sample details:not([open])")
    while closed.count():
        closed.evaluate_all("all => all.forEach(one => { one.open = true; })")
        # What is inside is made when a fold tells that it was opened.
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


def text_of(page: Page, selector: str) -> str:
    return page.locator(selector).first.text_content() or ""


def width_of(page: Page, selector: str) -> list[float]:
    return [
        float(style.split("width:")[1].strip(" ;%"))
        for style in page.locator(selector).evaluate_all("all => all.map(one => one.getAttribute('style'))")
    ]


def choices_run(folder: Path, name: str, rows: Sequence[dict[str, str]], **settings: Any) -> Path:
    """Run the mock over questions with options; return the run folder."""
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = assay.run(file, model="mock", out=str(folder / f"run-{name}"), cache=False, **settings)
    return result.folder


def options_of(nth: int) -> dict[str, str]:
    return {"A": f"a long river {nth}", "B": "hill", "C": f"sea of {nth} fishes", "D": "moor"}


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve questions by three methods, with examples before each; some requests failed."""
    rows = [
        {
            "id": f"q{nth:02}",
            "question": f"What is number {nth} of the things that are asked for here?",
            **options_of(nth),
            "answer": "ABCD"[nth % 4],
            "category": f"g{nth % 2}",
        }
        for nth in range(12)
    ]
    return choices_run(
        tmp_path_factory.mktemp("letters"),
        "letters",
        rows,
        method=("ppl", "prob", "gen"),
        table={"ppl_target": "text"},
        shots=3,
        model_args={"fail_every": "25"},
    )


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[Path], Path]:
    """Copies a run, so that a test can change what is stored in it."""

    def copy(folder: Path) -> Path:
        return Path(shutil.copytree(folder, tmp_path / "run"))

    return copy


def outcome_ids(folder: Path, track: str, verdict: str) -> list[str]:
    return [
        one["sample_id"] for one in read(folder, SCORES) if (one["track"], one["verdict"]) == (track, verdict)
    ]


def test_the_head_says_what_and_where(browser_page: Page, letters: Path) -> None:
    open_sample(browser_page, letters, "q03")
    head = browser_page.locator(".sample-head").inner_text()
    assert "letters" in head
    assert "g1" in head
    assert "row 4 (line 4)" in head
    assert browser_page.locator(".outcome-chip .worth").count() == 3
    right = browser_page.locator(".options li.is-right")
    expect(right).to_have_count(1)
    assert "moor" in right.inner_text()
    browser_page.get_by_text("Original record").click()
    record, _ = stored(letters, "q03", "ppl")
    shown = browser_page.locator(".fields td").evaluate_all("all => all.map(one => one.textContent)")
    assert shown == list(record["sample"]["fields"].values())


def test_a_prompt_is_shown_to_the_letter_with_its_examples_folded(browser_page: Page, letters: Path) -> None:
    open_sample(browser_page, letters, "q05", method="ppl")
    record, _ = stored(letters, "q05", "ppl")
    context = record["contexts"][record["asks"][0]["context"]]
    prompt = browser_page.locator("[data-part=prompt]")
    fold = prompt.locator("details.shots")
    assert "3 solved examples: " in fold.inner_text()
    own = prompt.locator("> .exact-box .exact").first.text_content() or ""
    assert own.startswith("Question: What is number 5")
    assert context.endswith(own)
    fold.locator("summary").click()
    assert text_of(browser_page, "[data-part=prompt] details.shots .exact") + own == context
    continued = prompt.locator(".continuations code").all_text_contents()
    asks = [ask for ask in record["asks"] if (ask["track"], ask["role"]) == ("ppl", "option")]
    assert continued[: len(asks)] == [ask["text"] for ask in asks]


def test_white_space_is_seen(browser_page: Page, letters: Path, copy_of: Callable[[Path], Path]) -> None:
    folder = copy_of(letters)
    text = "\n\tindented  \nbetween \u3000\n\n  x" + " " * 3

    def change(line: dict[str, Any]) -> None:
        line["contexts"] = [text if isinstance(one, str) and one else one for one in line["contexts"]]

    changed(folder, SAMPLES, change)
    write_report_page(folder)
    open_sample(browser_page, folder, "q00", method="gen")
    shown = browser_page.locator("[data-part=prompt] .exact").first
    assert shown.text_content() == text
    assert shown.locator(".blank").all_text_contents() == ["  ", " \u3000", " " * 3]
    # A short text is one run of text, so its end follows its last character.
    expect(shown.locator(".stretch")).to_have_count(0)
    assert shown.evaluate("one => one.lastElementChild.className") == "end"


def test_messages_have_roles(browser_page: Page, tmp_path: Path) -> None:
    folder = choices_run(
        tmp_path,
        "chat",
        [{"id": f"m{nth}", "question": f"Say the number {nth}.", "answer": str(nth)} for nth in range(4)],
        method=("gen",),
        shots=2,
        model_args={"chat": "true"},
    )
    open_sample(browser_page, folder, "m2")
    record, _ = stored(folder, "m2", "gen")
    messages = record["contexts"][0]
    browser_page.locator("details.shots summary").click()
    shown = browser_page.locator("[data-part=prompt] .message")
    assert shown.locator(".role").all_inner_texts() == [message["role"] for message in messages]
    assert shown.locator(".exact").all_text_contents() == [message["content"] for message in messages]
    assert "Maximum 256 tokens, temperature 0 (greedy)" in text_of(browser_page, ".sampling")


@pytest.mark.parametrize(
    "answer",
    [
        "The answer is B.",
        "🙂🙃 Let me think 👩‍👩‍👧 … The answer is B, as it is.",
        "e\u0301e\u0301 cafe\u0301: The answer is **B**",
        "عاصمة فرنسا؟ The answer is B وهذا كل شيء",
        "答案是 B。𠮷野家",
    ],
)
def test_the_answer_that_was_found_is_marked(browser_page: Page, tmp_path: Path, answer: str) -> None:
    row = {"id": "one", "question": "Which?", **options_of(1), "answer": "B"}
    folder = choices_run(tmp_path, "span", [row], method=("gen",), model_args={"answer": answer})
    _, score = stored(folder, "one", "gen")
    assert score["answer"] == "B"
    open_sample(browser_page, folder, "one")
    # Python counts characters, where JavaScript counts units of UTF-16.
    start, end = score["span"]
    mark = browser_page.locator("[data-part=output] mark")
    assert mark.text_content() == answer[start:end]
    before = mark.evaluate("""mark => {
        const range = document.createRange();
        range.setStart(mark.closest('.exact'), 0);
        range.setEndBefore(mark);
        return range.toString();
    }""")
    assert before == answer[:start]
    expect(browser_page.locator("[data-part=output] .rule-note")).to_have_text(score["rule"])
    verdict = browser_page.locator("[data-part=verdict]").inner_text()
    assert "right" in verdict
    assert score["rule"] in verdict


def test_options_under_every_normalisation(browser_page: Page, letters: Path) -> None:
    disagreements = 0
    for sample in outcome_ids(letters, "ppl", "scored"):
        record, score = stored(letters, sample, "ppl")
        open_sample(browser_page, letters, sample, method="ppl")
        labels, winners = record["sample"]["labels"], set()
        for way, value in WAYS.items():
            if any("unconditional" not in option for option in score["options"]) and way == "pmi":
                continue
            values = [value(option) for option in score["options"]]
            panel = f"[data-way={way}]"
            lengths = width_of(browser_page, f"{panel} .level-fill")
            low, high = min(values), max(values)
            assert lengths == pytest.approx([100 * (one - low) / (high - low) for one in values], abs=0.01)
            best = values.index(high)
            winners.add(labels[best])
            assert text_of(browser_page, f"{panel} .is-best .level-label").split()[0] == labels[best]
            assert text_of(browser_page, f"{panel} p").startswith(f"{labels[best]} wins")
            margin = high - sorted(values)[-2]
            (shown,) = width_of(browser_page, f"{panel} .level-margin")
            assert shown == pytest.approx(100 * margin / (high - low), abs=0.01)
        deciding = browser_page.locator(".panel.is-deciding")
        assert deciding.get_attribute("data-way") == score["rule"] == "sum"
        assert text_of(browser_page, ".panel.is-deciding .is-best .level-label").split()[0] == score["answer"]
        says = browser_page.get_by_text("The normalisations disagree")
        expect(says).to_have_count(int(len(winners) > 1))
        disagreements += len(winners) > 1
    assert disagreements


def test_shares_are_a_choice_that_a_link_keeps(browser_page: Page, letters: Path) -> None:
    sample = outcome_ids(letters, "ppl", "scored")[0]
    _, score = stored(letters, sample, "ppl")
    powers = [math.exp(option["sum_logprob"]) for option in score["options"]]
    expected = [100 * power / sum(powers) for power in powers]
    open_sample(browser_page, letters, sample, method="ppl")
    browser_page.get_by_role("button", name="Shares").click()
    assert width_of(browser_page, "[data-way=sum] .level-fill") == pytest.approx(expected, abs=0.01)
    assert "bars=shares" in browser_page.url
    address = browser_page.url
    browser_page.goto("about:blank")
    browser_page.goto(address)
    expect(browser_page.get_by_role("button", name="Shares")).to_have_attribute("aria-pressed", "true")
    assert width_of(browser_page, "[data-way=sum] .level-fill") == pytest.approx(expected, abs=0.01)


def test_a_way_that_only_the_rule_has_is_reported_by_its_margin(
    browser_page: Page, letters: Path, copy_of: Callable[[Path], Path]
) -> None:
    """Means over whole texts may count the first token, which has no score: the margin tells which it was."""
    folder = copy_of(letters)
    sample = outcome_ids(folder, "ppl", "scored")[0]

    def change(line: dict[str, Any]) -> None:
        if line["track"] == "ppl" and line["verdict"] == "scored":
            values = [option["sum_logprob"] / (option["n_tokens"] + 1) for option in line["options"]]
            best = values.index(max(values))
            line |= {"rule": "whole_text_mean", "answer": line["options"][best]["label"]}
            line["margin"] = values[best] - sorted(values)[-2]

    changed(folder, SCORES, change)
    write_report_page(folder)
    open_sample(browser_page, folder, sample, method="ppl")
    assert text_of(browser_page, ".panel.is-deciding h3").startswith("Per token, counting the first token")


def pieces(page: Page, index: int) -> list[str]:
    return page.locator(f"[data-role=option][data-index='{index}'] .heat .token").all_text_contents()


def with_tokens(folder: Path, texts: dict[int, str], outcomes: dict[int, dict[str, Any]]) -> None:
    """Give options other texts and the numbers of their tokens."""

    def other_text(line: dict[str, Any]) -> None:
        for ask in line["asks"]:
            if ask["role"] == "option" and ask["index"] in texts:
                ask["text"] = texts[ask["index"]]
                context = line["contexts"][ask["context"]]
                line["contexts"][ask["context"]] = context.removesuffix("🙂he") + "🙂he"

    def other_outcome(line: dict[str, Any]) -> None:
        role, index = line["request_id"].split("/")[-2:]
        if role == "option" and int(index) in outcomes and line["outcome"]["type"] == "likelihood":
            line["outcome"] |= outcomes[int(index)]

    changed(folder, SAMPLES, other_text)
    changed(folder, JOURNAL, other_outcome)
    write_report_page(folder)


def test_tokens_are_drawn_where_they_stand(
    browser_page: Page, letters: Path, copy_of: Callable[[Path], Path]
) -> None:
    folder = copy_of(letters)
    sample = outcome_ids(folder, "ppl", "scored")[0]
    with_tokens(
        folder,
        {0: " 🙂 one 한 two", 1: "llo there"},
        {
            # The emoji and the syllable are made of several tokens each.
            0: {
                "token_starts": [0, 1, 1, 2, 7, 7, 8],
                "token_ids": [1, 2, 3, 4, 5, 6, 7],
                "token_logprobs": [-0.1, -1, -2, -0.5, -3, -4, -9],
                "n_tokens": 7,
            },
            # A token that begins before the join: "he" + "llo".
            1: {
                "token_starts": [-2, 3],
                "token_ids": [8, 9],
                "token_logprobs": [-1.5, -2.5],
                "n_tokens": 2,
                "straddles": True,
            },
        },
    )
    open_sample(browser_page, folder, sample, method="ppl")
    assert pieces(browser_page, 0) == [" ", "🙂", " one ", "한", " two"]
    assert pieces(browser_page, 1) == ["hello", " there"]
    straddling = browser_page.locator("[data-role=option][data-index='1'] .heat")
    expect(straddling.locator(".join")).to_have_count(1)
    expect(straddling.locator(".token").first.locator(".join")).to_have_count(1)
    assert (straddling.locator(".before").text_content() or "").endswith("🙂")
    # The likelier, the paler: tokens of one character count together.
    heat = browser_page.locator("[data-role=option][data-index='0'] .token")
    surprise = heat.evaluate_all(
        "all => all.map(one => parseFloat(one.style.getPropertyValue('--surprise')))"
    )
    nats = [0.1, 3, 0.5, 7, 9]
    assert surprise == pytest.approx([100 * one / -math.log(0.0001) for one in nats], abs=0.1)
    heat.nth(1).hover()
    readout = browser_page.locator("[data-role=option][data-index='0'] .readout")
    expect(readout).to_contain_text("Tokens 2 to 3 of 7, parts of one character")
    expect(readout).to_contain_text("log-probability -3")
    browser_page.locator("[data-role=option][data-index='0'] .heat").press("ArrowRight")
    expect(readout).to_contain_text("Token 4 of 7")
    browser_page.locator("[data-role=option][data-index='0']").get_by_text("As a table").click()
    expect(browser_page.locator("[data-role=option][data-index='0'] tbody tr")).to_have_count(7)
    expect(browser_page.locator("#sample h1")).to_have_text(sample)


def test_tokens_without_places_are_boxes(
    browser_page: Page, letters: Path, copy_of: Callable[[Path], Path]
) -> None:
    folder = copy_of(letters)
    sample = outcome_ids(folder, "ppl", "scored")[0]
    known = {"token_starts": [], "token_ids": [11, 12], "token_logprobs": [-0.25, -4.5], "n_tokens": 2}
    unknown = {"token_starts": [], "token_ids": [], "token_logprobs": [], "n_tokens": 9}
    with_tokens(folder, {}, {0: known, 1: unknown})
    open_sample(browser_page, folder, sample, method="ppl")
    assert pieces(browser_page, 0) == ["11-0.25", "12-4.5"]
    text = browser_page.locator("[data-role=option][data-index='1']").inner_text()
    assert "the sum over 9 tokens" in text


def test_a_long_text_shows_its_hardest_tokens(browser_page: Page, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    text = "".join(f"The river rose {nth} times in the night.\n" for nth in range(400))
    file.write_text(text, encoding="utf-8")
    folder = assay.run(
        file, model="mock", model_args={"context_length": "256"}, out=str(tmp_path / "run"), cache=False
    ).folder
    (record,) = read(folder, SAMPLES)

    def place_tokens(line: dict[str, Any]) -> None:
        # As the mock cuts texts.
        starts = [found.start() for found in re.finditer(r"\s*\S{1,4}|\s+", text)]
        assert len(starts) == line["outcome"]["n_tokens"]
        line["outcome"]["token_starts"] = starts

    changed(folder, JOURNAL, place_tokens)
    write_report_page(folder)
    open_sample(browser_page, folder, record["sample"]["id"])
    (response,) = read(folder, JOURNAL)
    logprobs = sorted(response["outcome"]["token_logprobs"])
    shown = browser_page.locator("[data-part=tokens] tbody tr td:nth-child(3)").all_inner_texts()
    assert [float(one) for one in shown] == pytest.approx(logprobs[:20], rel=1e-3)
    assert response["outcome"]["n_tokens"] > 3000
    tokens = browser_page.locator("[data-part=tokens] .heat .token")
    expect(tokens).to_have_count(1000)
    browser_page.get_by_text("more tokens: show the next").click()
    expect(tokens).to_have_count(2000)
    joined = "".join(tokens.all_text_contents())
    assert joined == text[: len(joined)]
    assert "perplexity_token" in browser_page.locator("[data-part=verdict]").inner_text()


def test_labels_and_their_mass(browser_page: Page, letters: Path) -> None:
    sample = outcome_ids(letters, "prob", "scored")[0]
    response = next(
        one for one in read(letters, JOURNAL) if one["request_id"] == f"letters/{sample}/prob/labels/0"
    )
    probs, mass = response["outcome"]["probs"], response["outcome"]["mass"]
    open_sample(browser_page, letters, sample, method="prob")
    shares = width_of(browser_page, ".levels.labels .level-fill")
    assert shares == pytest.approx([100 * prob / sum(probs) for prob in probs], abs=0.01)
    (drawn,) = width_of(browser_page, ".mass .level-fill")
    assert drawn == pytest.approx(100 * mass, abs=0.01)
    beside = browser_page.locator(".levels.labels .level-beside").all_inner_texts()
    assert beside == [f"{100 * prob:.2f} %" for prob in probs]
    assert "".join(browser_page.locator(".spellings").first.all_text_contents()).startswith(" A")


def test_what_is_only_bounded_is_drawn_as_a_range(
    browser_page: Page, letters: Path, copy_of: Callable[[Path], Path]
) -> None:
    folder = copy_of(letters)
    sample = outcome_ids(folder, "prob", "scored")[0]

    def bound(line: dict[str, Any]) -> None:
        if line["outcome"]["type"] == "label_probs":
            line["outcome"] |= {"probs": [0.6, 0.2, 0, 0], "mass": 0.8, "at_most": [0.6, 0.2, 0.05, 0.05]}

    def bound_score(line: dict[str, Any]) -> None:
        for nth, option in enumerate(line["options"] if line["track"] == "prob" else ()):
            option |= {"prob": [0.75, 0.25, 0, 0][nth], "prob_at_most": [0.75, 0.25, 0.0588, 0.0588][nth]}

    changed(folder, JOURNAL, bound)
    changed(folder, SCORES, lambda line: bound_score(line) if "options" in line else None)
    write_report_page(folder)
    open_sample(browser_page, folder, sample, method="prob")
    assert width_of(browser_page, ".level-bound") == pytest.approx([75, 25, 5.88, 5.88], abs=0.01)
    assert browser_page.locator(".levels.labels .level-value").all_inner_texts()[1:3] == [
        "25.0 %",
        "0.0 % to 5.9 %",
    ]
    assert "upper bound" in browser_page.locator("[data-part=labels]").inner_text()


def test_a_failed_sample_says_why(browser_page: Page, letters: Path) -> None:
    failed = [
        (track, sample)
        for track in ("ppl", "prob", "gen")
        for sample in outcome_ids(letters, track, "failed")
    ]
    assert failed
    track, sample = failed[0]
    open_sample(browser_page, letters, sample, method=track)
    verdict = browser_page.locator("[data-part=verdict]")
    assert "failed" in verdict.inner_text()
    assert "Why it failed" in verdict.inner_text()
    verdict.get_by_text("without an answer").click()
    assert "fail_every=25 makes the mock fail this request" in (verdict.locator(".failure").last.inner_text())


def test_an_answer_that_was_not_found_is_reported(browser_page: Page, tmp_path: Path) -> None:
    row = {"id": "one", "question": "Which?", **options_of(1), "answer": "B"}
    folder = choices_run(
        tmp_path,
        "none",
        [row],
        method=("gen",),
        model_args={"answer": "I would rather not say"},
        max_tokens=3,
    )
    open_sample(browser_page, folder, "one")
    verdict = browser_page.locator("[data-part=verdict]").inner_text()
    assert "unanswered" in verdict
    assert "no rule matched" in verdict
    assert "truncated" in browser_page.locator("[data-part=output]").inner_text()
    expect(browser_page.locator("mark")).to_have_count(0)


def test_several_outputs_reasoning_turns_and_calls(
    browser_page: Page, letters: Path, copy_of: Callable[[Path], Path]
) -> None:
    folder = copy_of(letters)
    outputs = [
        {"text": f"output {nth}", "finish": "end", "n_tokens": 2, "reasoning": "because <b>"}
        for nth in range(5)
    ]
    outputs[1] |= {"turns": ["first answer", "output 1"]}
    outputs[2] |= {"calls": [{"name": "weather", "arguments": '{"city": "서울"}'}]}

    def several(line: dict[str, Any]) -> None:
        if line["outcome"]["type"] == "completion":
            line["outcome"]["outputs"] = outputs

    def turns(line: dict[str, Any]) -> None:
        for ask in line["asks"]:
            if ask["track"] == "gen":
                ask["turns"] = ["and then?"]

    changed(folder, JOURNAL, several)
    changed(folder, SAMPLES, turns)
    write_report_page(folder)
    sample = next(
        sample
        for sample in (f"q{n:02}" for n in range(12))
        if sample not in outcome_ids(folder, "gen", "failed")
    )
    open_sample(browser_page, folder, sample, method="gen")
    output = browser_page.locator("[data-part=output]")
    assert "Outputs: 5" in output.inner_text()
    assert output.locator("> details[open]").count() == 3
    second = output.locator("> details").nth(1)
    assert second.locator(".message .exact").all_text_contents() == ["first answer", "and then?", "output 1"]
    assert '{"city": "서울"}' in output.locator("> details").nth(2).inner_text()
    reasoning = output.locator("> details").first.locator("details")
    expect(reasoning).not_to_have_attribute("open", "")
    reasoning.locator("summary").click()
    expect(reasoning.locator(".exact")).to_have_text("because <b>")


def test_requests_say_what_they_took(
    browser_page: Page, letters: Path, copy_of: Callable[[Path], Path]
) -> None:
    folder = copy_of(letters)

    def time(line: dict[str, Any]) -> None:
        line |= {"latency_s": 1.25, "first_s": 0.05, "cached": line["request_id"].endswith("/0")}

    changed(folder, JOURNAL, time)
    write_report_page(folder)
    sample = outcome_ids(folder, "ppl", "scored")[0]
    open_sample(browser_page, folder, sample, method="ppl")
    part = browser_page.locator("[data-part=requests]")
    assert part.locator("th").all_inner_texts() == [
        "request",
        "prompt tokens",
        "scored tokens",
        "time to first token",
        "latency",
        "result",
    ]
    rows = [row.split("\t") for row in part.locator("tbody tr").all_inner_texts()]
    responses = {one["request_id"]: one for one in read(folder, JOURNAL)}
    for row in rows:
        role, index = row[0].split()
        response = responses[f"letters/{sample}/ppl/{role}/{index}"]
        if response["outcome"]["type"] == "failure":
            continue
        assert row[2] == str(response["outcome"]["n_tokens"])
        assert row[3:] == ["50 ms", "1.25 s", "from the cache" if index == "0" else "answered"]


def test_media_are_shown_or_named(browser_page: Page, letters: Path, copy_of: Callable[[Path], Path]) -> None:
    folder = copy_of(letters)
    kept = {"gif": base64.b64decode(GIF), "wav": base64.b64decode(WAV)}
    (folder / "media").mkdir()
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in kept.items()}
    for name, data in kept.items():
        (folder / "media" / f"{hashes[name]}.{name}").write_bytes(data)
    content = [
        {"type": "text", "text": "Look: "},
        {"type": "image", "media_type": "image/gif", "path": "kept.gif", "sha256": hashes["gif"]},
        {
            "type": "image",
            "media_type": "image/png",
            "path": "gone.png",
            "sha256": "b" * 64,
            "extent": "64x64",
        },
        {"type": "audio", "media_type": "audio/wav", "path": "kept.wav", "sha256": hashes["wav"]},
        {"type": "video", "url": "https://example.org/a.mp4"},
    ]

    def show(line: dict[str, Any]) -> None:
        line["contexts"] = [[{"role": "user", "content": content}] for _ in line["contexts"]]

    changed(folder, SAMPLES, show)
    write_report_page(folder)
    open_sample(browser_page, folder, "q00", method="gen")
    prompt = browser_page.locator("[data-part=prompt]")
    image = prompt.locator("img")
    expect(image).to_have_count(1)
    browser_page.wait_for_function("document.querySelector('[data-part=prompt] img').naturalWidth === 1")
    assert image.get_attribute("alt") == "kept.gif"
    expect(prompt.locator("audio")).to_have_attribute("src", f"data:audio/wav;base64,{WAV}")
    assert prompt.locator(".missing").all_inner_texts() == [
        "This image was not stored with the run.",
        "This video was not stored with the run.",
    ]
    captions = " ".join(prompt.locator("figcaption").all_inner_texts())
    assert "gone.png 64x64" in captions
    assert "https://example.org/a.mp4" in captions


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(browser_page: Page, tmp_path: Path, text: str) -> None:
    row = {"id": "one", "question": text, "A": text, "B": f"{text} b", "answer": "A", "extra": text}
    folder = choices_run(
        tmp_path,
        "hostile",
        [row],
        method=("ppl", "prob", "gen"),
        model_args={"answer": f"The answer is A {text}"},
        max_tokens=9999,
    )
    for method in ("ppl", "prob", "gen"):
        open_sample(browser_page, folder, "one", method=method)
        open_folds(browser_page)
        names = set(browser_page.locator("#sample *").evaluate_all("all => all.map(one => one.localName)"))
        assert names.isdisjoint({"script", "img", "svg", "style", "iframe", "object", "link"})
        shown = browser_page.locator("#sample").inner_text()
        if "<" in text:
            assert text in shown
        else:
            assert "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+0007⟩e" in shown


def judged(folder: Path, *replies: dict[str, Any]) -> None:
    """Let every score of a run have been read from these replies of a judge."""
    changed(folder, SCORES, lambda score: score.update(judged=list(replies)))
    write_report_page(folder)


def test_a_judges_replies_are_shown_with_where_their_verdicts_stand(
    browser_page: Page, letters: Path, copy_of: Callable[[Path], Path]
) -> None:
    folder = copy_of(letters)
    reply = "😀 It is close. Verdict: [[A]] indeed"
    prompt = [{"role": "system", "content": "Be fair."}, {"role": "user", "content": "Is `7` right?"}]
    at = reply.index("[[A]]")
    judged(
        folder,
        {
            "about": "turn 1",
            "verdict": "scored",
            "value": 1.0,
            "said": "right",
            "rule": "brackets",
            "span": [at, at + 5],
            "text": reply,
            "reasoning": "So it is.",
            "prompt": prompt,
        },
        {"about": "turn 2", "verdict": "unanswered", "why": "no verdict in the reply", "text": "Hm."},
        {"about": "turn 3", "verdict": "failed", "why": "timeout: slow", "prompt": "Is it?"},
    )
    page = browser_page
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["judge"] = {**manifest["model"], "name": "a strict judge"}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    write_report_page(folder)
    open_sample(page, folder, "q05", method="gen")
    part = page.locator("[data-part=judge]")
    expect(part).to_contain_text("a strict judge")
    expect(part.locator("h2")).to_have_text("Judge: 3 replies")
    assert part.locator(".judge-reply > summary").all_inner_texts() == [
        "turn 1: right, score 1",
        "turn 2: no verdict found",
        "turn 3: no reply",
    ]
    first, second, third = (part.locator(".judge-reply").nth(nth) for nth in range(3))
    expect(first.locator("mark")).to_have_text("[[A]]")
    expect(first).to_contain_text("the last verdict in brackets")
    assert second.locator("mark").count() == 0
    expect(second).to_contain_text("no verdict in the reply")
    expect(third).to_contain_text("timeout: slow")
    open_folds(page)
    expect(first.locator(".judge-prompt")).to_contain_text("Is `7` right?")
    expect(first).to_contain_text("So it is.")
    expect(third.locator(".judge-prompt")).to_contain_text("Is it?")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_judge_stays_text(
    browser_page: Page, letters: Path, copy_of: Callable[[Path], Path], text: str
) -> None:
    folder = copy_of(letters)
    fields = dict.fromkeys(("about", "text", "said", "rule", "why", "reasoning"), text)
    message = [{"role": "user", "content": [{"type": "text", "text": text}]}]
    judged(folder, {**fields, "verdict": "scored", "value": 1.0, "span": [0, 3], "prompt": message})
    open_sample(browser_page, folder, "q05", method="gen")
    open_folds(browser_page)
    part = browser_page.locator("[data-part=judge]")
    names = set(part.locator("*").evaluate_all("all => all.map(one => one.localName)"))
    assert names.isdisjoint({"script", "img", "svg", "style", "iframe", "object", "link"})
    shown = part.text_content() or ""
    # About, said, why and its marked place, rule, reasoning, reply and prompt.
    assert shown.count(text if "<" in text else "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+0007⟩e") >= 6


def test_steps_follow_the_order_of_the_table(browser_page: Page, letters: Path) -> None:
    page = browser_page
    open_sample(page, letters, "q05", sort="id down", method="prob")
    expect(page.locator(".sample-nav")).to_contain_text("7 of 12")
    page.get_by_role("link", name="Next").click()
    expect(page.locator("#sample h1")).to_have_text("q04")
    page.keyboard.press("Enter")
    expect(page.locator("#sample h1")).to_have_text("q03")
    page.keyboard.press("k")
    expect(page.locator("#sample h1")).to_have_text("q04")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#sample h1")).to_have_text("q03")
    assert "method=prob" in page.url
    page.get_by_role("navigation", name="Methods").get_by_role("link", name="gen").click()
    expect(page.locator("[data-part=output]")).to_be_visible()
    assert "method=gen" in page.url
    page.keyboard.press("Escape")
    expect(page.locator("#whole")).to_be_visible()
    assert "sort=id+down" in page.url


def test_a_link_leads_to_a_part(browser_page: Page, letters: Path) -> None:
    open_sample(browser_page, letters, "q05", method="ppl", part="tokens")
    expect(browser_page.locator("[data-part=tokens]")).to_be_in_viewport()


def test_copies_are_exact(browser_page: Page, tmp_path: Path) -> None:
    answer = "The answer is B\u200b \u202e <b>\t \n"
    row = {"id": "one", "question": "Which?", **options_of(1), "answer": "B"}
    folder = choices_run(tmp_path, "copy", [row], method=("gen",), model_args={"answer": answer})
    open_sample(browser_page, folder, "one")
    browser_page.evaluate(
        "addEventListener('copy', event => { window.taken = event.clipboardData.getData('text/plain'); })"
    )
    browser_page.locator("[data-part=output] .exact-box").hover()
    button = browser_page.locator("[data-part=output] .copy")
    button.click()
    expect(button).to_have_text("Copied")
    assert browser_page.evaluate("window.taken") == answer


@pytest.mark.parametrize(
    "text",
    ["word " * 200_000, " " * 999_999 + "x", "<b>line</b> of text  \n" * 45_000, "🙂é" * 400_000],
    ids=["one line", "spaces", "lines", "emoji"],
)
def test_a_long_output_does_not_hang(
    browser_page: Page, letters: Path, copy_of: Callable[[Path], Path], text: str
) -> None:
    folder = copy_of(letters)
    sample = outcome_ids(folder, "gen", "scored")[0]
    start = len(text) // 2

    def long(line: dict[str, Any]) -> None:
        if line["request_id"] == f"letters/{sample}/gen/answer/0":
            line["outcome"]["outputs"][0]["text"] = text

    changed(folder, JOURNAL, long)
    changed(
        folder, SCORES, lambda line: line.update(span=[start, start + 7]) if line["track"] == "gen" else None
    )
    write_report_page(folder)
    open_sample(browser_page, folder, sample, method="gen")
    output = browser_page.locator("[data-part=output] .exact")
    assert len(output.text_content() or "") < 30_000
    assert output.locator("mark").text_content() == text[start : start + 7]
    output.get_by_role("button").first.click()
    expect(output.get_by_role("button")).to_have_count(0)
    rule = browser_page.locator("[data-part=output] .rule-note").text_content() or ""
    assert (output.text_content() or "").replace(rule, "", 1) == text
    expect(output.locator(".stretch").last.locator(".end")).to_have_count(1)


@pytest.mark.parametrize("method", ["ppl", "prob", "gen"])
@pytest.mark.parametrize("width", [360, 768])
def test_no_width_makes_a_sample_scroll_sideways(
    browser_page: Page, tmp_path: Path, method: str, width: int
) -> None:
    long = "대한민국의수도는어디입니까" * 12 + "x" * 300 + "مرحبا" * 60
    row = {"id": "i" * 120, "question": long, "A": long, "B": "b", "answer": "A", "f" * 90: long}
    folder = choices_run(
        tmp_path, "wide", [row], method=(method,), model_args={"answer": long}, max_tokens=9999
    )
    browser_page.set_viewport_size({"width": width, "height": 800})
    open_sample(browser_page, folder, "i" * 120)
    open_folds(browser_page)
    assert browser_page.evaluate("document.documentElement.scrollWidth") <= width
