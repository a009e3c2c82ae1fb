"""Pairing the samples of runs of different programs: by id, else by a normalised text of the question.

Programs name samples in different ways: by row number, by a hash, by an id of the dataset. Equal row numbers
can belong to different rows, so ids only count if the questions do not contradict them. Of a log that has no
records, such as OpenCompass's predictions, the prompts are searched for the questions of the other run.
"""

from __future__ import annotations

import hashlib
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
import numpy as np

from assay.core.errors import Problem, UsageError, listing
from assay.core.prompt import Prompt, final_text
from assay.results.baseline_run import BaselineRun, ScoredRun
from assay.results.damaged_files import make_line_reader
from assay.results.growing_file import Tail
from assay.results.read import StoredRun
from assay.results.score_columns import Keys, Places
from assay.results.store import SAMPLES

ENOUGH = 0.95
"""The share of the smaller run's samples that must be paired for a verdict."""
_MOST_SHOWN = 3
_LEAST_WORDS = 3
"""Shorter questions are not searched for in prompts, which could contain them by chance."""
_QUESTION_FIELDS = ("question", "query", "problem", "input", "instruction", "prompt", "q", "text", "sentence")
"""Fields that contain a question, in order of preference; more than one program uses each of them."""


class JoinedBy(StrEnum):
    """What the samples of two runs were paired by."""

    ID = "their ids"
    QUESTION = "the text of the question"
    LONGEST = "the longest text of the record"
    PROMPT = "the text of the prompt"


class SampleJoin(NamedTuple):
    """The paired samples of one task of two runs."""

    by: JoinedBy
    a: Places
    b: Places
    """Places in each run's list of samples, in the first run's order."""
    n_a: int
    n_b: int
    n_ambiguous: int = 0
    """Samples whose text occurs a different number of times in the other run; they are left out."""

    @property
    def share(self) -> float:
        """Return the share of the smaller run's samples that are paired."""
        return len(self.a) / max(1, min(self.n_a, self.n_b))

    @property
    def is_enough(self) -> bool:
        """Whether enough samples are paired for a verdict."""
        return self.share >= ENOUGH

    def describe(self) -> str:
        """Return how many samples were paired, and by what."""
        text = f"{len(self.a):,} of {min(self.n_a, self.n_b):,} samples paired by {self.by}"
        if self.n_ambiguous:
            text += f"; {self.n_ambiguous:,} with a text that occurs unequally often are left out"
        return text

    def describe_refusal(self) -> str:
        """Return why there is no verdict, and what to do about it."""
        return (
            f"only {self.describe()}, fewer than {100 * ENOUGH:.0f} %: no verdict. "
            "Compare runs of the same rows, or give both datasets a column of ids"
        )


class ProgramJoin:
    """The tasks and samples of two runs of different programs."""

    def __init__(self, a: ScoredRun, b: ScoredRun) -> None:
        if isinstance(a, BaselineRun) or isinstance(b, BaselineRun):
            raise build_no_texts_error()
        own = [[task.name for task in run.manifest.tasks] for run in (a, b)]
        self.keys_a, self.keys_b = (
            read_task_keys(run, {name: name for name in names})
            for run, names in zip((a, b), own, strict=True)
        )
        self._joins: dict[tuple[str, str], SampleJoin] = {}
        self.names = pair_tasks(*own)
        """Maps the second run's task names to the first run's: by name, else by their samples."""
        methods = [{task.name: set(task.methods) for task in run.manifest.tasks} for run in (a, b)]
        for other in [name for name in own[1] if name not in self.names]:
            left = [name for name in own[0] if name not in self.names.values()]
            left.sort(key=lambda name: not methods[0][name] & methods[1][other])
            same = next((name for name in left if self.join(name, other).is_enough), None)
            if same is not None:
                self.names[other] = same

    def join(self, task_a: str, task_b: str) -> SampleJoin:
        """Return the paired samples of a task of each run."""
        known = self._joins.get((task_a, task_b))
        if known is None:
            keys = self.keys_a.get(task_a, TaskKeys()), self.keys_b.get(task_b, TaskKeys())
            known = self._joins[task_a, task_b] = join_samples(*keys)
        return known


class TaskKeys:
    """The samples of one task of a run: their ids, and hashes of texts to pair them by."""

    def __init__(self) -> None:
        self.ids = Keys()
        self.rows = array("q")
        """Their places among the samples of all tasks."""
        self.texts: dict[JoinedBy, list[bytes]] = {way: [] for way in JoinedBy if way is not JoinedBy.ID}
        """Empty for a sample without such a text."""

        self.questions: list[str] = []
        """Normalised; empty for a record without a question."""
        self.prompts: list[str] = []
        """Normalised; empty for a sample with a question, which needs none."""

    def __len__(self) -> int:
        return len(self.ids)

    def add_texts(self, question: str, longest: str, prompt: str) -> None:
        """Add the normalised texts of a sample."""
        self.questions.append(question)
        self.prompts.append("" if question else prompt)
        for way, text in zip(self.texts, (question, longest, prompt), strict=True):
            self.texts[way].append(_hash_text(text))


def read_task_keys(run: StoredRun, names: Mapping[str, str]) -> dict[str, TaskKeys]:
    """Return the samples of a run by task; `names` maps the run's task names to those in the result."""
    keys: dict[str, TaskKeys] = {}
    for row, line in enumerate(_read_lines(run, names)):
        task = names[line.task]
        own = keys.setdefault(task, TaskKeys())
        own.ids.append(line.sample.id)
        own.rows.append(row)
        own.add_texts(
            normalize_text(_find_question(line.sample.fields)),
            normalize_text(_find_longest(line.sample.fields)),
            normalize_text(_read_prompt(line)),
        )
    return keys


def join_samples(a: TaskKeys, b: TaskKeys) -> SampleJoin:
    """Pair the samples of two runs by the first way that pairs enough of them, or else the most."""
    a, b = _find_asked_questions(b, a), _find_asked_questions(a, b)
    rows_a, rows_b = a.ids.match(b.ids)
    by_id = SampleJoin(JoinedBy.ID, rows_a, rows_b, len(a), len(b))
    by_text = [_join_texts(way, a, b) for way in a.texts]
    best = max(by_text, key=lambda one: (one.is_enough, len(one.a)))
    fitting = next((one for one in by_text if one.is_enough), best)
    if by_id.is_enough and not _contradicts(fitting, by_id):
        return by_id
    return fitting if fitting.is_enough or len(fitting.a) > len(by_id.a) else by_id


def normalize_text(text: str) -> str:
    """Return a text without differences that do not change a question: case, spaces, punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(char if char.isalnum() else " " for char in plain).split()) or plain.strip()


def _contradicts(by_text: SampleJoin, by_id: SampleJoin) -> bool:
    """Whether the texts pair other samples than the ids do."""
    if not by_text.is_enough:
        return False
    paired = dict(zip(by_text.a.tolist(), by_text.b.tolist(), strict=True))
    pairs = [
        (one, other) for one, other in zip(by_id.a.tolist(), by_id.b.tolist(), strict=True) if one in paired
    ]
    n_other = sum(paired[one] != other for one, other in pairs)
    return bool(n_other > (1 - ENOUGH) * len(pairs))


def _join_texts(way: JoinedBy, a: TaskKeys, b: TaskKeys) -> SampleJoin:
    """Pair samples with equal texts; texts that occur repeatedly are paired in order if equally often."""
    places: dict[bytes, tuple[list[int], list[int]]] = {}
    for side, keys in enumerate((a, b)):
        for place, text in enumerate(keys.texts[way]):
            if text:
                places.setdefault(text, ([], []))[side].append(place)
    pairs: list[tuple[int, int]] = []
    n_ambiguous = 0
    for here, there in places.values():
        if len(here) == len(there):
            pairs += zip(here, there, strict=True)
        elif here and there:
            n_ambiguous += min(len(here), len(there))
    pairs.sort()
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return SampleJoin(way, found[:, 0], found[:, 1], len(a), len(b), n_ambiguous)


class _Sample(msgspec.Struct, frozen=True):
    id: str
    fields: dict[str, Any]


class _Line(msgspec.Struct, frozen=True):
    task: str
    sample: _Sample
    contexts: msgspec.Raw


_decode_prompts = msgspec.json.Decoder(tuple[Prompt, ...]).decode


def _read_lines(run: StoredRun, names: Mapping[str, str]) -> Iterator[_Line]:
    path = run.path / SAMPLES
    read = make_line_reader(path, _Line)
    for place, raw in Tail(path).lines():
        line = read(place, raw)
        if line.task in names:
            yield line


def _read_prompt(line: _Line) -> str:
    prompts = _decode_prompts(line.contexts)
    if not prompts:
        return ""
    prompt = prompts[0]
    if isinstance(prompt, str):
        return prompt
    users = [message for message in prompt if message.role == "user"]
    return users[-1].text if users else final_text(prompt)


class _QuestionFinder:
    """Finds which of many questions a prompt asks: the last one in it, as solved examples come before it."""

    def __init__(self, questions: Iterable[str]) -> None:
        self._by_start: dict[tuple[str, ...], list[list[str]]] = {}
        for question in dict.fromkeys(questions):
            words = question.split()
            if len(words) >= _LEAST_WORDS:
                self._by_start.setdefault(tuple(words[:_LEAST_WORDS]), []).append(words)

    def find(self, prompt: str) -> str:
        """Return the question; empty if the prompt contains none of them."""
        words = prompt.split()
        for at in range(len(words) - _LEAST_WORDS, -1, -1):
            starting = self._by_start.get(tuple(words[at : at + _LEAST_WORDS]), ())
            fitting = [one for one in starting if words[at : at + len(one)] == one]
            if fitting:
                return max((" ".join(one) for one in fitting), key=len)
        return ""


def _find_asked_questions(known: TaskKeys, asked: TaskKeys) -> TaskKeys:
    """Return the samples of a log without records, with the questions of the other run that they ask."""
    if any(asked.questions) or not any(known.questions):
        return asked
    finder = _QuestionFinder(known.questions)
    found = TaskKeys()
    found.ids, found.rows, found.prompts = asked.ids, asked.rows, asked.prompts
    found.questions = [finder.find(prompt) for prompt in asked.prompts]
    found.texts = {**asked.texts, JoinedBy.QUESTION: [_hash_text(one) for one in found.questions]}
    return found


def _find_question(fields: Mapping[str, Any]) -> str:
    texts = {name.casefold(): value for name, value in fields.items() if isinstance(value, str)}
    return next((texts[name] for name in _QUESTION_FIELDS if texts.get(name, "").strip()), "")


def _find_longest(fields: Mapping[str, Any]) -> str:
    return max(_iter_texts(fields), key=len, default="")


def _iter_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _iter_texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _iter_texts(one)


def _hash_text(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() if text else b""


def are_of_different_programs(a: ScoredRun, b: ScoredRun) -> bool:
    """Whether two runs were evaluated by different programs, as far as their manifests say."""
    logs = [run.manifest.imported for run in (a, b)]
    return len({None if log is None else log.format for log in logs}) > 1


def pair_tasks(first: Sequence[str], other: Sequence[str]) -> dict[str, str]:
    """Map each task of the other run to the first run's task of the same name; then pair single leftovers."""
    names = {task: task for task in other if task in first}
    left, left_other = ([task for task in tasks if task not in names] for tasks in (first, other))
    if len(left) == len(left_other) == 1:
        names[left_other[0]] = left[0]
    return names


def build_no_texts_error() -> UsageError:
    """Return the error of a baseline that is compared with a run of another program."""
    what = "a run of another program is paired by its texts, which a baseline does not contain"
    return UsageError(Problem("GATE-003", what, "name the run folders of both: assay compare A B"))


def build_join_error(refused: Mapping[str, SampleJoin]) -> UsageError:
    """Return the error of runs of which too few samples are paired, with the reason of the first task."""
    join = next(iter(refused.values()))
    shown = f"{listing(refused, at_most=_MOST_SHOWN)}: {join.describe_refusal()}"
    return UsageError(
        Problem(
            "COMPARE-008",
            f"the runs of different programs cannot be compared: {shown}",
            "name runs of the same rows of the same dataset",
        )
    )
