"""AISBench's own program beside `assay as aisbench`: same flags, same server, every request and file.

    python -m benchmarks.conformance_aisbench_program              # prints the table of cases
    python -m benchmarks.conformance_aisbench_program --write      # puts it into RESULTS.md
    python -m benchmarks.conformance_aisbench_program --only mcq --keep DIR --show

Each case is a folder with data and configs. The original (in an environment of its own, see `peers.py`) and
Assay, by default and with `--fidelity faithful`, run the same command there against one logging server.
Compared are whole request bodies, prediction rows, result files and the printed summary. `--keep DIR` keeps
the folders and reuses what the original did there before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_table
from benchmarks.aisbench_cases import CASES, MODEL_ABBR, Case
from benchmarks.logging_server import Call, LoggingServer, logging_server
from benchmarks.peers import AISBENCH, peer_python
from benchmarks.record import add_output_options, hand_over, setting

ASPECTS = ("requests", "predictions", "results", "summary")
_MODES: Mapping[str, Sequence[str]] = {"default": (), "faithful": ("--fidelity", "faithful")}
_LONG_NUMBER = re.compile(r"\d+\.\d{6,}")
_TIME = re.compile(r"\d{8}_\d{6}")
_CALLS = "calls.json"
_PRINTED = "printed.txt"


Differences: TypeAlias = Mapping[str, Mapping[str, list[str]]]
"""By mode and aspect, what is not equal."""


class Done(NamedTuple):
    """What one program did in a case."""

    folder: Path
    """Its work folder."""
    calls: list[list[Call]]
    """The requests of each step."""
    printed: str

    @property
    def output(self) -> Path | None:
        """The folder of the run, named by its time."""
        found = sorted(path for path in self.folder.iterdir() if path.is_dir())
        return found[-1] if found else None


def main() -> None:
    """Run the cases and print or write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="run the cases whose names contain this text")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the folders, reuse the original's part"
    )
    parser.add_argument("--show", action="store_true", help="print each difference")
    parser.add_argument("--python", help="python of an environment with the original")
    add_output_options(parser)
    options = parser.parse_args()
    python = peer_python("aisbench", options.python)
    cases = [case for case in CASES if not options.only or options.only in case.name]
    found: list[tuple[Case, Differences]] = []
    with tempfile.TemporaryDirectory() as made, Original(python) as original:
        for case in cases:
            differences = compare(case, (options.keep or Path(made)) / case.folder_name, original)
            found.append((case, differences))
            print(" | ".join(_row(case, differences)), file=sys.stderr)
            if options.show:
                _show(differences)
    hand_over("conformance_aisbench_program", section(found), options)


def section(found: Sequence[tuple[Case, Differences]]) -> str:
    """Return the table of cases and the reasons of the differences that are listed."""
    reasons: Counter[str] = Counter()
    for case, modes in found:
        listed: dict[tuple[str, str], list[str]] = {}
        for (mode, aspect), why in case.listed.items():
            if modes[mode][aspect]:
                listed.setdefault((mode, why), []).append(aspect)
        reasons.update(f"{mode}, {', '.join(of)}: {why}" for (mode, why), of in listed.items())
    return "\n\n".join(
        [
            setting({"ais-bench-benchmark": AISBENCH}),
            markdown_table(["case", "default", "faithful"], [_row(*one) for one in found]),
            "\n".join(f"- {reason} ({n} {'case' if n == 1 else 'cases'})" for reason, n in reasons.items()),
        ]
    )


def _row(case: Case, found: Differences) -> list[str]:
    return [case.name, *(_cell(case, mode, found[mode]) for mode in _MODES)]


class Original:
    """AISBench's program: started when it is first needed, in its own environment."""

    def __init__(self, python: Path) -> None:
        self._python = python
        self._process: subprocess.Popen[str] | None = None
        asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
        found = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
        self.site_packages = found.stdout.strip()

    def __enter__(self) -> Original:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()

    def run(self, arguments: Sequence[str], folder: Path, log: Path) -> None:
        """Run one command; what it prints goes into a file."""
        process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"argv": list(arguments), "cwd": str(folder), "log": str(log)}) + "\n")
        process.stdin.flush()
        process.stdout.readline()

    def _started(self) -> subprocess.Popen[str]:
        script = Path(__file__).with_name("aisbench_forks.py")
        self._process = subprocess.Popen(
            [self._python, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        assert self._process.stdout is not None
        while self._process.stdout.readline().strip() != "ready":
            if self._process.poll() is not None:
                raise SystemExit(f"{script} ended with status {self._process.returncode}")
        return self._process


def compare(case: Case, folder: Path, original: Original) -> Differences:
    """Return for each mode what differs from the original, by aspect."""
    folder.mkdir(parents=True, exist_ok=True)
    assay = [sys.executable, "-m", "assay", "as", "aisbench", "--no-cache"]

    def run_assay(arguments: Sequence[str], where: Path, log: Path) -> None:
        with open(log, "wb") as file:
            command = [*assay, "--openicl-root", original.site_packages, *arguments]
            subprocess.run(command, cwd=where, stdout=file, stderr=subprocess.STDOUT, check=False)

    with logging_server(case.answer) as server:
        case.write(folder, server.port)
        expected = _kept(folder / "original") or _run(case, folder, "original", original.run, (), server)
        return {
            mode: dict(_differences(expected, _run(case, folder, mode, run_assay, flags, server)))
            for mode, flags in _MODES.items()
        }


Runner = Callable[[Sequence[str], Path, Path], None]


def _run(
    case: Case, folder: Path, name: str, run: Runner, flags: Sequence[str], server: LoggingServer
) -> Done:
    work = folder / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    calls = []
    log = folder / f"{name}.{_PRINTED}"
    for step in case.steps:
        server.reset(step.answer or case.answer)
        arguments = [*flags, *step.flags(folder), "--work-dir", str(work), "--num-warmups", "0"]
        run(arguments, folder, log)
        calls.append(server.reset())
    (folder / f"{name}.{_CALLS}").write_text(json.dumps(calls), encoding="utf-8")
    return Done(work, calls, log.read_text(encoding="utf-8"))


def _kept(work: Path) -> Done | None:
    calls, printed = (work.with_name(f"{work.name}.{end}") for end in (_CALLS, _PRINTED))
    if not calls.is_file():
        return None
    found = json.loads(calls.read_text(encoding="utf-8"))
    return Done(work, [[Call(*call) for call in step] for step in found], printed.read_text(encoding="utf-8"))


def _differences(original: Done, ours: Done) -> Iterator[tuple[str, list[str]]]:
    yield "requests", list(_requests(original, ours))
    left, right = original.output, ours.output
    if left is None or right is None:
        missing = f"no output of {'the original' if left is None else 'Assay'}"
        yield from ((aspect, [missing]) for aspect in ASPECTS[1:])
        return
    yield "predictions", _unequal(_predictions(left), _predictions(right))
    yield "results", _unequal(_results(left), _results(right))
    yield "summary", _unequal(_summaries(left, original.printed), _summaries(right, ours.printed))


def _requests(original: Done, ours: Done) -> Iterator[str]:
    for number, (left, right) in enumerate(zip(original.calls, ours.calls, strict=True), 1):
        theirs, own = (Counter(json.dumps(call, sort_keys=True) for call in step) for step in (left, right))
        for body in (theirs - own).elements():
            yield f"step {number}: original alone: {body}"
        for body in (own - theirs).elements():
            yield f"step {number}: Assay alone: {body}"


def _predictions(output: Path) -> dict[str, Any]:
    """Return the rows of each file by id; `uuid` is drawn anew each time."""
    found: dict[str, Any] = {}
    for path in sorted((output / "predictions" / MODEL_ABBR).glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            line.pop("uuid", None)
            if "error_info" in line:
                line["error_info"] = bool(line["error_info"])  # Each program has its own words.
        found[path.name] = sorted(lines, key=lambda line: (line["id"], json.dumps(line, sort_keys=True)))
    return found


def _results(output: Path) -> dict[str, Any]:
    paths = sorted((output / "results" / MODEL_ABBR).glob("*.json"))
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def _summaries(output: Path, printed: str) -> dict[str, Any]:
    """Return the files of the summary, and the table in what was printed."""
    found: dict[str, Any] = {}
    for path in sorted((output / "summary").glob("summary_*")):
        text = _TIME.sub("TIME", path.read_text(encoding="utf-8"))
        rounded = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.8g}", text)
        found[path.suffix] = rounded.splitlines()
    lines = printed.splitlines()
    begins = [at for at, line in enumerate(lines) if line.split()[-4:-1] == ["version", "metric", "mode"]]
    table: list[str] = []
    for line in lines[begins[-1] :] if begins else ():
        if not line.strip() or line.startswith("["):  # A line of the log.
            break
        table.append(line[line.find("dataset") :].rstrip() if not table else line.rstrip())
    return {**found, "printed": table}


def _unequal(left: Any, right: Any, at: str = "") -> list[str]:
    """Return where two values differ; numbers are equal when they print alike to ten digits."""
    if isinstance(left, dict) and isinstance(right, dict):
        found = []
        for key in dict.fromkeys([*left, *right]):
            if key in left and key in right:
                found += _unequal(left[key], right[key], f"{at}/{key}")
            elif key in left:
                found.append(f"{at}/{key}: original alone: {left[key]!r:.200}")
            else:
                found.append(f"{at}/{key}: Assay alone: {right[key]!r:.200}")
        return found
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return [line for number, (one, other) in pairs for line in _unequal(one, other, f"{at}/{number}")]
    is_number = isinstance(left, int | float) and isinstance(right, int | float)
    is_equal = f"{left:.10g}" == f"{right:.10g}" if is_number else left == right
    return [] if is_equal else [f"{at}: original {left!r:.300}, Assay {right!r:.300}"]


def _cell(case: Case, mode: str, found: Mapping[str, list[str]]) -> str:
    different = [aspect for aspect in ASPECTS if found[aspect]]
    if not different:
        return "equal"
    return ", ".join(
        aspect + ("" if (mode, aspect) in case.listed else " (not listed)") for aspect in different
    )


def _show(found: Mapping[str, Mapping[str, list[str]]]) -> None:
    for mode, aspects in found.items():
        for aspect, lines in aspects.items():
            for line in lines[:12]:
                print(f"  {mode} {aspect} {line}")


if __name__ == "__main__":
    main()
