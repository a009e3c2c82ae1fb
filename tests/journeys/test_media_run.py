"""Rows with media from the engine to the run folder: the model's input, and the stored files."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from assay.backends.mock import MockBackend
from assay.core.model import ModelIdentity
from assay.core.origin import Origin
from assay.core.ports import ResponseCache
from assay.core.request import Generate, Request, Sampling, make_request
from assay.core.response import Completion, Failure, Outcome, Response
from assay.core.sample import Sample
from assay.dialects.openicl.templates.multimodal import MultimodalTemplate
from assay.engine.cache import NoCache, SqliteCache
from assay.engine.execute import Execution
from assay.engine.journal import FileJournal
from assay.faces.cli.render import format_prompt
from assay.results.media_store import find_medium
from assay.results.records import SampleRecord
from assay.results.store import SampleWriter
from assay.scoring.aggregate import MeanAggregator
from cli import assay
from fakes.engine import FakeScorer, FakeTask

LOCAL = {
    "template": {
        "round": [
            {
                "role": "HUMAN",
                "prompt_mm": {
                    "text": {"type": "text", "text": "{question} Answer in one word."},
                    "image": {"type": "image_url", "image_url": {"url": "{image}"}},
                    "audio": {"type": "audio_url", "audio_url": {"url": "{audio}"}},
                },
            }
        ]
    }
}


class MediaTask(FakeTask):
    """Rows of marked content."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        super().__init__(len(rows))
        self.rows = rows
        self.template = MultimodalTemplate(LOCAL, output_column="answer")

    def samples(self) -> Iterator[Sample]:
        for n, row in enumerate(self.rows):
            yield Sample(f"s{n}", row, Origin("rows", row=n + 1))

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        ask = Generate(self.template.messages(sample.fields), Sampling())
        return [make_request(self.name, sample.id, "gen", "answer", 0, ask)]


def run(
    rows: Sequence[dict[str, Any]], folder: Path, *, cache: ResponseCache | None = None, **args: str
) -> list[Outcome]:
    folder.mkdir()
    task = MediaTask(rows)
    journal = FileJournal(folder / "responses.jsonl")
    with SampleWriter(folder) as sink:
        Execution(
            [task],
            MockBackend("", {"describe": "true", **args}),
            {task.name: [FakeScorer()]},
            journal=journal,
            cache=cache or NoCache(),
            sink=sink,
            aggregator=MeanAggregator(),
            on_progress=lambda tally: None,
        ).run()
    journal.close()
    lines = (folder / "responses.jsonl").read_text(encoding="utf-8").splitlines()
    return [decoded(line) for line in lines]


def decoded(line: str) -> Outcome:
    return msgspec.json.decode(line, type=Response).outcome


def reply(outcome: Outcome) -> str:
    assert isinstance(outcome, Completion)
    return outcome.outputs[0].text


@pytest.fixture
def vqa(shared_data: Path) -> list[dict[str, Any]]:
    folder = shared_data / "easy_vqa"
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    return [
        {
            "content": f"<AIS_IMAGE_START>{folder}/images/{image}.png<AIS_CONTENT_TAG>"
            f"<AIS_TEXT_START>{question}<AIS_CONTENT_TAG>",
            "answer": answer,
        }
        for question, answer, image in questions[:40]
    ]


def test_the_model_sees_what_the_rows_show(
    vqa: list[dict[str, Any]], shared_data: Path, tmp_path: Path
) -> None:
    outcomes = run(vqa, tmp_path / "run")
    size = (shared_data / "easy_vqa" / "images" / "0.png").stat().st_size
    assert reply(outcomes[0]) == f"image/png of {size} bytes"
    assert len(outcomes) == 40


def test_several_media_in_their_order(shared_data: Path, tmp_path: Path) -> None:
    clip = sorted((shared_data / "spoken_digits").glob("*.wav"))[0]
    image = shared_data / "easy_vqa" / "images" / "1.png"
    content = "".join(
        f"<AIS_{kind}_START>{value}<AIS_CONTENT_TAG>"
        for kind, value in (
            ("AUDIO", clip),
            ("TEXT", "Hear, then look:"),
            ("IMAGE", image),
            ("IMAGE", "https://a/b.png"),
        )
    )
    (outcome,) = run([{"content": content}], tmp_path / "run")
    assert reply(outcome) == (
        f"audio/wav of {clip.stat().st_size} bytes; image/png of {image.stat().st_size} bytes; https://a/b.png"
    )


def test_base64_is_sent_and_never_stored(shared_data: Path, tmp_path: Path) -> None:
    image = (shared_data / "easy_vqa" / "images" / "0.png").read_bytes()
    payload = base64.b64encode(image).decode()
    row = {
        "content": f"<AIS_IMAGE_START>data:image/png;base64,{payload}<AIS_CONTENT_TAG><AIS_TEXT_START>What?",
        "image": payload,
        "raw": {"bytes": image},
        "answer": "red",
    }
    (outcome,) = run([row], tmp_path / "run")
    assert reply(outcome) == f"image/png of {len(image)} bytes"
    for file in (tmp_path / "run").iterdir():
        assert payload[:64] not in file.read_text(encoding="utf-8")
        assert payload[-64:] not in file.read_text(encoding="utf-8")
    record = stored(tmp_path / "run")
    (part,) = record.contexts[0][0].media  # type: ignore[union-attr]
    assert (part.n_bytes, part.extent, part.data) == (len(image), "64x64", "")
    assert record.sample.fields["answer"] == "red"
    assert record.sample.fields["raw"]["bytes"].startswith(f"[{len(image):,} bytes, sha256 ")


def stored(folder: Path) -> SampleRecord:
    line = (folder / "samples.jsonl").read_bytes().splitlines()[0]
    return msgspec.json.decode(line, type=SampleRecord)


def test_a_person_is_shown_names(vqa: list[dict[str, Any]], shared_data: Path, tmp_path: Path) -> None:
    run(vqa[:1], tmp_path / "run")
    record = stored(tmp_path / "run")
    console = Console(width=200, record=True, file=open(tmp_path / "out", "w"))  # noqa: SIM115
    console.print(format_prompt(record.contexts[0]))
    console.file.close()
    shown = console.export_text()
    assert f"[image {shared_data}/easy_vqa/images/0.png 64x64]" in shown
    assert "what is the red shape? Answer in one word." in shown


def test_a_moved_file_keeps_its_answers_and_a_changed_one_does_not(shared_data: Path, tmp_path: Path) -> None:
    images = shared_data / "easy_vqa" / "images"
    identity = ModelIdentity("mock", "mock")

    def count_requests(image: bytes, name: str, n: int) -> int:
        (tmp_path / name).write_bytes(image)
        row = {"content": f"<AIS_IMAGE_START>{tmp_path / name}<AIS_CONTENT_TAG><AIS_TEXT_START>What?"}
        cache = SqliteCache(tmp_path / "cache", identity)
        run([row], tmp_path / f"run{n}", cache=cache)
        cache.close()
        lines = (tmp_path / f"run{n}" / "responses.jsonl").read_text(encoding="utf-8")
        return lines.count('"cached":true')

    first, second = ((images / f"{n}.png").read_bytes() for n in (0, 1))
    assert count_requests(first, "a.png", 1) == 0
    assert count_requests(first, "moved.png", 2) == 1
    assert count_requests(second, "a.png", 3) == 0


def test_a_file_that_vanishes_under_way_is_a_failure(vqa: list[dict[str, Any]], tmp_path: Path) -> None:
    lost = tmp_path / "lost.png"
    source = vqa[0]["content"].split("<AIS_CONTENT_TAG>")[0].removeprefix("<AIS_IMAGE_START>")
    lost.write_bytes(Path(source).read_bytes())
    task = MediaTask([{"content": f"<AIS_IMAGE_START>{lost}<AIS_CONTENT_TAG><AIS_TEXT_START>What?"}])
    requests = task.requests(next(task.samples()))
    lost.unlink()
    (response,) = MockBackend("", {}).run(requests)
    assert isinstance(response.outcome, Failure)
    assert response.outcome.kind == "media"
    assert "lost.png" in response.outcome.message


# --- kept with the run ---

EASY_VQA = Path(__file__).parents[2] / "examples/aisbench/easy_vqa/easy_vqa_gen_0_shot_chat_prompt.py"
SPOKEN = Path(__file__).parents[2] / "examples/aisbench/spoken_digits/spoken_digits_gen_0_shot_chat_prompt.py"


def evaluated(config: Path, data_root: Path, *more: str) -> Path:
    """Run a config's first rows into the folder `run`."""
    result = assay(
        *("run", str(config), "--data-root", str(data_root), "-m", "mock", "--limit", "first:40"),
        *("--out", "run", *more),
    )
    assert result.status == 0, result.out + result.err
    return Path("run")


def parts_of(run: Path) -> list[Any]:
    lines = (run / "samples.jsonl").read_bytes().splitlines()
    records = [msgspec.json.decode(line, type=SampleRecord) for line in lines]
    return [
        part
        for record in records
        for context in record.contexts
        if not isinstance(context, str)
        for message in context
        for part in message.media
    ]


@pytest.mark.parametrize(("config", "n_media"), [(EASY_VQA, 40), (SPOKEN, 10)])
def test_what_was_shown_stays_with_the_run(
    shared_data: Path, workdir: Path, config: Path, n_media: int
) -> None:
    run = evaluated(config, shared_data)
    parts = parts_of(run)
    assert len(parts) == n_media
    kept = {path.name for path in (run / "media").iterdir()}
    assert len(kept) == len({part.sha256 for part in parts}) > 1
    for part in parts:
        found = find_medium(run, part.sha256)
        assert found is not None
        assert found.path.read_bytes() == Path(part.path).read_bytes()
        assert found.media_type == part.media_type
    for path in (run / "media").iterdir():
        os.utime(path, (1, 1))
    evaluated(config, shared_data)
    assert {path.stat().st_mtime for path in (run / "media").iterdir()} == {1}


def test_a_scoring_shows_the_media_of_its_run(shared_data: Path, workdir: Path) -> None:
    run = evaluated(SPOKEN, shared_data)
    assert assay("score", str(run)).status == 0
    scoring = run / "scorings" / "002-again"
    for part in parts_of(run):
        assert find_medium(scoring, part.sha256) == find_medium(run, part.sha256) is not None
    own, again = (
        set(re.findall('id="media-([0-9a-f]+)"', (folder / "report.html").read_text(encoding="utf-8")))
        for folder in (run / "scorings" / "001-run", scoring)
    )
    assert own == again == {part.sha256 for part in parts_of(run)}


def test_how_much_is_kept_is_no_part_of_what_a_run_is(shared_data: Path, workdir: Path) -> None:
    run = evaluated(SPOKEN, shared_data, "--keep-media", "0")
    before = json.loads((run / "manifest.json").read_bytes())
    assert not (run / "media").exists()
    assert not [note for note in before["notes"] if "media are not stored" in note]
    evaluated(SPOKEN, shared_data, "--keep-media", "50kB")
    after = json.loads((run / "manifest.json").read_bytes())
    assert after["id"] == before["id"]
    assert after["stats"]["requests_journaled"] == 10
    assert after["settings"]["keep_media"] == {"value": 50_000, "source": "flag"}
    size = sum(path.stat().st_size for path in (run / "media").iterdir())
    assert 0 < size <= 50_000
    n_left_out = 10 - len(list((run / "media").iterdir()))
    (note,) = [note for note in after["notes"] if "media are not stored" in note]
    assert note == (
        f"{n_left_out} of 10 media are not stored with the run: "
        f"{n_left_out} over the limit of --keep-media 50 kB"
    )


def test_what_is_no_size_is_reported_before_a_model_is_asked(shared_data: Path, workdir: Path) -> None:
    result = assay("run", str(SPOKEN), "--data-root", str(shared_data), "-m", "mock", "--keep-media", "lots")
    assert result.status == 2
    assert "setting 'keep_media' (from the flag) is 'lots'" in result.err
    assert "a size such as 256MB" in result.err
    assert not list(workdir.iterdir())
