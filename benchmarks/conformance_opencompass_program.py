"""OpenCompass's own program beside `assay as opencompass`, on the same flags, files and server.

    python -m benchmarks.conformance_opencompass_program --write
    python -m benchmarks.conformance_opencompass_program --only ppl --keep DIR

The original is installed from the package index into an environment of its own. Each case is one command
line: the original runs it first, then Assay by default and with `--fidelity faithful`. Compared are the
requests that reach the server, and what each program writes: predictions, results and the summary. Local
models are SmolLM2-135M.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.backends.hf.embedded_model import EmbeddedFiles
from assay.results.rows import markdown_list, markdown_table
from benchmarks.chat_log import ChatLog
from benchmarks.opencompass_cases import Case, answers, cases, fill, write_files
from benchmarks.peers import OPENCOMPASS, peer_python
from benchmarks.record import add_output_options, hand_over, setting

WAYS = {"default": (), "faithful": ("--fidelity", "faithful")}
_LIMIT_S = 900
_OLDER_KEYS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "tokenizer_config.json": lambda said: {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "attention_mask"],
    },
    "config.json": lambda said: {
        "rope_theta": said["rope_parameters"]["rope_theta"],
        "torch_dtype": said["dtype"],
    },
}
"""Files of the model that name things otherwise since transformers 5, and what they said before."""
_NEAR = 2e-4
"""How far two likelihoods may differ: the programs' kernels sum in different orders."""
_TRANSPORT = ("stream", "stream_options", "n", "temperature")
"""Fields of a request that are compared as a whole and not request by request."""


class Written(NamedTuple):
    """What one program did with a case."""

    status: int
    requests: list[dict[str, Any]]
    predictions: dict[str, Any]
    results: dict[str, Any]
    summary: dict[str, dict[str, str]]
    summary_text: str
    log: str


class Compared(NamedTuple):
    """One dataset of a case: which aspects are equal."""

    case: str
    dataset: str
    way: str
    aspects: dict[str, bool | None]
    """None where neither program has anything to compare."""
    differences: tuple[str, ...]
    stopped_by: str = ""
    """The error that the original stopped with; empty where it finished."""


def main() -> None:
    """Run the cases and hand the table over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", help="the python of an environment that has OpenCompass [made if needed]")
    parser.add_argument("--only", default="", metavar="TEXT", help="run the cases whose name contains TEXT")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what the programs write; reuse it")
    add_output_options(parser)
    options = parser.parse_args()
    python = peer_python("opencompass", options.python)
    chosen = [case for case in cases() if options.only in case.name]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        compared = [one for case in chosen for one in run_case(case, folder.resolve(), python)]
    hand_over("conformance_opencompass_program", section(compared), options)


def run_case(case: Case, folder: Path, python: Path) -> Iterator[Compared]:
    """Run one case by every program and compare what they wrote."""
    place = folder / "".join(letter if letter.isalnum() else "_" for letter in case.name)
    with ChatLog(answers()) as server:
        filled = {"here": str(place), "model": str(_model_folder(folder)), "url": server.url}
        write_files(case, place, filled)
        arguments = [fill(one, filled) for one in case.arguments]
        original = _original(python, arguments, place, server)
        for way, flags in WAYS.items():
            ours = _run([*_assay(), *arguments, *flags], place, place / way, server)
            print(f"{case.name}, {way}: {ours.status}", file=sys.stderr)
            yield from compare(case.name, way, original, ours)


def _original(python: Path, arguments: Sequence[str], place: Path, server: ChatLog) -> Written:
    """Run the original, or read what it wrote before, with the requests that it sent then."""
    work, kept = place / "original", place / "original_requests.json"
    if kept.is_file():
        return _read(work, 0, json.loads(kept.read_text()), (work / "log.txt").read_text())
    command = [str(python), "-m", "opencompass.cli.main", *arguments, "--debug"]
    written = _run(command, place, work, server)
    kept.write_text(json.dumps(written.requests))
    return written


def _assay() -> list[str]:
    return [sys.executable, "-m", "assay", "as", "opencompass", "--no-cache"]


def _model_folder(folder: Path) -> Path:
    """Return SmolLM2 as the original's older release of transformers reads it."""
    made = folder / "SmolLM2-135M-Instruct"
    if made.is_dir():
        return made
    made.mkdir(parents=True)
    for path in EmbeddedFiles().prepare_path().iterdir():
        if path.name in _OLDER_KEYS:
            said = json.loads(path.read_text())
            (made / path.name).write_text(json.dumps({**said, **_OLDER_KEYS[path.name](said)}))
        else:
            (made / path.name).symlink_to(path)
    return made


def _run(command: Sequence[str], place: Path, work: Path, server: ChatLog) -> Written:
    server.take()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "OMP_NUM_THREADS": "1"}
    environment["COMPASS_DATA_CACHE"] = str(place)
    done = subprocess.run(
        [*command, "-w", str(work)],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_LIMIT_S,
    )
    log = f"{done.stdout}\n{done.stderr}"
    work.mkdir(parents=True, exist_ok=True)
    (work / "log.txt").write_text(log, encoding="utf-8")
    return _read(work, done.returncode, server.take(), log)


def _read(work: Path, status: int, requests: list[dict[str, Any]], log: str) -> Written:
    stamps = sorted(path for path in work.iterdir() if path.is_dir())
    folder = stamps[-1] if stamps else work
    tables = sorted(folder.glob("summary/*.csv"))
    summary = {}
    if tables:
        with tables[-1].open(encoding="utf-8") as file:
            summary = {row["dataset"]: dict(row) for row in csv.DictReader(file)}
    texts = sorted(folder.glob("summary/*.txt"))
    return Written(
        status,
        requests,
        _documents(folder / "predictions"),
        _documents(folder / "results"),
        summary,
        texts[-1].read_text(encoding="utf-8") if texts else "",
        log,
    )


def _documents(folder: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))}


def compare(case: str, way: str, original: Written, ours: Written) -> Iterator[Compared]:
    """Compare a case as a whole, then dataset by dataset."""
    requests = difference(_bodies(original.requests), _bodies(ours.requests), "requests")
    fields = difference(_transport(original.requests), _transport(ours.requests), "fields of all requests")
    text = difference(_summary_lines(original), _summary_lines(ours), "summary")
    has_requests = bool(original.requests or ours.requests)
    # A default run sets the temperature and streams; a faithful one sends what the original sends.
    are_equal = not requests and not (fields and way == "faithful")
    aspects = {"requests": are_equal if has_requests else None, "summary": not text}
    stopped_by = "" if original.summary_text else original.log.strip().rpartition("\n")[2]
    yield Compared(case, "(all)", way, aspects, (*fields, *requests[:2], *text[:2]), stopped_by)
    for name in dict.fromkeys((*original.predictions, *ours.predictions)):
        found = {
            "predictions": (original.predictions.get(name), ours.predictions.get(name)),
            "results": (original.results.get(name), ours.results.get(name)),
        }
        differences = {aspect: difference(*pair, aspect) for aspect, pair in found.items()}
        yield Compared(
            case,
            name,
            way,
            {aspect: not differences[aspect] for aspect in found},
            tuple(line for lines in differences.values() for line in lines[:2]),
            stopped_by,
        )


def _bodies(requests: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the model is asked."""
    asked = [{key: value for key, value in one.items() if key not in _TRANSPORT} for one in requests]
    return sorted(json.dumps(one, sort_keys=True, ensure_ascii=False) for one in asked)


def _transport(requests: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the other fields, each combination once."""
    fields = ({key: value for key, value in one.items() if key in _TRANSPORT} for one in requests)
    return sorted({json.dumps(one, sort_keys=True) for one in fields})


def _summary_lines(written: Written) -> list[str]:
    """Return the summary without the time and what the programs print of their own folders."""
    lines = written.summary_text.splitlines()[1:]
    return lines[: lines.index("raw format")] if "raw format" in lines else lines


def difference(theirs: Any, ours: Any, where: str) -> list[str]:
    """Return in words where two values differ; numbers may differ in their last digits."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return [
            line
            for key in dict.fromkeys((*theirs, *ours))
            for line in difference(theirs.get(key, "(none)"), ours.get(key, "(none)"), f"{where}.{key}")
        ]
    if isinstance(theirs, list) and isinstance(ours, list):
        pairs = zip(theirs, ours, strict=False)
        lines = [line for at, (a, b) in enumerate(pairs) for line in difference(a, b, f"{where}[{at}]")]
        return lines if len(theirs) == len(ours) else [f"{where}: {len(theirs)} and {len(ours)}", *lines]
    if _is_number(theirs) and _is_number(ours) and abs(theirs - ours) <= _NEAR:
        return []
    if theirs == ours and type(theirs) is type(ours):
        return []
    return [f"{where}: {_short(theirs)} and {_short(ours)}"]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:197]}..."


def section(compared: Sequence[Compared]) -> str:
    """Return the table of equal and different cases, and how the different ones differ."""
    aspects = ("requests", "predictions", "results", "summary")
    rows = []
    for case in dict.fromkeys(one.case for one in compared):
        for way in WAYS:
            own = [one for one in compared if (one.case, one.way) == (case, way)]
            is_stopped = any(one.stopped_by for one in own)
            shown = (_count(own, aspect) for aspect in aspects)
            rows.append((case, way, *(["the original stops"] * len(aspects) if is_stopped else shown)))
    faithful = [one for one in compared if one.way == "faithful" and not one.stopped_by]
    lines = [f"{one.case}, {one.dataset}: {line}" for one in faithful for line in one.differences]
    stopped = {one.case: one.stopped_by for one in compared if one.stopped_by}
    parts = [markdown_table(("case", "fidelity", *aspects), rows)]
    if stopped:
        parts += ["The original stops:", markdown_list([f"{case}: {why}" for case, why in stopped.items()])]
    if lines:
        parts += ["What differs in faithful runs (the original's value first):", markdown_list(lines)]
    return "\n\n".join([*parts, setting({"opencompass": OPENCOMPASS})])


def _count(compared: Sequence[Compared], aspect: str) -> str:
    values = [one.aspects[aspect] for one in compared if one.aspects.get(aspect) is not None]
    if not values:
        return "-"
    if len(values) == 1:
        return "equal" if values[0] else "different"
    return f"{sum(bool(value) for value in values)} of {len(values)} equal"


if __name__ == "__main__":
    main()
