"""Tasks that a Python class defines, and what authors' code imports; expected texts are written by hand."""

from __future__ import annotations

import base64
import io
import json
import math
import random
import wave
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.app.lm_eval_tasks import build_lm_eval_tools
from assay.core.compilation import Compilation
from assay.core.errors import AssayError
from assay.core.media import Image, Medium, Text
from assay.core.method import Method
from assay.core.prompt import Message
from assay.core.request import Generate, Request, Span
from assay.core.response import Completion, Failure, Finish, Likelihood, Outcome, Output, Response
from assay.core.task import AnsweredRequest, ComponentSpec, TaskSettings
from assay.dialects.lm_eval.compile import compile_task_files
from assay.dialects.lm_eval.evaluation import Evaluation
from assay.dialects.lm_eval.media import describe_document, read_medium
from assay.dialects.lm_eval.task import LmEvalTask

pytest.importorskip("datasets")

ROWS = [
    {"id": "a", "q": "Capital of France?", "a": "Paris"},
    {"id": "b", "q": "Capital of Norway?", "a": ""},
]
CLASS = """
from lm_eval.api.instance import Instance
from lm_eval.api.metrics import mean
from lm_eval.api.task import ConfigurableTask


class Capitals(ConfigurableTask):
    VERSION = 2
    DATASET_PATH = "json"

    def __init__(self, config=None):
        super().__init__(config={"dataset_kwargs": {"data_files": {"validation": "rows.jsonl"}}})

    def has_training_docs(self):
        return False

    def has_validation_docs(self):
        return True

    def validation_docs(self):
        return self.dataset["validation"]

    def doc_to_text(self, doc):
        return f"Question: {doc['q']} Answer:"

    def doc_to_target(self, doc):
        return " " + doc["a"]

    def construct_requests(self, doc, ctx, **kwargs):
        kwargs.pop("chat_template"), kwargs.pop("apply_chat_template")
        return [
            Instance(
                request_type="generate_until",
                doc=doc,
                arguments=(ctx, {**self.config.generation_kwargs, "until": ["\\n"], "max_gen_toks": 7}),
                idx=0,
                **kwargs,
            ),
            Instance(
                request_type="loglikelihood", doc=doc, arguments=(ctx, " unanswerable"), idx=0, **kwargs
            ),
        ]

    def process_results(self, doc, results):
        text, (likelihood, is_greedy) = results
        return {"contains": int(doc["a"] in text), "unanswerable": likelihood}

    def aggregation(self):
        return {"contains": mean, "unanswerable": mean}

    def higher_is_better(self):
        return {"contains": True, "unanswerable": False}
"""
TEXT = """
task: sums
dataset_path: json
dataset_kwargs:
  data_files: {test: rows.jsonl}
test_split: test
doc_to_text: q
doc_to_target: a
"""


def compile_in(
    folder: Path, yaml: str, rows: Sequence[Any] = ROWS, settings: TaskSettings | None = None, **files: str
) -> Compilation[LmEvalTask]:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for stem, text in files.items():
        (folder / f"{stem}.py").write_text(text)
    (folder / "task.yaml").write_text(yaml)
    path = str(folder / "task.yaml")
    compiled = compile_task_files([path], settings or TaskSettings(), build_lm_eval_tools(path, [], None))
    return compiled[0]


def list_requests(task: LmEvalTask, number: int = 0) -> Sequence[Request]:
    return task.requests(list(task.samples())[number])


def read_evaluation(task: LmEvalTask) -> Evaluation:
    spec = task.scorers()[0]
    assert isinstance(spec, ComponentSpec)
    evaluation = spec.args["author"]
    assert isinstance(evaluation, Evaluation)
    return evaluation


def answer(requests: Sequence[Request], outcomes: Sequence[Outcome]) -> list[AnsweredRequest]:
    return [
        AnsweredRequest(request, Response(request.id, request.key, outcome))
        for request, outcome in zip(requests, outcomes, strict=True)
    ]


def say(text: str) -> Completion:
    return Completion((Output(text, Finish.STOP, 1),), 1)


def score_text(task: LmEvalTask, text: str, number: int = 0) -> Any:
    sample = list(task.samples())[number]
    return read_evaluation(task).values(sample, answer(task.requests(sample), [say(text)]))


@pytest.fixture
def folder(tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_class_asks_and_scores_by_its_own_methods(folder: Path) -> None:
    compiled = compile_in(folder, "task: capitals\nclass: !function own.Capitals\n", own=CLASS)
    task = compiled.task
    generate, span = (request.ask for request in list_requests(task))
    assert isinstance(generate, Generate)
    assert (generate.prompt, generate.sampling.stop, generate.sampling.max_tokens) == (
        "Question: Capital of France? Answer:",
        ("\n",),
        7,
    )
    assert span == Span("Question: Capital of France? Answer: unanswerable", 36)
    assert (task.spec.methods, task.spec.settings["version"]) == ((Method.GEN,), "2")
    sample = next(iter(task.samples()))
    outcomes: list[Outcome] = [say("It is Paris."), Likelihood(-2.5, 1, 1, 1, None, 1)]
    evaluation = read_evaluation(task)
    assert evaluation.values(sample, answer(task.requests(sample), outcomes)) == {
        "contains": 1,
        "unanswerable": -2.5,
    }
    assert evaluation.higher_is_better()["unanswerable"] is False


def test_a_class_without_own_requests_is_asked_as_its_keys_say(folder: Path) -> None:
    code = "from lm_eval.api.task import ConfigurableTask\n\n\nclass Own(ConfigurableTask):\n"
    code += "    def doc_to_text(self, doc, doc_to_text=None):\n        return doc['q'].upper()\n"
    task = compile_in(folder, TEXT + "class: !function own.Own\n", own=code).task
    ask = list_requests(task)[0].ask
    assert isinstance(ask, Generate)
    assert ask.prompt == "CAPITAL OF FRANCE?"
    assert score_text(task, "Paris") == {"exact_match": 1.0}


def test_a_program_passes_if_it_runs_with_its_test_in_the_sandbox(folder: Path) -> None:
    code = """
import evaluate

pass_at_1 = evaluate.load("code_eval")


def pass_at_k(references, predictions, k=1):
    return pass_at_1.compute(references=references, predictions=[predictions], k=[k])[0]["pass@1"]
"""
    metrics = "metric_list: [{metric: !function own.pass_at_k, aggregation: mean, k: 1}]\nunsafe_code: true\n"
    rows = [{"q": "double", "a": "assert double(2) == 4"}]
    task = compile_in(folder, TEXT + metrics, rows, own=code).task
    assert score_text(task, "def double(x):\n    return 2 * x") == {"pass_at_k": 1.0}
    assert score_text(task, "def double(x):\n    return x") == {"pass_at_k": 0.0}


def test_metrics_of_the_evaluate_library_need_no_download(folder: Path) -> None:
    task = compile_in(folder, TEXT + "metric_list: [{metric: rouge, aggregation: mean}]\n").task
    values = score_text(task, "Paris it is")
    assert values["rouge1"] == pytest.approx(0.5)


def test_a_sampler_of_the_author_draws_the_examples(folder: Path) -> None:
    code = """
from lm_eval.api.samplers import ContextSampler


class Last(ContextSampler):
    def sample(self, n, eval_doc=None, df=None, **kwargs):
        return self.fewshot_docs()[-n:]
"""
    yaml = TEXT + "num_fewshot: 1\nfewshot_split: test\nfewshot_config: {sampler: !function own.Last}\n"
    yaml = yaml.replace("{sampler", "\n  sampler").replace("Last}", "Last")
    rows = [*ROWS, {"id": "c", "q": "Capital of Chad?", "a": "N'Djamena"}]
    ask = list_requests(compile_in(folder, yaml, rows, own=code).task)[0].ask
    assert ask.prompt == "Capital of Chad? N'Djamena\n\nCapital of France?"


def test_images_take_the_places_that_the_text_marks(folder: Path) -> None:
    pixel = (
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
        "awAAAABJRU5ErkJggg=="
    )
    rows = [{"q": "What is <image>?", "a": "a dot", "image": pixel}]
    prompt = list_requests(compile_in(folder, TEXT + "doc_to_image: [image]\n", rows).task)[0].ask.prompt
    assert isinstance(prompt[0], Message)
    assert isinstance(prompt[0].content, tuple)
    first, image, last = prompt[0].content
    assert (first, last) == (Text("What is "), Text("?"))
    assert isinstance(image, Image)


def test_a_server_that_reports_no_first_choice_fails_where_it_matters(folder: Path) -> None:
    yaml = TEXT + "output_type: loglikelihood\n"
    unknown = Likelihood(-2.0, 1, 1, 1, None, 1)
    task = compile_in(folder, yaml).task
    sample = next(iter(task.samples()))
    failed = read_evaluation(task).values(sample, answer(task.requests(sample), [unknown]))
    assert isinstance(failed, Failure)
    assert "first choice" in failed.message
    task = compile_in(folder, yaml + "metric_list: [{metric: perplexity}]\n").task
    assert read_evaluation(task).values(sample, answer(task.requests(sample), [unknown])) == {
        "perplexity": -2.0
    }


def test_a_class_that_raises_is_reported_with_its_task(folder: Path) -> None:
    code = "class Own:\n    def __init__(self, config=None):\n        raise ValueError('no folder')\n"
    with pytest.raises(AssayError, match=r"LMEVAL-008.*task 'own': the class Own raised .*no folder"):
        compile_in(folder, "task: own\nclass: !function own.Own\n", own=code)


def test_a_faithful_run_calls_process_docs_as_often_as_the_original(folder: Path) -> None:
    code = """
import random


def shuffle(docs):
    return docs.map(lambda doc: {"q": f"{doc['q']} {random.randrange(1000)}"}, load_from_cache_file=False)
"""
    task = compile_in(
        folder,
        TEXT + "process_docs: !function own.shuffle\n",
        settings=TaskSettings(is_faithful=True),
        own=code,
    ).task
    generator = random.Random(0)
    numbers = [generator.randrange(1000) for _ in range(3 * len(ROWS))]
    # Once for the examples, once for the checks, and then for the requests.
    assert list_requests(task)[0].ask.prompt == f"Capital of France? {numbers[2 * len(ROWS)]}"


CHOICES = """
from lm_eval.api.task import MultipleChoiceTask, PerplexityTask


class Letters(MultipleChoiceTask):
    VERSION = 1

    def download(self, *args, **kwargs):
        self.rows = [{"q": "Which is a vowel?", "choices": ["bcd", "a"], "gold": 1}]

    def has_training_docs(self):
        return False

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def test_docs(self):
        return self.rows

    def doc_to_text(self, doc):
        return doc["q"]


class Pages(PerplexityTask):
    VERSION = 1

    def download(self, *args, **kwargs):
        self.rows = ["one two three", "four"]

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def test_docs(self):
        return self.rows
"""


def test_a_class_of_options_asks_for_each(folder: Path) -> None:
    task = compile_in(folder, "task: letters\nclass: !function tasks.Letters\n", tasks=CHOICES).task
    requests = list_requests(task)
    assert [request.ask for request in requests] == [
        Span("Which is a vowel? bcd", 17),
        Span("Which is a vowel? a", 17),
    ]
    sums = [Likelihood(total, 1, 1, 1, False, 1) for total in (-3.0, -2.0)]
    evaluation = read_evaluation(task)
    (sample,) = task.samples()
    # The first option is more likely for each of its three characters.
    assert evaluation.values(sample, answer(requests, sums)) == {"acc": 1.0, "acc_norm": 0.0}
    assert evaluation.aggregation()["acc"]([1.0, 0.0]) == 0.5


def test_a_class_of_texts_scores_whole_texts(folder: Path) -> None:
    task = compile_in(folder, "task: pages\nclass: !function tasks.Pages\n", tasks=CHOICES).task
    (request,) = list_requests(task)
    assert isinstance(request.ask, Span)
    assert (request.ask.prompt, request.ask.windows is not None) == ("one two three", True)
    evaluation, sample = read_evaluation(task), next(iter(task.samples()))
    values = evaluation.values(sample, answer([request], [Likelihood(-6.0, 3, 13, 13, None, 1)]))
    assert values == {
        "word_perplexity": (-6.0, 3),
        "byte_perplexity": (-6.0, 13),
        "bits_per_byte": (-6.0, 13),
    }
    assert evaluation.aggregation()["word_perplexity"]([(-6.0, 3)]) == pytest.approx(math.exp(2))
    assert evaluation.higher_is_better()["bits_per_byte"] is False


def test_decoded_images_become_files(folder: Path) -> None:
    image_file = pytest.importorskip("PIL.Image")
    part = read_medium(image_file.new("RGB", (3, 2), (255, 0, 0)), Medium.IMAGE)
    assert isinstance(part, Image)
    shown = image_file.open(io.BytesIO(read_bytes(part)))
    assert (shown.format, shown.size, shown.getpixel((0, 0))) == ("PNG", (3, 2), (255, 0, 0))
    assert describe_document({"picture": shown})["picture"].startswith("[image 3x2 ")


@pytest.mark.parametrize("kind", ["array", "bytes", "decoder"])
def test_decoded_clips_become_wave_files(kind: str) -> None:
    numpy = pytest.importorskip("numpy")
    wave_data = numpy.array([0.0, 0.5, -1.0, 2.0])
    value: Any = {"array": wave_data, "sampling_rate": 8000}
    clip = read_medium(value, Medium.AUDIO)
    if kind == "bytes":
        value = {"bytes": read_bytes(clip), "path": None}
    if kind == "decoder":  # As a version of `datasets` gives it that decodes when it is asked.
        channel = SimpleNamespace(numpy=lambda: wave_data)
        value = SimpleNamespace(get_all_samples=lambda: SimpleNamespace(data=[channel], sample_rate=8000))
    part = read_medium(value, Medium.AUDIO)
    with wave.open(io.BytesIO(read_bytes(part))) as stream:
        assert (stream.getframerate(), stream.getnchannels(), stream.getsampwidth()) == (8000, 1, 2)
        frames = numpy.frombuffer(stream.readframes(4), dtype="<i2")
    assert frames.tolist() == [0, 16383, -32767, 32767]


def read_bytes(part: Any) -> bytes:
    """Return the data inside a part of a message."""
    return base64.b64decode(part.data)
