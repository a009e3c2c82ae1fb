"""Logs made by the real inspect_ai, and what it reads in them itself. Runs in inspect_ai's own environment.

    python benchmarks/inspect_worker.py make DIR    # logs of every kind of task, and expected.json
    python benchmarks/inspect_worker.py read PATHS  # prints what inspect_ai reads in logs, as JSON

Models are mockllm and, for a real provider, an OpenAI-compatible server on this machine.
"""

# mypy: disable-error-code="untyped-decorator,no-any-return"
from __future__ import annotations

import itertools
import json
import math
import random
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from inspect_ai import Epochs, Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import (
    Score,
    accuracy,
    answer,
    bootstrap_stderr,
    choice,
    ci,
    exact,
    f1,
    frequency,
    grouped,
    includes,
    match,
    mean,
    metric,
    model_graded_qa,
    multi_scorer,
    pattern,
    scorer,
    std,
    stderr,
    var,
)
from inspect_ai.solver import chain_of_thought, generate, multiple_choice, solver, system_message, use_tools
from inspect_ai.tool import tool

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def sums(n: int, **metadata: Any) -> MemoryDataset:
    """Return additions as samples, with a category for groups."""
    return MemoryDataset(
        [
            Sample(
                id=i + 1,
                input=f"What is {i} + {2 * i + 1}?",
                target=str(3 * i + 1),
                metadata={"category": ("small", "large")[i > n // 2], "terms": [i, 2 * i + 1], **metadata},
            )
            for i in range(n)
        ],
        name="sums",
    )


def quiz(n: int) -> MemoryDataset:
    """Return questions with options, with text ids."""
    return MemoryDataset(
        [
            Sample(
                id=f"q{i}/é {i % 3}",
                input=f"Which of these is number {i}?",
                choices=[f"number {(i + k) % 5}" for k in range(4)],
                target="ABCD"[i % 4],
            )
            for i in range(n)
        ],
        name="quiz",
        location="quiz.jsonl",
    )


def mock(replies: Any) -> Any:
    """Return a model that gives these replies in turn."""
    numbers = itertools.count()

    def reply_next(*_: Any) -> ModelOutput:
        reply = replies(next(numbers))
        output = reply if isinstance(reply, ModelOutput) else ModelOutput.from_content("mockllm/model", reply)
        # Otherwise inspect_ai fetches a tokenizer to count them.
        output.usage = ModelUsage(input_tokens=9, output_tokens=3, total_tokens=12)
        return output

    return get_model("mockllm/model", custom_outputs=reply_next, memoize=False)


@scorer(metrics=[mean(), std(), var()])
def length() -> Any:
    """Score by the length of the reply: numbers off the scale of shares."""

    async def score(state: Any, target: Any) -> Score:
        return Score(value=len(state.output.completion) / 7, explanation="characters / 7")

    return score


@scorer(metrics={"right": [accuracy(), stderr()], "words": [mean()]})
def two_values() -> Any:
    """Score with a dict of values."""

    async def score(state: Any, target: Any) -> Score:
        text = state.output.completion
        return Score(value={"right": target.text in text, "words": len(text.split())}, answer=text[:20])

    return score


@scorer(metrics={"*": [mean(), stderr()]})
def any_values() -> Any:
    """Score with a dict of values whose keys the metrics do not name."""

    async def score(state: Any, target: Any) -> Score:
        return Score(value={"a": 1, "b": 0.25, "c": None if state.sample_id == 2 else 3})

    return score


@metric
def last_of_list() -> Any:
    """Return the mean of the last entries of list values."""

    def compute(scores: Any) -> float:
        return sum(one.score.value[-1] for one in scores) / max(1, len(scores))

    return compute


@scorer(metrics=[last_of_list()])
def list_values() -> Any:
    """Score with lists."""

    async def score(state: Any, target: Any) -> Score:
        return Score(value=[0.5, 1, float(int(state.sample_id) % 2)])

    return score


@scorer(metrics=[accuracy(), stderr(), ci()])
def graded() -> Any:
    """Score with partial credit, no answer, and no score at all."""

    async def score(state: Any, target: Any) -> Score:
        number = int(state.sample_id)
        if number % 7 == 6:
            return Score.unscored(reason="grader_failed", explanation="the grader gave no grade")
        value = "CIPN"[number % 4]
        return Score(
            value=value, answer=None if value == "N" else state.output.completion, metadata={"k": number}
        )

    return score


@scorer(metrics=[frequency()])
def letters() -> Any:
    """Score with categories instead of numbers."""

    async def score(state: Any, target: Any) -> Score:
        return Score(value="ABF"[int(state.sample_id) % 3])

    return score


@scorer(metrics=[accuracy(), stderr()])
def fails_at_four() -> Any:
    """A scorer whose code raises for one sample."""

    async def score(state: Any, target: Any) -> Score:
        if state.sample_id == 4:
            raise ValueError("the scorer cannot read this reply")
        return Score(value="C")

    return score


@tool
def add() -> Any:
    """Add two numbers."""

    async def execute(x: int, y: int) -> int:
        """Add two numbers.

        Args:
            x: The first.
            y: The second.
        """
        return x + y

    return execute


@solver
def breaks_at(*numbers: int) -> Any:
    """Raise an error for some samples."""

    async def solve(state: Any, generate: Any) -> Any:
        if state.sample_id in numbers:
            raise RuntimeError(f"the tool server is gone\nsample {state.sample_id}")
        return state

    return solve


@solver
def asks_again() -> Any:
    """Ask a second question after the first answer."""

    async def solve(state: Any, generate: Any) -> Any:
        state = await generate(state)
        state.messages.append(ChatMessageUser(content="Are you sure?"))
        return await generate(state)

    return solve


def tool_calls(i: int) -> Any:
    """Return a call of the tool, then an answer."""
    if i % 2 == 0:
        return ModelOutput.for_tool_call("mockllm/model", "add", {"x": i // 2, "y": i + 1})
    return f"The answer is {3 * (i // 2) + 1}"


def right_often(i: int) -> str:
    """Return the right sum in two of three cases."""
    return f"The sum is {3 * i + (1 if i % 3 else 2)}"


def letter(i: int) -> str:
    """Return an option; every fifth reply has none."""
    return "I do not know." if i % 5 == 4 else f"ANSWER: {'ABCD'[(i + (i % 3 == 0)) % 4]}"


def images(n: int) -> MemoryDataset:
    """Return questions about a picture, with a system message."""
    return MemoryDataset(
        [
            Sample(
                id=i,
                input=[
                    ChatMessageSystem(content="Look closely."),
                    ChatMessageUser(
                        content=[ContentText(text=f"Which colour, {i}?"), ContentImage(image=PNG)]
                    ),
                ],
                target=["red", "rouge"],
            )
            for i in range(n)
        ],
        name="images",
    )


def evals(server: str) -> Iterator[tuple[str, Task, Any, dict[str, Any]]]:
    """Yield a name, a task, a model and options of `eval` for each kind of task."""
    serial: dict[str, Any] = {"max_samples": 1}
    yield "match", Task(sums(12), solver=generate(), scorer=match(numeric=True)), mock(right_often), serial
    yield "includes", Task(sums(30), scorer=includes()), mock(right_often), serial
    yield "choice", Task(quiz(20), solver=multiple_choice(), scorer=choice()), mock(letter), serial
    yield (
        "choice_cot",
        Task(quiz(9), solver=[system_message("Be brief."), multiple_choice(cot=True)], scorer=choice()),
        mock(letter),
        serial,
    )
    yield "pattern", Task(sums(8), scorer=pattern(r"(\d+)$")), mock(right_often), serial
    yield (
        "answer_line",
        Task(sums(8), solver=[chain_of_thought(), generate()], scorer=answer("line")),
        mock(lambda i: f"ANSWER: {3 * i + 1}"),
        serial,
    )
    yield "f1_exact", Task(sums(9), scorer=[f1(), exact()]), mock(right_often), serial
    yield "several", Task(sums(9), scorer=[match(), includes(), length()]), mock(right_often), serial
    yield "dict_values", Task(sums(9), scorer=two_values()), mock(right_often), serial
    yield "star_values", Task(sums(5), scorer=any_values()), mock(right_often), serial
    yield "list_values", Task(sums(5), scorer=list_values()), mock(right_often), serial
    yield "partial", Task(sums(24), scorer=graded()), mock(right_often), {**serial, "log_format": "json"}
    yield "letters", Task(sums(10), scorer=letters()), mock(right_often), serial
    yield (
        "grouped",
        Task(
            sums(20),
            scorer=match(),
            metrics=[grouped(accuracy(), "category"), stderr(), bootstrap_stderr()],
        ),
        mock(right_often),
        serial,
    )
    for reducers in (["mean"], ["mode"], ["max"], ["pass_at_2", "mean"], ["at_least_2"], ["median"]):
        yield (
            f"epochs_{'_'.join(reducers)}",
            Task(sums(8), scorer=match(), epochs=Epochs(3, reducers)),
            mock(lambda i: f"it is {3 * (i % 8) + 1}" if i * 7 % 5 > 1 else "unsure"),
            serial,
        )
    yield (
        "epochs_several",
        Task(sums(6), scorer=[match(), length()], epochs=2),
        mock(right_often),
        {**serial, "log_format": "json"},
    )
    yield (
        "judged",
        Task(sums(8), scorer=model_graded_qa(model=mock(lambda i: f"So. GRADE: {'CIC'[i % 3]}"))),
        mock(right_often),
        serial,
    )
    yield (
        "judges_vote",
        Task(
            sums(6),
            scorer=multi_scorer(
                [
                    model_graded_qa(model=mock(lambda i: "GRADE: C")),
                    model_graded_qa(model=mock(lambda i: "GRADE: I" if i % 2 else "GRADE: C")),
                    includes(),
                ],
                "mode",
            ),
        ),
        mock(right_often),
        serial,
    )
    yield (
        "errors_kept",
        Task(sums(10), solver=[breaks_at(3, 8), generate()], scorer=match(), fail_on_error=False),
        mock(right_often),
        serial,
    )
    yield (
        "errors_stop",
        Task(sums(10), solver=[breaks_at(5), generate()], scorer=match()),
        mock(right_often),
        serial,
    )
    yield (
        "scorer_fails",
        Task(sums(6), scorer=fails_at_four(), fail_on_error=False),
        mock(right_often),
        serial,
    )
    yield (
        "tools",
        Task(sums(6), solver=[use_tools(add()), generate()], scorer=includes()),
        mock(tool_calls),
        serial,
    )
    yield (
        "message_limit",
        Task(sums(5), solver=[use_tools(add()), generate()], scorer=includes(), message_limit=3),
        mock(tool_calls),
        serial,
    )
    yield (
        "token_limit",
        Task(sums(5), solver=asks_again(), scorer=match(), token_limit=20),
        mock(right_often),
        serial,
    )
    yield "turns", Task(sums(4), solver=asks_again(), scorer=includes()), mock(right_often), serial
    yield "images", Task(images(4), scorer=includes()), mock(lambda i: "red" if i % 2 else "blue"), serial
    yield "no_scorer", Task(sums(4)), mock(right_often), serial
    yield (
        "truncated",
        Task(sums(6), scorer=includes()),
        mock(
            lambda i: ModelOutput.from_content(
                "mockllm/model", f"so {3 * i + 1}", stop_reason="max_tokens" if i % 2 else "stop"
            )
        ),
        serial,
    )
    yield (
        "long_texts",
        Task(
            MemoryDataset([Sample(id=i, input="word " * 4000 + str(i), target=str(i)) for i in range(3)]),
            scorer=includes(),
        ),
        mock(lambda i: "thought " * 5000 + str(i)),
        serial,
    )
    yield "limit", Task(sums(30), scorer=match()), mock(right_often), {**serial, "limit": 7}
    yield (
        "unscored",
        Task(sums(6), scorer=match()),
        mock(right_often),
        {**serial, "score": False},
    )
    openai = get_model("openai-api/local/fixed", base_url=server, api_key="none", memoize=False)
    yield (
        "server",
        Task(sums(15), scorer=[match(), includes()], epochs=2),
        openai,
        {"max_connections": 4, "temperature": 0.5, "max_tokens": 32},
    )
    yield (
        "server_choice",
        Task(quiz(10), solver=multiple_choice(), scorer=choice()),
        openai,
        {"max_connections": 4, "logprobs": True},
    )


class _Server(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that answers by the text of the question."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        drawn = random.Random(json.dumps(body["messages"])).random()
        asked = str(body["messages"][-1]["content"])
        text = (
            f"ANSWER: {'ABCD'[int(drawn * 4)]}" if "ANSWER" in asked else f"perhaps {int(drawn * 9) * 3 + 1}"
        )
        reply = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "fixed-2026",
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            ],
            "usage": {
                "prompt_tokens": len(asked.split()),
                "completion_tokens": 3,
                "total_tokens": 3 + len(asked.split()),
            },
        }
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def make(folder: Path) -> None:
    """Write the logs of all kinds, each as `.eval` and as `.json`, and what inspect_ai reads in them."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    expected: dict[str, Any] = {}
    for name, task, model, options in evals(f"http://127.0.0.1:{server.server_port}/v1"):
        task._name = name
        logs = eval(task, model, log_dir=str(folder / name), display="none", **options)
        for log in logs:
            whole = read_eval_log(log.location)
            for kind in ("eval", "json"):
                path = folder / f"{name}.{kind}"
                write_eval_log(whole, str(path))
                expected[path.name] = summarize(read_eval_log(str(path)))
        for own in list_eval_logs(str(folder / name)):
            path = Path(own.name.removeprefix("file://"))
            expected[str(path.relative_to(folder))] = summarize(read_eval_log(str(path)))
    for path in interrupt(folder):
        expected[path.name] = summarize(read_eval_log(str(path)))
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))
    server.shutdown()


def interrupt(folder: Path) -> Iterator[Path]:
    """Write logs as they are if an evaluation is cancelled, or killed before it finished."""
    for name in ("several", "epochs_mode"):
        log = read_eval_log(str(folder / f"{name}.json"))
        log.status, log.results, log.reductions = "cancelled", None, None
        for kind in ("eval", "json"):
            cancelled = folder / f"cancelled_{name}.{kind}"
            write_eval_log(log, str(cancelled))
            yield cancelled
        started = folder / f"started_{name}.eval"
        whole = zipfile.ZipFile(next((folder / name).glob("*.eval")))
        with whole, zipfile.ZipFile(started, "w", zipfile.ZIP_DEFLATED) as part:
            for member in whole.namelist():
                if member.startswith(("_journal/", "samples/")):
                    part.writestr(member, whole.read(member))
        yield started


def summarize(log: EvalLog) -> dict[str, Any]:
    """Return status, counts, metrics and the values of all samples as inspect_ai reads them."""
    return {
        "status": log.status,
        "task": log.eval.task,
        "model": log.eval.model,
        "n_samples": len(log.samples or []),
        "metrics": {
            f"{one.name} {one.scorer} {one.reducer}": {
                name: plain(value.value) for name, value in one.metrics.items()
            }
            for one in (log.results.scores if log.results else [])
        },
        "samples": [
            {
                "id": sample.id,
                "epoch": sample.epoch,
                "error": None if sample.error is None else sample.error.message,
                "text": sample.output.completion,
                "n_messages": len(sample.messages),
                "scores": {
                    name: {"value": plain(one.value), "answer": one.answer, "explanation": one.explanation}
                    for name, one in (sample.scores or {}).items()
                },
            }
            for sample in log.samples or []
        ],
    }


def plain(value: Any) -> Any:
    """Return a value as JSON can store it; not a number: None."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        json.dump({path: summarize(read_eval_log(path)) for path in sys.argv[2:]}, sys.stdout)
