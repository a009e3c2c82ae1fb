"""AISBench's document on new datasets: its code runs as written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import assay as api
from assay.app.datasets import compile_datasets
from assay.core.media import Audio, Image, Text, Video
from assay.core.prompt import Message
from assay.core.request import Generate
from assay.core.task import TaskSettings
from cli import assay
from fakes.aisbench_document import Document, document
from fakes.openai_server import saying, serving

pytest.importorskip("datasets")

PACKAGE = Path("ais_bench", "benchmark")
IN_THE_PACKAGE = PACKAGE / "configs" / "datasets" / "my_dataset" / "my_dataset.py"
PROMPT = "What is 1 + 2?\nRemember to put your final answer within \\boxed{}."


@pytest.fixture
def guide(seeds: Path, workdir: Path, empty_cache: None) -> Document:
    return document(seeds / "aisbench.md")


def asked_first(config: Path, *, is_chat: bool = True) -> Generate:
    """Return what the model is asked about the first row of a config's one dataset."""
    settings = TaskSettings(is_chat=is_chat)
    (one,) = compile_datasets((str(config),), settings, given={}, meta=None, data_root=None, split=None)
    asked, *_ = one.task.requests(next(iter(one.task.samples())))
    assert isinstance(asked.ask, Generate)
    return asked.ask


def with_rows(guide: Document, rows: str) -> Document:
    start, end = guide.loader.index("data_list = "), guide.loader.index("        return")
    return guide._replace(loader=f"{guide.loader[:start]}data_list = {rows}\n{guide.loader[end:]}")


def with_template(guide: Document, name: str, template: str) -> Document:
    """Return the document with another template, of those that a comment in its config names."""
    assert f"# - {name}: " in guide.config
    start, end = (
        guide.config.index("        type=PromptTemplate,"),
        guide.config.index("    ),\n    retriever"),
    )
    config = f"{guide.config[:start]}        type={name},\n        template={template},\n{guide.config[end:]}"
    return guide._replace(config=config.replace("import PromptTemplate", f"import {name}"))


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def in_the_package(guide: Document) -> Path:
    """Write the files where the document puts them; return the config."""
    put(PACKAGE / "datasets" / "mydataset.py", guide.script)
    put(PACKAGE / "datasets" / "__init__.py", "from .mydataset import *\n")
    return put(IN_THE_PACKAGE, guide.config)


def side_by_side(guide: Document) -> Path:
    put(Path("mydataset.py"), guide.script)
    return put(Path("my_dataset.py"), guide.config)


LAYOUTS = [in_the_package, side_by_side]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_dataset_is_evaluated(layout: Any, guide: Document) -> None:
    config = layout(guide)
    answer = r"3 + 4 is \boxed{7}"
    result = api.run(str(config), model="mock", model_args={"answer": answer}, out="run")
    assert {one["metric"]: (one["value"], one["n"]) for one in result.metrics} == {
        "accuracy": (0.25, 4),
        "mean_length": (1.0, 4),
    }
    # What `details` say of a row is the row's score, and what the post-processor found is its answer.
    assert [score["value"] for score in result.scores] == [0.0, 1.0, 0.0, 0.0]
    assert {score["answer"] for score in result.scores} == {"7"}
    assert [score["target"] for score in result.scores] == ["3", "7", "11", "15"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_prompt_is_the_documents(layout: Any, guide: Document) -> None:
    config = layout(guide)
    # The braces of \boxed{} hold no column.
    assert asked_first(config).prompt == (Message("user", PROMPT),)
    assert asked_first(config, is_chat=False).prompt == PROMPT


@pytest.mark.parametrize("named", ["my_dataset.py", "my_dataset.py/_datasets", "my_dataset.py:mydataset"])
def test_the_list_is_found_by_its_suffix(named: str, guide: Document) -> None:
    side_by_side(guide)
    result = assay("check", named, "--prompts", "0")
    assert result.status == 0, result.err
    assert result.out.count("mydataset  4 rows") == 1
    assert "MyDatasetEvaluator, after mydataset_postprocess" in result.out


def test_other_parameters_of_the_entry_go_to_load(guide: Document) -> None:
    gap = "# ... Other dataset initialization parameters ..."
    assert guide.config.count(gap) == 1
    side_by_side(guide._replace(config=guide.config.replace(gap, "pairs=[(20, 22)],")))
    result = api.run("my_dataset.py", model="mock", model_args={"answer": r"\boxed{42}"})
    (accuracy, _) = result.metrics
    assert (accuracy["value"], accuracy["n"]) == (1.0, 1)


def test_its_command_finds_the_config_by_name(guide: Document, workdir: Path) -> None:
    in_the_package(guide)
    assert guide.command[0] == "ais_bench"
    with serving(saying(r"\boxed{7}")) as server:
        here = ("--openicl-root", ".", "--url", server.url.removesuffix("/v1"))
        result = assay("as", "aisbench", *guide.command[1:], *here)
    assert result.status == 0, result.err
    assert server.bodies[0]["messages"] == [{"role": "user", "content": PROMPT}]
    (summary,) = workdir.glob("outputs/default/*/summary/*.csv")
    rows = [line.split(",") for line in summary.read_text(encoding="utf-8").splitlines()]
    assert [(row[0], row[2], row[-1]) for row in rows[1:]] == [
        ("mydataset", "accuracy", "25.00"),
        ("mydataset", "mean_length", "1.00"),
    ]


def test_a_dataset_dict_is_a_dataset_too(guide: Document) -> None:
    written = "return datasets.Dataset.from_list(data_list)"
    splits = "return datasets.DatasetDict(train=%s, test=%s)" % (
        ("datasets.Dataset.from_list(data_list)",) * 2
    )
    assert guide.loader.count(written) == 1
    side_by_side(guide._replace(loader=guide.loader.replace(written, splits)))
    assert assay("check", "my_dataset.py").status == 0


def test_data_is_where_the_document_puts_it(guide: Document) -> None:
    put(Path("ais_bench/datasets/mydataset/data/test.jsonl"), '{"question": "1?", "answer": "1"}\n')
    file = """Path(get_data_path(kwargs["path"]), "test.jsonl")"""
    imports = "import json\nfrom pathlib import Path\n"
    imports += "from ais_bench.benchmark.datasets.utils.datasets import get_data_path\n"
    changed = with_rows(guide, f"[json.loads(line) for line in {file}.read_text().splitlines()]")
    gap = "# ... Other dataset initialization parameters ..."
    config = guide.config.replace(gap, "path='ais_bench/datasets/mydataset/data',")
    written = in_the_package(changed._replace(loader=imports + changed.loader, config=config))
    assert "mydataset  1 row," in assay("check", str(written)).out


MEDIA_TEMPLATE = """dict(round=[dict(role="HUMAN", prompt_mm={
            "text": {"type": "text", "text": "{question}"},
            "image": {"type": "image_url", "image_url": {"url": "{image}"}},
            "video": {"type": "video_url", "video_url": {"url": "{video}"}},
            "audio": {"type": "audio_url", "audio_url": {"url": "{audio}"}},
        })])"""
TURNS_TEMPLATE = 'dict(round=[dict(role="HUMAN", prompt="{question}"), dict(role="BOT", prompt="{answer}")])'


def test_several_media_are_joined_as_it_says(guide: Document) -> None:
    media = {name: f"https://media.example/{name}" for name in ("image", "video", "audio")}
    row = {"content": guide.content.format(text="What is this?", **media), "answer": "a bell"}
    changed = with_template(with_rows(guide, repr([row])), "MMPromptTemplate", MEDIA_TEMPLATE)
    config = side_by_side(changed._replace(config=changed.config.replace('["question"]', '["content"]')))
    parts = (
        Text("What is this?"),
        Image(url=media["image"]),
        Video(url=media["video"]),
        Audio(url=media["audio"]),
    )
    assert asked_first(config).prompt == (Message("user", parts),)


def test_a_dialogue_of_several_turns_is_asked_turn_by_turn(guide: Document) -> None:
    rows = repr([{"question": ["Hello?", "And now?"], "answer": ["Hi", "Bye"]}])
    changed = with_template(with_rows(guide, rows), "MultiTurnPromptTemplate", TURNS_TEMPLATE)
    config = changed.config.replace("GenInferencer", "MultiTurnGenInferencer")
    ask = asked_first(side_by_side(changed._replace(config=config)))
    assert ask.prompt == (Message("user", "Hello?"),)
    assert ask.turns == ("And now?",)
