"""Take the pictures of docs/images from the real program, in a real browser.

    python docs/make_images.py               # all, about three minutes
    python docs/make_images.py run compare   # some

The embedded model answers the questions of examples/; the mock, always with the same letter, stands in for
further models where a table needs many. Needs chromium, the extras `hf` and `web`, and fonts of all scripts.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from assay.core.ids import make_random

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
EXAMPLES = DOCS.parent / "examples"
ASSAY = str(Path(sys.executable).with_name("assay"))
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
)
LANGUAGES = {
    "한국어": "대한민국의 수도는 서울이며 한강이 도시를 가로질러 흐른다. 다음 중 옳은 것은?",
    "中文": "中华人民共和国的首都是北京，这座城市拥有三千多年的历史。下列哪一项是正确的？",
    "العربية": "القاهرة هي عاصمة جمهورية مصر العربية وأكبر مدنها. أي مما يلي صحيح؟",
    "עברית": "ירושלים היא העיר הגדולה ביותר במדינה. איזה מהבאים נכון?",
}


def assay(folder: Path, *arguments: str) -> None:
    """Run the command; stop if it fails."""
    subprocess.run([ASSAY, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def make_runs(folder: Path) -> None:
    """Evaluate what the pictures show."""
    table = Path(shutil.copy(EXAMPLES / "arithmetic.csv", folder)).name
    methods = ("--method", "ppl,prob,gen", "--ppl-target", "text", "--max-tokens", "48")
    assay(folder, "run", table, *methods, "--no-cache", "--out", "runs/arithmetic-0-shot")
    assay(folder, "run", table, *methods, "--no-cache", "--shots", "3", "--out", "runs/arithmetic-3-shot")
    with open(folder / "languages.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("question", "A", "B", "C", "D", "answer", "category"))
        for nth in range(120):
            name, text = list(LANGUAGES.items())[nth % len(LANGUAGES)]
            words = text.split() if " " in text else list(text)
            options = [" ".join(words[place : place + 3]) for place in range(4)]
            writer.writerow((f"{nth + 1}. {text} " * (1 + nth % 3), *options, "ABCD"[nth % 4], name))
    assay(
        folder,
        "run",
        "languages.csv",
        "-m",
        "mock",
        "--method",
        "ppl,gen",
        "--ppl-target",
        "text",
        "--out",
        "runs/languages",
    )
    boards = folder / "board"
    boards.mkdir()
    names = [f"dataset {nth + 1:02}" if nth % 5 else f"데이터셋 {nth + 1:02}" for nth in range(40)]
    for place, name in enumerate(names):
        # Right answers that are not spread evenly: who always says A has more of them here, fewer there.
        numbers = make_random(0, name, "", "picture")
        weights = (3 + place % 3, 2, 1 + place % 2, 1)
        with open(boards / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("question", "A", "B", "C", "D", "answer"))
            for nth in range(200):
                right = numbers.choices("ABCD", weights)[0]
                writer.writerow((f"{name}: question {nth}?", "one", "two", "three", "four", right))
    for letter in "ABCD":
        tables = (str(path) for path in sorted(boards.iterdir()))
        model = ("-m", f"mock:always-{letter}", "--model-arg", f"answer={letter}")
        assay(folder, "run", *tables, *model, "--runs-dir", "board-runs")


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[str, str]]:
    """Start a server of ours; give its address and what it printed."""
    process = subprocess.Popen(
        [ASSAY, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    said = ""
    try:
        for line in process.stdout:
            said += line
            if found := re.search(r"http://127\.0\.0\.1:\d+", said):
                time.sleep(1)
                yield found[0], said
                return
        raise SystemExit(f"the server ended:\n{said}")
    finally:
        process.terminate()
        process.wait()


def picture(page: Page, name: str, *, whole: bool = False) -> None:
    """Take a picture of what is shown, once there is something."""
    # A selector: a function would have to be evaluated in the page, which the pages' own policy forbids.
    page.locator("main", has_text=re.compile(r"\S")).first.wait_for()
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / f"{name}.png", full_page=whole)
    sys.stdout.write(f"{name}\n")


def files(folder: Path, page: Page, wanted: Callable[[str], bool]) -> None:
    """Take pictures of pages that open from a disk."""
    report = folder / "runs/arithmetic-3-shot/report.html"
    if wanted("run"):
        page.set_viewport_size({"width": 1280, "height": 1250})
        page.goto(report.as_uri())
        picture(page, "run")
    if wanted("run_dark"):
        page.emulate_media(color_scheme="dark")
        page.goto((folder / "runs/languages/report.html").as_uri())
        picture(page, "run_dark")
        page.emulate_media(color_scheme="light")
    if wanted("run_phone"):
        page.set_viewport_size({"width": 390, "height": 1700})
        page.goto((folder / "runs/languages/report.html").as_uri())
        picture(page, "run_phone")
        page.set_viewport_size({"width": 1280, "height": 1250})
    if wanted("sample"):
        page.goto("about:blank")
        page.goto(report.as_uri())
        page.locator(".sample-row").nth(2).click()
        picture(page, "sample", whole=True)


def viewer(folder: Path, page: Page, wanted: Callable[[str], bool]) -> None:
    """Take pictures of the viewer."""
    page.set_viewport_size({"width": 1280, "height": 900})
    with serving(folder, "view", "runs", "--port", "0", "--no-open") as (address, _):
        for name, path in {
            "runs": "/",
            "compare": "/compare?run=arithmetic-0-shot&run=arithmetic-3-shot",
        }.items():
            if wanted(name):
                page.goto(address + path)
                picture(page, name, whole=name == "compare")
    with serving(folder, "view", "board-runs", "--port", "0", "--no-open") as (address, _):
        if wanted("leaderboard"):
            page.goto(f"{address}/leaderboard")
            picture(page, "leaderboard")


def team(folder: Path, page: Page, wanted: Callable[[str], bool]) -> None:
    """Take pictures of the team server."""
    shown = {"evaluations", "new_evaluation", "evaluation", "api"}
    if not any(map(wanted, shown)):
        return
    with serving(folder, "serve", "--port", "0", "--datasets", "board", "--home", "team") as (address, said):
        (token,) = re.findall(r"assay_[\w-]+", said) or re.findall(r"token\s+(\S+)", said)

        def post(path: str, body: object) -> dict[str, Any]:
            request = urllib.request.Request(f"{address}/api/v1{path}", json.dumps(body).encode())
            request.add_header("authorization", f"Bearer {token}")
            request.add_header("content-type", "application/json")
            with urllib.request.urlopen(request) as answer:
                return dict(json.loads(answer.read()))

        post("/models", {"name": "north", "spec": "mock:north", "description": "answers at once"})
        post(
            "/models",
            {"name": "slow", "spec": "mock", "args": {"delay_ms": "60"}, "description": "takes its time"},
        )
        with urllib.request.urlopen(f"{address}/api/v1/datasets") as answer:
            names = [one["name"] for one in json.loads(answer.read())][:3]
        post("/evaluations", {"model": "north", "datasets": names})
        running = post("/evaluations", {"model": "slow", "datasets": names[:1]})
        page.goto(f"{address}/?token={token}")
        for name, path in {
            "evaluations": "/evaluations",
            "new_evaluation": "/evaluations/new",
            "evaluation": f"/evaluations/{running['evaluation']['id']}",
            "api": "/api",
        }.items():
            if wanted(name):
                page.goto(address + path)
                page.wait_for_timeout(1500)
                picture(page, name)


def main() -> None:
    """Make runs, start servers, take pictures."""
    chosen = set(sys.argv[1:])

    def wanted(name: str) -> bool:
        return not chosen or name in chosen

    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        make_runs(folder)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        page = browser.new_page(locale="en-GB")
        files(folder, page, wanted)
        viewer(folder, page, wanted)
        team(folder, page, wanted)
        browser.close()


if __name__ == "__main__":
    main()
