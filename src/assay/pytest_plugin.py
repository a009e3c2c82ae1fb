"""A pytest plugin: the fixture `assay_run` evaluates a model inside a test.

    def test_quiz(assay_run):
        assert assay_run("quiz.csv").accuracy.low > 0.6

pytest imports this file when it starts, so it imports nothing else of Assay.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from assay.app.api.result import RunResult

_PROPERTY = "assay"
_RESULTS = pytest.StashKey[list[Any]]()
_N_WRONG = 3
_SHOWN_CHARS = 200


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--assay-model` and the settings of the ini file."""
    group = parser.getgroup("assay", "evaluation of language models")
    group.addoption(
        "--assay-model",
        metavar="MODEL",
        help="Model of tests that use assay_run without naming one, such as smollm2 or openai:NAME@URL.",
    )
    parser.addini("assay_model", "Model of tests that use assay_run without naming one.")
    parser.addini("assay_runs_dir", "Folder of the runs of tests. [in the cache of pytest]")


@pytest.fixture
def assay_run(request: pytest.FixtureRequest) -> Callable[..., RunResult]:
    """Evaluate a model like `assay.run`; the result appears in the summary of the test session.

    A relative path may also be relative to the folder of the test file. Runs are stored in pytest's cache, so
    that an unchanged test does not query its model again.
    """

    def evaluate(data: Any, **settings: Any) -> RunResult:
        __tracebackhide__ = True
        import assay

        model = request.config.getoption("--assay-model") or request.config.getini("assay_model")
        given = {"progress": False, **settings}
        if model:
            given.setdefault("model", model)
        if "out" not in given:
            given.setdefault("runs_dir", _find_runs_folder(request))
        result = assay.run(_find_data(data, request.path.parent), **given)
        request.node.stash.setdefault(_RESULTS, []).append(result)
        lines = repr(result).splitlines()[1:]
        request.node.user_properties.append((_PROPERTY, "\n".join([*lines, f"run: {result.folder}"])))
        return result

    return evaluate


def _find_runs_folder(request: pytest.FixtureRequest) -> Path:
    """Return the folder of runs: from the ini file, else in pytest's cache, else a temporary one."""
    named = request.config.getini("assay_runs_dir")
    if named:
        return request.config.rootpath / str(named)
    cache: pytest.Cache | None = getattr(request.config, "cache", None)
    if cache is not None:
        return cache.mkdir("assay-runs")
    folder: Path = request.getfixturevalue("tmp_path_factory").getbasetemp() / "assay-runs"
    return folder


def _find_data(data: Any, folder: Path) -> Any:
    """Return the data; a path that exists only beside the test file is made relative to it."""
    if isinstance(data, (str, Path)) and not Path(data).exists() and (folder / data).exists():
        return folder / data
    return data


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add scores and the first wrong samples to the report of a failed test."""
    report = yield
    if report.when == "call" and report.failed:
        for result in item.stash.get(_RESULTS, []):
            report.sections.append(("assay", _describe_result(result)))
    return report


def _describe_result(result: Any) -> str:
    """Return the scores of a run and its first wrong samples."""
    lines = [repr(result)]
    wrong = result.samples.wrong
    if wrong:
        lines.append(f"first {min(len(wrong), _N_WRONG)} of {len(wrong)} samples that are not right:")
    for sample in wrong[:_N_WRONG]:
        for answer in sample.answers.values():
            if not answer.is_right:
                reply = _shorten(
                    answer.reply if answer.reply is not None else answer.why or answer.answer or ""
                )
                lines += [
                    f"  {sample.id} {answer.method}: {_shorten(answer.prompt)}",
                    f"    reply {reply!r}, {answer.verdict}, right answer {answer.target!r}",
                ]
    return "\n".join([*lines, f"all samples: assay view {result.folder}"])


def _shorten(text: str) -> str:
    """Return the end of a text on one line: a prompt ends in its question."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else "..." + line[3 - _SHOWN_CHARS :]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the scores of each test that evaluated a model."""
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
    ]
    shown = [
        (report.nodeid, text)
        for report in reports
        for name, text in report.user_properties
        if name == _PROPERTY
    ]
    if not shown:
        return
    terminalreporter.section("assay")
    for node, text in shown:
        terminalreporter.line(node)
        for line in text.splitlines():
            terminalreporter.line(f"  {line}")
