"""The datasets of examples/aisbench over real data: what is asked, which answers are right, that all score.

The first row's prompts are kept in `prompts/aisbench` (fakes/kept_prompts.py). After a change that is meant,
`ASSAY_WRITE_PROMPTS=1` updates them; review the difference like any other.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from assay.app.scorers import build_scorers
from assay.core.compilation import Compilation
from assay.core.ids import digest
from assay.core.prompt import Message, final_text
from assay.core.request import Ask, Generate, Request, Span
from assay.core.response import Completion, Finish, Likelihood, Output, Response
from assay.core.sample import Sample
from assay.core.score import Verdict
from assay.core.task import AnsweredRequest, Evaluation, Scorer, TaskSettings
from assay.dialects.openicl.detect import find_config_files
from assay.dialects.openicl.task import ConfigTask
from assay.scoring.aggregate import MeanAggregator
from assay.scoring.originals.llmbox.author_metrics import AuthorMetrics
from cli import assay
from fakes.configs import compile_config
from fakes.judges import ScriptedJudge
from fakes.kept_prompts import blotted, check_kept, described, texts_in

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "aisbench"
PROMPTS = Path(__file__).parent / "prompts" / "aisbench"


class Example(NamedTuple):
    """A config, and one of its datasets."""

    folder: str
    config: str
    abbr: str

    @property
    def path(self) -> Path:
        return EXAMPLES / self.folder / f"{self.config}.py"

    @property
    def name(self) -> str:
        return f"{self.path}:{self.abbr}"


KNOWN = (
    Example("gsm8k", "gsm8k_gen_4_shot_cot_chat_prompt", "gsm8k_4_shot_chat"),
    Example("gsm8k", "gsm8k_gen_4_shot_cot_str", "gsm8k_4_shot_fixed"),
    Example("gsm8k", "gsm8k_gen_4_shot_cot_str", "gsm8k_4_shot_random"),
    Example("gsm8k", "gsm8k_gen_0_shot_cot_judge", "gsm8k_judge"),
    Example("gsm8k", "gsm8k_gen_0_shot_cot_cascade", "gsm8k_cascade"),
    Example("mmlu", "mmlu_ppl_5_shot_str", "mmlu_anatomy"),
    Example("mmlu", "mmlu_gen_5_shot_chat_prompt", "mmlu_anatomy"),
    Example("mmlu", "mmlu_gen_0_shot_circular_chat_prompt", "mmlu_circular_astronomy"),
    Example("ynat", "ynat_ppl_5_shot_str", "ynat_ppl"),
    Example("ynat", "ynat_gen_5_shot_chat_prompt", "ynat_gen"),
    Example("mt_bench", "mt_bench_gen_judge", "mt_bench"),
    Example("easy_vqa", "easy_vqa_gen_0_shot_chat_prompt", "easy_vqa"),
    Example("spoken_digits", "spoken_digits_gen_0_shot_chat_prompt", "spoken_digits"),
    Example("xquad", "xquad_gen_0_shot_str", "xquad"),
    Example("xquad", "xquad_gen_0_shot_judge", "xquad-judge"),
    Example("humaneval", "humaneval_gen_0_shot_pass_at_k", "humaneval"),
)
FOLDERS = sorted({example.folder for example in KNOWN})


def known(abbr: str, config: str = "") -> Example:
    return next(one for one in KNOWN if one.abbr == abbr and config in one.config)


@cache
def compiled(example: Example, data: Path, *, is_chat: bool = False) -> Compilation[ConfigTask]:
    """Compile an example; several tests look at each."""
    (one,) = compile_config(example.name, TaskSettings(is_chat=is_chat), data_root=data)
    return one


def asks_of(one: Compilation[ConfigTask]) -> Iterator[list[Ask]]:
    """Yield what is asked about each row."""
    for sample in one.task.samples():
        yield [request.ask for request in one.task.requests(sample)]


# --- prompts as they were ---


def snapshot(example: Example, data: Path) -> str:
    own_texts = {text for file in example.path.parent.glob("*.py") for text in texts_in(file)}
    parts = []
    for is_chat in (False, True):
        shown = "\n".join(described(next(asks_of(compiled(example, data, is_chat=is_chat)))))
        # The path of the data is not part of a request.
        shown = shown.replace(str(data), "DATA")
        parts.append(f"=== {'chat' if is_chat else 'text'}, {digest(shown)}")
        parts.append(blotted(shown, own_texts))
    return "\n".join(parts) + "\n"


@pytest.mark.parametrize("example", KNOWN, ids=lambda one: f"{one.config}-{one.abbr}")
def test_the_first_row_is_asked_as_it_was(example: Example, shared_data: Path) -> None:
    check_kept(PROMPTS / f"{example.config}.{example.abbr}.txt", snapshot(example, shared_data))


# --- built as the config says, seen without the config's code ---


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def only_prompt(asks: list[Ask]) -> str:
    (ask,) = asks
    assert isinstance(ask, Generate)
    assert isinstance(ask.prompt, str)
    return ask.prompt


def test_gsm8k_shows_the_first_four_problems_or_four_others(shared_data: Path) -> None:
    rows = json_lines(shared_data / "gsm8k" / "train.jsonl")
    solved = []
    for row in rows:
        steps, _, number = re.sub(r"<<.*?>>", "", row["answer"]).partition("\n#### ")
        text = (
            f"Question: {row['question'].strip()}\nAnswer: {steps}\nThe answer is {number.replace(',', '')}\n"
        )
        solved.append(text)
    questions = [row["question"].strip() for row in json_lines(shared_data / "gsm8k" / "test.jsonl")]
    fixed = asks_of(compiled(known("gsm8k_4_shot_fixed"), shared_data))
    for asks, question in zip(islice(fixed, 50), questions, strict=False):
        assert only_prompt(asks) == "\n".join(solved[:4]) + f"\nQuestion: {question}\nAnswer:"
    drawn = asks_of(compiled(known("gsm8k_4_shot_random"), shared_data))
    seen: Counter[str] = Counter()
    for asks, question in zip(islice(drawn, 50), questions, strict=False):
        before, _, own = only_prompt(asks).rpartition("\nQuestion: ")
        assert own == f"{question}\nAnswer:"
        examples = re.split(r"\n(?=Question: )", before)
        assert len(set(examples)) == 4
        assert set(examples) <= set(solved)
        seen.update(examples)
    assert len(seen) > 150


def test_every_subject_of_mmlu_shows_its_own_five_questions(shared_data: Path) -> None:
    entries = compile_config(EXAMPLES / "mmlu" / "mmlu_ppl_5_shot_str.py", data_root=shared_data)
    subjects = json.loads((shared_data / "mmlu" / "subject_categories.json").read_text(encoding="utf-8"))
    assert {one.task.spec.name for one in entries} == {f"mmlu_{name}" for name in subjects["subcategories"]}
    assert sum(one.task.spec.n_rows for one in entries) == 14042
    for one in entries:
        subject = one.task.spec.name.removeprefix("mmlu_")
        with (shared_data / "mmlu" / "dev" / f"{subject}_dev.csv").open(
            encoding="utf-8", newline=""
        ) as lines:
            dev = list(csv.DictReader(lines))
        sample = next(one.task.samples())
        texts = [final_text(request.ask.prompt) for request in one.task.requests(sample)]
        solved = "\n".join(lettered(row) + f" {'ABCD'[int(row['answer'])]}\n" for row in dev)
        fields = {**sample.fields, **{f"choice{at}": sample.fields[x] for at, x in enumerate("ABCD")}}
        head = f"Questions about {subject.replace('_', ' ')}, each with four options and the right one.\n\n"
        assert texts == [f"{head}{solved}\n{lettered(fields)} {letter}" for letter in "ABCD"]


def lettered(row: Mapping[str, Any]) -> str:
    options = "".join(f"\n{letter}. {row[f'choice{at}']}" for at, letter in enumerate("ABCD"))
    return f"{row['question'].strip()}{options}\nAnswer:"


def test_ynat_shows_headlines_that_share_words_and_asks_none_of_them(shared_data: Path) -> None:
    rows = json_lines(shared_data / "klue" / "ynat" / "validation.json")
    pool, asked = {row["title"] for row in rows[-1000:]}, [row["title"] for row in rows[:-1000]]
    one = compiled(known("ynat_ppl"), shared_data)
    assert [sample.fields["title"] for sample in one.task.samples()] == asked
    shares = 0
    for asks, title in zip(islice(asks_of(one), 200), asked, strict=False):
        assert len(asks) == 7
        *shown, own = re.findall(r"기사 제목: (.*)\n", final_text(asks[0].prompt))
        assert own == title
        assert len(shown) == 5
        assert set(shown) <= pool
        shares += any(set(title.split()) & set(other.split()) for other in shown)
    assert shares > 150


def test_circular_questions_move_their_options_and_the_answer_with_them(shared_data: Path) -> None:
    one = compiled(known("mmlu_circular_astronomy"), shared_data)
    samples = list(one.task.samples())
    for at in range(0, len(samples), 4):
        group = samples[at : at + 4]
        assert len({sample.cluster for sample in group}) == 1
        assert len({sample.fields["question"] for sample in group}) == 1
        assert len({sample.fields[sample.targets[0]] for sample in group}) == 1
        assert sorted(sample.targets[0] for sample in group) == list("ABCD")


def only_message(ask: Ask) -> Message:
    assert not isinstance(ask.prompt, str)
    (message,) = ask.prompt
    return message


def test_media_stand_where_the_row_has_them(shared_data: Path) -> None:
    questions = json.loads((shared_data / "easy_vqa" / "questions.json").read_text(encoding="utf-8"))
    asked = list(asks_of(compiled(known("easy_vqa"), shared_data, is_chat=True)))
    assert len(asked) == len(questions)
    for (ask,), (question, _, image) in zip(asked, questions, strict=True):
        message = only_message(ask)
        assert message.display_text == (
            f"[image {shared_data}/easy_vqa/images/{image}.png 64x64]\n"
            f"Look at the picture: {question} Answer in one word."
        )
    for (ask,), digit in zip(
        asks_of(compiled(known("spoken_digits"), shared_data, is_chat=True)), range(10), strict=True
    ):
        message = only_message(ask)
        (clip,) = message.media
        assert clip.path == str(shared_data / "spoken_digits" / f"{digit}_george_0.wav")
        assert message.display_text.startswith(
            "Which digit is spoken here? Reply with the figure alone.\n[audio "
        )


# --- right answers and wrong ones ---


Said: TypeAlias = str | tuple[str, ...] | int
"""A text, one for each turn, or the number of the likeliest option."""
Say: TypeAlias = Callable[[Sample], Said]


def answered(request: Request, message: Said) -> AnsweredRequest:
    """Answer a request."""
    outcome: Completion | Likelihood
    if isinstance(request.ask, Span):
        outcome = Likelihood(0.0 if message == request.index else -50.0, 10, 1, 1, None, 1)
    else:
        assert isinstance(request.ask, Generate)
        turns = message if isinstance(message, tuple) else ()
        text = message[-1] if isinstance(message, tuple) else str(message)
        output = Output(text, Finish.END, 1, turns=turns)
        outcome = Completion((output,) * request.ask.sampling.n, 1)
    return AnsweredRequest(request, Response(request.id, request.key, outcome))


def evaluated(
    one: Compilation[ConfigTask], say: Say, judge: ScriptedJudge | None = None, n_rows: int | None = None
) -> tuple[Evaluation, dict[str, float | None]]:
    """Score what is said about each row, by the example's own evaluation; return the values over all, too."""
    (scorer,) = build_scorers(one.task)
    if judge is not None:
        assert isinstance(scorer, AuthorMetrics)
        scorer.bind(judge)
    scores = []
    for sample in islice(one.task.samples(), n_rows):
        answers = [answered(request, say(sample)) for request in one.task.requests(sample)]
        if isinstance(scorer, Scorer):
            scores.append(scorer.score(sample, answers))
        else:
            scorer.add(sample, answers)
    finished = Evaluation(scores) if isinstance(scorer, Scorer) else scorer.finish()
    aggregator = MeanAggregator()
    aggregator.take(finished)
    return finished, {metric.metric: metric.value for metric in aggregator.metrics() if metric.group is None}


def next_letter(letter: str, letters: str) -> str:
    return letters[(letters.index(letter) + 1) % len(letters)]


class Answers(NamedTuple):
    """Answers to every row that are right, and some that are wrong; the metrics are then all 1, or all 0."""

    right: Say
    wrong: Say
    metrics: tuple[str, ...] = ("accuracy",)


TOPICS = ("IT과학", "경제", "사회", "생활문화", "세계", "스포츠", "정치")
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SUMS = Answers(
    lambda row: f"First we add, that is 4.\nThen we divide.\nThe answer is {row.fields['number']}",
    lambda row: f"The answer is 1{row.fields['number']}",
)
ANSWERS = {
    "gsm8k_4_shot_chat": SUMS,
    "gsm8k_4_shot_fixed": SUMS,
    "gsm8k_4_shot_random": SUMS,
    "mmlu_ppl_5_shot_str": Answers(
        lambda row: "ABCD".index(row.fields["answer"]),
        lambda row: "DABC".index(row.fields["answer"]),
    ),
    "mmlu_gen_5_shot_chat_prompt": Answers(
        lambda row: f"Answer: {row.fields['answer']}\n",
        lambda row: f"Answer: {next_letter(row.fields['answer'], 'ABCD')}",
    ),
    "mmlu_circular_astronomy": Answers(
        lambda row: f"{row.fields['answer']}. {row.fields[row.fields['answer']]}",
        lambda row: f"The answer is {next_letter(row.fields['answer'], 'ABCD')}.",
        ("acc_circular", "acc_origin", "perf_circular", "more_1_circular"),
    ),
    "ynat_ppl": Answers(
        lambda row: TOPICS.index(row.fields["topic"]),
        lambda row: (TOPICS.index(row.fields["topic"]) + 1) % 7,
        ("accuracy", "macro_f1"),
    ),
    "ynat_gen": Answers(
        lambda row: f"A와 B를 살펴보면, 정답은 {row.fields['letter']}입니다.",
        lambda row: TOPICS[(TOPICS.index(row.fields["topic"]) + 1) % 7],
        ("accuracy", "macro_f1"),
    ),
    "easy_vqa": Answers(
        lambda row: f"It is {row.fields['answer'].replace('gray', 'Grey')}.",
        lambda row: "no" if row.fields["answer"] == "yes" else "Yes.",
        ("accuracy", "accuracy (yes/no)", "accuracy (shape)", "accuracy (colour)"),
    ),
    "spoken_digits": Answers(
        lambda row: f"I hear the digit {DIGITS[int(row.fields['digit'])]}.",
        lambda row: str((int(row.fields["digit"]) + 1) % 10),
    ),
    "xquad": Answers(
        lambda row: f"Answer: {row.fields['answer'].upper()}.\nSince the passage says so.",
        lambda row: "none of these words",
        ("exact_match",),
    ),
    "humaneval": Answers(
        lambda row: f"```python\n{row.fields['prompt']}{row.fields['canonical_solution']}```\nDone.",
        lambda row: f"```python\n{row.fields['prompt']}    raise ValueError\n```",
        ("pass@1", "pass@2", "pass@4"),
    ),
}
"""By abbr, or by config where two share one."""
SLOW = {"humaneval": 12, "ynat_ppl": 500, "ynat_gen": 500}
"""How many rows are scored, where all would take long."""


@pytest.mark.parametrize("name", ANSWERS)
def test_right_answers_score_1_and_wrong_ones_0(name: str, shared_data: Path) -> None:
    example = next(one for one in KNOWN if name in (one.abbr, one.config))
    one = compiled(example, shared_data)
    answers = ANSWERS[name]
    for say, worth in ((answers.right, 1.0), (answers.wrong, 0.0)):
        finished, values = evaluated(one, say, n_rows=SLOW.get(name))
        # A number such as 1990,000 is none: a reply without an answer is not right either.
        assert {score.value or 0.0 for score in finished.scores} == {worth}
        for metric in answers.metrics:
            value = values[metric]
            assert value is not None
            # What an author calls out of 100 stays so, unless the rows bear it out.
            assert value in (worth, 100 * worth), (metric, value)


def test_gsm8k_judges_real_solutions_as_their_authors_did(shared_data: Path) -> None:
    solved = {
        row["question"]: row for row in json_lines(shared_data / "gsm8k" / "example_model_solutions.jsonl")
    }
    one = compiled(known("gsm8k_4_shot_chat"), shared_data)
    rows = [solved[sample.fields["question"]] for sample in one.task.samples()]
    models = [key for key in rows[0] if isinstance(rows[0][key], dict)]
    assert len(models) == 4
    for model in models:
        solutions = {row["question"]: row[model]["solution"] for row in rows}
        finished, _ = evaluated(one, lambda row, message=solutions: message[row.fields["question"]])  # type: ignore[misc]
        for score, row in zip(finished.scores, rows, strict=True):
            assert (score.value == 1) == row[model]["is_correct"], row[model]["solution"]


def test_xquad_counts_words_that_two_answers_share(shared_data: Path) -> None:
    _, values = evaluated(
        compiled(known("xquad"), shared_data), lambda row: f"{row.fields['answer']} {row.fields['answer']}"
    )
    assert values["exact_match"] == 0
    # Every word of the answer is there, and as many again: 2 * n / (n + 2n).
    assert values["f1"] == pytest.approx(100 * 2 / 3)


def test_humaneval_counts_functions_by_the_programs_that_pass(shared_data: Path) -> None:
    one = compiled(known("humaneval"), shared_data)
    (sample,) = islice(one.task.samples(), 1)
    (request,) = one.task.requests(sample)
    assert isinstance(request.ask, Generate)
    assert (request.ask.sampling.n, request.ask.sampling.temperature) == (4, 0.8)
    answers = ANSWERS["humaneval"]
    texts = [str(say(sample)) for say in (answers.right, answers.wrong, answers.wrong, answers.wrong)]
    outcome = Completion(tuple(Output(text, Finish.END, 1) for text in texts), 1)
    (scorer,) = build_scorers(one.task)
    assert isinstance(scorer, AuthorMetrics)
    scorer.add(sample, [AnsweredRequest(request, Response(request.id, request.key, outcome))])
    aggregator = MeanAggregator()
    aggregator.take(scorer.finish())
    values = {metric.metric: metric.value for metric in aggregator.metrics()}
    assert [values[f"pass@{k}"] for k in (1, 2, 4)] == pytest.approx([0.25, 0.5, 1.0])


# --- judges ---


def said_by(model: str) -> Callable[[str], str]:
    """Return a judge's way: what the student wrote is right when it names the right result."""

    def reply(shown: str) -> str:
        right = re.search(r"Right (?:result|answer): (.*)", shown)
        message = re.search(model, shown, re.DOTALL)
        assert right is not None
        assert message is not None
        return "A" if right[1] in message[1] else "B: it says something else"

    return reply


@pytest.mark.parametrize(
    ("name", "gold", "model"),
    [
        ("gsm8k_judge", "number", r"The student wrote:\n(.*)\n\nReply"),
        ("xquad-judge", "answer", r"Answer of a candidate: (.*)\n\nDoes"),
    ],
)
def test_a_judge_decides_and_is_reported_nothing_by_the_model(
    name: str, gold: str, model: str, shared_data: Path
) -> None:
    one = compiled(known(name), shared_data)
    right = ScriptedJudge(said_by(model))
    _, values = evaluated(one, lambda row: f"It is {row.fields[gold]}.", right, 40)
    assert values["accuracy"] == 1
    wrong = ScriptedJudge(said_by(model))
    _, values = evaluated(one, lambda row: f"{{{gold}}} {{obj_gold}} {{gold}} {{answer}}", wrong, 40)
    assert values["accuracy"] == 0
    assert all(f"{{{gold}}} {{obj_gold}}" in text for text in wrong.users)


def test_a_cascade_asks_the_judge_about_what_the_rule_does_not_accept(shared_data: Path) -> None:
    one = compiled(known("gsm8k_cascade"), shared_data)
    names = iter(("boxed", "worded", "wrong") * 4)
    kinds: dict[str, str] = {}

    def say(row: Sample) -> str:
        kinds[row.id] = next(names)
        number = row.fields["number"]
        words = {
            "boxed": f"So \\boxed{{{number}}}",
            "worded": f"They have {number} of them, no more",
            "wrong": "?",
        }
        return words[kinds[row.id]]

    judge = ScriptedJudge(lambda shown: "A" if "of them, no more" in shown else "B")
    finished, values = evaluated(one, say, judge, 12)
    by_kind = {
        kind: {score.value for score in finished.scores if kinds[score.sample_id] == kind}
        for kind in kinds.values()
    }
    assert by_kind == {"boxed": {1}, "worded": {1}, "wrong": {0}}
    assert values["accuracy"] == pytest.approx(2 / 3)
    # math-verify reads a bare number too; whatever it accepts, the judge is not asked about.
    asked = "".join(judge.users)
    assert "\\boxed" not in asked
    assert judge.users
    assert values["llm_evaluated"] == len(judge.users)


def test_mt_bench_grades_conversations(shared_data: Path) -> None:
    one = compiled(known("mt_bench"), shared_data, is_chat=True)
    judge = ScriptedJudge(
        lambda shown: f"Well. Rating: [[{9 if 'Answers known to be good' in shown else 4}]]"
    )
    finished, values = evaluated(one, lambda row: ("my first", "my second {question_1}"), judge)
    samples = list(one.task.samples())
    grades = [9.0 if sample.fields["answer"] else 4.0 for sample in samples]
    assert grades.count(9.0) == 30
    assert [score.value for score in finished.scores] == grades
    assert values["score"] == pytest.approx(sum(grades) / 80)
    for sample, shown in zip(samples, judge.users, strict=True):
        first, second = sample.fields["question"]
        assert f"First question: {first}\n\nFirst answer: my first\n" in shown
        assert f"Second question: {second}\n\nSecond answer: my second {{question_1}}" in shown
    (request,) = one.task.requests(samples[0])
    assert isinstance(request.ask, Generate)
    assert request.ask.turns == (samples[0].fields["question"][1],)


def test_a_grade_that_is_none_fails_its_conversation(shared_data: Path) -> None:
    one = compiled(known("mt_bench"), shared_data)
    finished, _ = evaluated(one, lambda row: ("a", "b"), ScriptedJudge(lambda shown: "Rating: [[70]]"), 5)
    assert {score.verdict for score in finished.scores} == {Verdict.FAILED}


# --- the READMEs and their commands ---


def readme(folder: str) -> str:
    return (EXAMPLES / folder / "README.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """Return the arguments of each command of all READMEs."""
    pages = [readme("."), *map(readme, FOLDERS)]
    return [
        shlex.split(line) for text in pages for line in re.findall(r"^\$ assay (.*)$", text, re.MULTILINE)
    ]


def test_every_config_is_tried_and_is_in_the_tables_of_tasks(shared_data: Path) -> None:
    assert {one.path for one in KNOWN} == set(find_config_files(EXAMPLES))
    assert {path.name for path in EXAMPLES.iterdir() if path.is_dir()} == set(FOLDERS)
    for example in KNOWN:
        rows = re.findall(r"^\|(.*)\|$", readme(example.folder), re.MULTILINE)
        cells = [[cell.strip() for cell in row.split("|")] for row in rows]
        (row,) = [row for row in cells if row[0] == example.config]
        _, introduction, metrics, shots, form, link = row
        assert introduction
        assert link == f"[{example.path.name}]({example.path.name})"
        one = compiled(example, shared_data)
        settings = one.task.spec.settings
        n_written = 4 if example.abbr == "gsm8k_4_shot_chat" else 0
        assert shots == f"{settings['shots'] + n_written}-shot"
        assert form.lower().startswith(settings["prompt_format"].split()[0])
        assert metrics
    for folder in FOLDERS:
        assert f"]({folder}/README.md)" in readme(".")


@pytest.mark.parametrize(
    "command", [one for one in commands() if one[0] != "as"], ids=lambda command: " ".join(command[:2])
)
def test_every_row_is_scored_on_the_mock_model(command: list[str], shared_data: Path, workdir: Path) -> None:
    (workdir / "examples").symlink_to(ROOT / "examples")
    command = [str(shared_data) if word == "DATA" else word for word in command]
    if command[0] == "check":
        result = assay(*command)
        assert result.status == 0, result.out + result.err
        assert "15 datasets: 15 ok" in result.out
        return
    # The mock is also the judge, and both say what a judge says.
    stand_in = ["-m", "mock", "--out", "run"]
    stand_in += [] if "--limit" in command else ["--limit", "3"]
    if "--judge" in command:
        verdict = "Rating: [[7]]" if "mt_bench" in command[1] else "A"
        stand_in += ["--judge", "mock", "--model-arg", f"answer={verdict}", "--model-arg", "chat=true"]
    result = assay(*command, *stand_in)
    assert result.status == 0, result.out + result.err
    scores = json_lines(workdir / "run" / "scores.jsonl")
    manifest = json.loads((workdir / "run" / "manifest.json").read_text())
    assert len(scores) == sum(task["n_samples"] for task in manifest["tasks"])
    assert {score["verdict"] for score in scores} <= {"scored", "unanswered"}


def test_a_model_that_sees_and_hears_is_shown_every_file(shared_data: Path, workdir: Path) -> None:
    for name, kind, pattern in (
        ("easy_vqa", "image", "easy_vqa/images/{}.png"),
        ("spoken_digits", "audio", "spoken_digits/{}_george_0.wav"),
    ):
        result = assay(
            *("run", known(name).name, "--data-root", str(shared_data), "-m", "mock", "--limit", "first:5"),
            *("--model-arg", "describe=true", "--out", name),
        )
        assert result.status == 0, result.out + result.err
        message = [
            line["outcome"]["outputs"][0]["text"] for line in json_lines(workdir / name / "responses.jsonl")
        ]
        numbers = [0] * 5 if kind == "image" else range(5)
        sizes = [(shared_data / pattern.format(number)).stat().st_size for number in numbers]
        subtype = {"image": "png", "audio": "wav"}[kind]
        assert message == [f"{kind}/{subtype} of {size} bytes" for size in sizes]


def test_the_summary_of_mmlu_tells_its_groups(shared_data: Path, workdir: Path) -> None:
    (command,) = [one for one in commands() if one[0] == "as"]
    (workdir / "examples").symlink_to(ROOT / "examples")
    stand_ins = {"DATA": str(shared_data), "smollm2": "mock"}
    result = assay(*(stand_ins.get(word, word) for word in command), "--num-prompts", "2")
    assert result.status == 0, result.out + result.err
    (summary,) = workdir.glob("outputs/default/*/runs/*/*/summary.json")
    values = {
        metric["task"]: metric["value"]
        for metric in json.loads(summary.read_text())
        if metric["metric"] in ("accuracy", "naive_average", "weighted_average") and metric["group"] is None
    }
    sizes = {
        path.stem.removesuffix("_test"): n_rows(path)
        for path in (shared_data / "mmlu" / "test").glob("*.csv")
    }
    every = [values[f"mmlu_{subject}"] for subject in sizes]
    assert len(every) == 57
    assert values["mmlu_all"] == pytest.approx(sum(every) / 57)
    weighted = sum(values[f"mmlu_{subject}"] * n for subject, n in sizes.items()) / sum(sizes.values())
    assert values["mmlu_weighted"] == pytest.approx(weighted)
    (table,) = workdir.glob("outputs/default/*/summary/*.csv")
    rows = [line.partition(",")[0] for line in table.read_text().splitlines()[1:]]
    assert rows[:2] == ["mmlu_all", "mmlu_weighted"]
    assert sorted(rows[2:]) == ["mmlu_humanities", "mmlu_other", "mmlu_social_sciences", "mmlu_stem"]


def n_rows(path: Path) -> int:
    with path.open(encoding="utf-8", newline="") as lines:
        return len(list(csv.DictReader(lines)))
