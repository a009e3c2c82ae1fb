"""The cases in which AISBench's program and `assay as aisbench` are compared: data, configs and flags."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.logging_server import MODEL, Answer

MODEL_ABBR = "m"
_LETTERS = "ABCD"
_PRODUCT = re.compile(r"What is (\d+) times (\d+)\?")

Files = Mapping[str, str]


class Step(NamedTuple):
    """One command of a case."""

    extra: Sequence[str] = ()
    answer: Answer | None = None
    """How the server answers meanwhile, if not as in the rest of the case."""
    datasets: Sequence[str] = ()

    def flags(self, folder: Path) -> list[str]:
        """Return the flags, `{folder}` filled in."""
        return [flag.replace("{folder}", str(folder)) for flag in (*self.datasets, *self.extra)]


class Case(NamedTuple):
    """One comparison."""

    name: str
    steps: Sequence[Step]
    files: Files
    model: Mapping[str, Any]
    """Fields of the model; None removes one."""
    answer: Answer
    listed: Mapping[tuple[str, str], str] = {}
    """The differences that docs/formats/openicl.md lists, by mode and aspect, with the reason."""

    @property
    def folder_name(self) -> str:
        """The name as a folder."""
        return re.sub(r"\W+", "_", self.name)

    def write(self, folder: Path, port: int) -> None:
        """Write the data and the configs."""
        entry = {**_MODEL, "host_port": port, **self.model}
        entry = {name: value for name, value in entry.items() if value is not None}
        kind = entry.pop("type")
        fields = ", ".join(f"{name}={value!r}" for name, value in entry.items())
        text = (
            f"from ais_bench.benchmark.models import {kind}\n"
            "from ais_bench.benchmark.utils.postprocess.model_postprocessors import "
            "extract_non_reasoning_content\n\n"
            f"models = [dict(type={kind}, {fields})]\n"
        ).replace("'@POST'", "dict(type=extract_non_reasoning_content)")
        moved = text.replace("host_ip='127.0.0.1'", "host_ip='localhost'")
        models = {"configs/models/logged.py": text, "configs/models/moved.py": moved}
        for name, content in {**self.files, **models}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.replace("{folder}", str(folder)), encoding="utf-8")


_MODEL: Mapping[str, Any] = {
    "type": "VLLMCustomAPIChat",
    "attr": "service",
    "abbr": MODEL_ABBR,
    "path": "",
    "model": MODEL,
    "stream": False,
    "request_rate": 0,
    "retry": 2,
    "api_key": "",
    "host_ip": "127.0.0.1",
    "url": "",
    "max_out_len": 64,
    "batch_size": 1,
    "trust_remote_code": False,
    "generation_kwargs": {"temperature": 0.01, "ignore_eos": False},
}
_TEXT = {"type": "VLLMCustomAPI"}
_TGI = {"type": "TGICustomAPI", "model": None, "api_key": None}
_TRITON = {"type": "TritonCustomAPI", "model": None, "api_key": None, "model_name": MODEL}
_FULL = {
    "temperature": 0.7,
    "top_p": 0.9,
    "top_k": 20,
    "seed": 7,
    "repetition_penalty": 1.05,
    "stop": ["<end>"],
    "ignore_eos": True,
    "chat_template_kwargs": {"enable_thinking": False},
}


# --- what the server says ---


def _draw(prompt: str, seen: int, n: int) -> int:
    return int(hashlib.sha256(f"{prompt}|{seen}".encode()).hexdigest(), 16) % n


def _letter(prompt: str, seen: int) -> str:
    letter = _LETTERS[_draw(prompt, seen, 4)]
    return (letter, f"The answer is {letter}.", f"Answer: {letter}")[_draw(prompt + "how", seen, 3)]


def _number(prompt: str, seen: int) -> str:
    left, right = _PRODUCT.findall(prompt)[-1]
    product = int(left) * int(right) + (0, 0, 1)[_draw(prompt, seen, 3)]
    return (str(product), str(product), f"The answer is {product}.")[_draw(prompt + "how", seen, 3)]


def _thinking(answer: Answer) -> Answer:
    return lambda prompt, seen: f"Let me see, B or 12?</think>{answer(prompt, seen)}"


def _failing(answer: Answer, status: int) -> Answer:
    """Fail every fourth prompt or so."""
    return lambda prompt, seen: status if _draw(prompt, 0, 4) == 0 else answer(prompt, seen)


def _failing_once(answer: Answer, status: int) -> Answer:
    """Fail the second request of every other prompt or so."""
    return lambda prompt, seen: status if seen == 1 and _draw(prompt, 0, 2) == 0 else answer(prompt, seen)


# --- data ---


def _products(n: int) -> list[dict[str, Any]]:
    return [
        {
            "question": f"What is {431 + row} times {254 + 3 * row}?",
            "answer": str((431 + row) * (254 + 3 * row)),
        }
        for row in range(n)
    ]


def _choices(n: int, first: int = 0) -> list[dict[str, Any]]:
    rows = []
    for row in range(first, first + n):
        options = {letter: f"town {row}{letter.lower()}" for letter in _LETTERS}
        rows.append({"question": f"Where is river {row}?", **options, "answer": _LETTERS[(row * 7) % 4]})
    return rows


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _arc(rows: Sequence[Mapping[str, Any]]) -> str:
    return _jsonl(
        [
            {
                "id": str(number),
                "question": {
                    "stem": row["question"],
                    "choices": [{"text": row[letter], "label": letter} for letter in _LETTERS],
                },
                "answerKey": row["answer"],
            }
            for number, row in enumerate(rows)
        ]
    )


def _gsm(n: int) -> str:
    return _jsonl([{**row, "answer": f"So it is.\n#### {row['answer']}"} for row in _products(n)])


_ARC = """
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_evaluator import AccEvaluator
from ais_bench.benchmark.datasets import ARCDataset
from ais_bench.benchmark.utils.postprocess.text_postprocessors import last_option_postprocess

rivers_datasets = [
    dict(
        abbr=abbr,
        type=ARCDataset,
        path='{folder}/rivers',
        name=name,
        reader_cfg=dict(
            input_columns=['question', 'textA', 'textB', 'textC', 'textD'],
            output_column='answerKey', train_split='Dev', test_split='Test',
        ),
        infer_cfg=dict(
            prompt_template=dict(
                type=PromptTemplate,
                template=dict(round=[dict(
                    role='HUMAN',
                    prompt='{question}\\nA. {textA}\\nB. {textB}\\nC. {textC}\\nD. {textD}\\nAnswer:',
                )]),
            ),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
        eval_cfg=dict(
            evaluator=dict(type=AccEvaluator),
            pred_role='BOT',
            pred_postprocessor=dict(type=last_option_postprocess, options='ABCD'),
        ),
    )
    for abbr, name in (('rivers-one', 'one'), ('rivers-two', 'two'))
]
"""
_ARC_WITH_DETAILS = _ARC.replace("AccEvaluator", "AccwithDetailsEvaluator")
_ARC_BY_LIKELIHOOD = re.sub(
    r"template=dict\(round.*?\)\]\),",
    "template={one: f'{{question}} It is {{text{one}}}' for one in 'ABCD'},",
    re.sub(r"\n *pred_postprocessor=.*", "", _ARC.replace("GenInferencer", "PPLInferencer")),
    flags=re.DOTALL,
)
_GSM = """
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.datasets import GSM8KDataset, Gsm8kEvaluator
from ais_bench.benchmark.datasets import gsm8k_dataset_postprocess, gsm8k_postprocess

products_datasets = [
    dict(
        abbr='products',
        type=GSM8KDataset,
        path='{folder}/products',
        reader_cfg=dict(input_columns=['question'], output_column='answer'),
        infer_cfg=dict(
            prompt_template=dict(
                type=PromptTemplate,
                template=dict(round=[
                    dict(role='HUMAN', prompt='Question: What is 3 times 4?'),
                    dict(role='BOT', prompt='The answer is 12.\\n'),
                    dict(role='HUMAN', prompt='Question: {question}'),
                    dict(role='BOT', prompt='{answer}'),
                ]),
            ),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
        eval_cfg=dict(
            evaluator=dict(type=Gsm8kEvaluator),
            pred_role='BOT',
            pred_postprocessor=dict(type=gsm8k_postprocess),
            dataset_postprocessor=dict(type=gsm8k_dataset_postprocess),
        ),
    )
]
"""
_GROUPS = """
summarizer = dict(
    attr='accuracy',
    summary_groups=[
        dict(name='rivers', subsets=['rivers-one', 'rivers-two']),
        dict(name='rivers-weighted', subsets=['rivers-one', 'rivers-two'],
             weights={'rivers-one': 1, 'rivers-two': 3}),
        dict(name='rivers-pairs', subsets=[['rivers-one', 'accuracy'], ['rivers-two', 'accuracy']]),
    ],
)
"""
_ROWS = """
summarizer = dict(attr='accuracy', dataset_abbrs=['rivers-two', ['rivers-one', 'accuracy'], 'absent'])
"""

_RIVERS: Files = {
    "configs/datasets/rivers_gen.py": _ARC,
    "configs/summarizers/grouped.py": _GROUPS,
    "configs/summarizers/some_rows.py": _ROWS,
    **{
        f"rivers/{name}-{split}.jsonl": _arc(_choices(n, first))
        for split in ("Dev", "Test")
        for name, n, first in (("one", 12, 0), ("two", 7, 40))
    },
}
_PRODUCTS: Files = {
    "configs/datasets/products_gen.py": _GSM,
    **{f"products/{split}.jsonl": _gsm(14) for split in ("train", "test")},
}
_QA: Files = {"qa.jsonl": _jsonl(_products(14)), "qa.csv": _csv(_products(14))}
_MCQ: Files = {"mcq.jsonl": _jsonl(_choices(16)), "mcq.csv": _csv(_choices(16))}


def _named(name: str) -> Sequence[str]:
    return ("--models", "logged", "--datasets", name)


def _table(name: str) -> Sequence[str]:
    return ("--models", "logged", "--custom-dataset-path", f"{{folder}}/{name}")


def _case(
    name: str,
    datasets: Sequence[str],
    files: Files,
    answer: Answer,
    *extra: str,
    model: Mapping[str, Any] | None = None,
    steps: Sequence[Step] = (Step(),),
    listed: Mapping[tuple[str, str], str] | None = None,
) -> Case:
    told = [Step((*extra, *step.extra), step.answer, datasets) for step in steps]
    return Case(name, told, files, model or {}, answer, listed or {})


def _recovered(answer: Answer, status: int) -> Sequence[Step]:
    return (Step(answer=_failing(answer, status)), Step(("--reuse",)))


def _listed(mode: str, why: str, *aspects: str) -> dict[tuple[str, str], str]:
    return {(mode, aspect): why for aspect in aspects}


_EXACT = _listed(
    "default",
    "an answer is extracted and compared; the original compares the whole reply to the letter",
    "results",
    "summary",
)
_TOGETHER = {
    **_listed("default", "num_return_sequences is not sent to the server", "requests"),
    **_listed(
        "default",
        "all answers count, those to one row together; the original counts the last ones, or mixes rows",
        "results",
        "summary",
    ),
}
_STATUSES = _listed("default", "HTTP 429 and 5xx are retried too, as often as `retry` says", "requests")
_HANG_UPS = {
    **_listed("default", "a connection that the server closed is opened once more", "requests"),
    **_listed("faithful", "a connection that the server closed is opened once more", "requests"),
    **_listed("default", "failed rows are left out of the score, and marked", "results", "summary"),
}
_MOVED = _listed("default", "another address is another model, which is asked from the start", "requests")
_SCORED = {
    **_listed("default", "likelihoods are asked for with one token and no generation_kwargs", "requests"),
    **_listed("faithful", "the server is first asked what it can do", "requests"),
    **_listed("default", "the server's own lists of log-probabilities are not repeated", "predictions"),
    **_listed("faithful", "the server's own lists of log-probabilities are not repeated", "predictions"),
}
_BY_LABEL = _listed("default", "details hold the likelihood of each label", "results", "summary")
_SENT_AGAIN = _listed(
    "faithful",
    "an answer that was sent again keeps its place; in the original it is the last",
    "results",
    "summary",
)
_ANSWERED = _listed("default", "answers that came after a retry are there", "predictions")
_RATE = _listed("default", "extract_rate is given for every evaluator", "results", "summary")
_CORRECT = _listed("default", "details hold `correct` for every evaluator", "results")
_DETAILS = ("--dump-eval-details", "--dump-extract-rate")
_REPEATED = {"generation_kwargs": {"temperature": 0.7, "num_return_sequences": 3}}

CASES: Sequence[Case] = (
    _case("custom qa, jsonl, chat", _table("qa.jsonl"), _QA, _number, listed=_EXACT),
    _case(
        "custom qa, csv, completion, stream",
        _table("qa.csv"),
        _QA,
        _number,
        model={**_TEXT, "stream": True},
        listed=_EXACT,
    ),
    _case("custom mcq, jsonl, chat", _table("mcq.jsonl"), _MCQ, _letter),
    _case("custom mcq, TGI", _table("mcq.jsonl"), _MCQ, _letter, model=_TGI),
    _case(
        "custom mcq, TGI, stream, all generation_kwargs",
        _table("mcq.jsonl"),
        _MCQ,
        _letter,
        model={**_TGI, "stream": True, "generation_kwargs": _FULL},
    ),
    _case("custom mcq, Triton", _table("mcq.jsonl"), _MCQ, _letter, model=_TRITON),
    _case(
        "custom mcq, Triton, stream",
        _table("mcq.csv"),
        _MCQ,
        _letter,
        model={**_TRITON, "stream": True},
    ),
    _case(
        "custom mcq, csv, completion, no generation_kwargs",
        _table("mcq.csv"),
        _MCQ,
        _letter,
        model={**_TEXT, "generation_kwargs": {}},
    ),
    _case(
        "custom mcq, chat, all generation_kwargs, thinking",
        _table("mcq.jsonl"),
        _MCQ,
        _thinking(_letter),
        model={"generation_kwargs": _FULL, "stream": True, "pred_postprocessor": "@POST"},
    ),
    _case(
        "custom qa, thinking",
        _table("qa.jsonl"),
        _QA,
        _thinking(_number),
        model={"pred_postprocessor": "@POST", "generation_kwargs": {"seed": None, "temperature": 0}},
        listed=_EXACT,
    ),
    _case(
        "custom mcq, meta: request_count and lengths",
        _table("mcq.jsonl"),
        {
            **_MCQ,
            "mcq.jsonl.meta.json": json.dumps(
                {
                    "request_count": 20,
                    "sampling_mode": "default",
                    "output_config": {
                        "method": "percentage",
                        "params": {"percentage_distribute": [[32, 0.5], [48, 0.5]]},
                    },
                }
            ),
        },
        _letter,
    ),
    _case(
        "custom qa, meta by path: request_count",
        _table("qa.csv"),
        {**_QA, "less.json": json.dumps({"request_count": 5})},
        _number,
        "--custom-dataset-meta-path",
        "{folder}/less.json",
        listed=_EXACT,
    ),
    _case(
        "custom qa, column max_tokens",
        _table("qa.jsonl"),
        {"qa.jsonl": _jsonl([{**row, "max_tokens": 10 + at} for at, row in enumerate(_products(6))])},
        _number,
        listed=_EXACT,
    ),
    _case(
        "custom mcq, data type qa",
        _table("mcq.jsonl"),
        _MCQ,
        _letter,
        "--custom-dataset-data-type",
        "qa",
        listed=_EXACT,
    ),
    _case(
        "custom qa, num_return_sequences 3",
        _table("qa.jsonl"),
        _QA,
        _number,
        model=_REPEATED,
        listed=_TOGETHER,
    ),
    _case(
        "custom mcq, num_return_sequences 3",
        _table("mcq.jsonl"),
        _MCQ,
        _letter,
        model=_REPEATED,
        listed=_TOGETHER,
    ),
    _case("custom mcq, details", _table("mcq.jsonl"), _MCQ, _letter, *_DETAILS, listed=_RATE),
    _case("custom qa, details", _table("qa.jsonl"), _QA, _number, *_DETAILS, listed={**_EXACT, **_CORRECT}),
    _case(
        "custom mcq, HTTP 500, --reuse",
        _table("mcq.jsonl"),
        _MCQ,
        _letter,
        steps=_recovered(_letter, 500),
        listed=_STATUSES,
    ),
    _case(
        "custom qa, hang-ups",
        _table("qa.jsonl"),
        _QA,
        _number,
        steps=[Step(answer=_failing(_number, 0))],
        listed={**_EXACT, **_HANG_UPS},
    ),
    _case("config, AccEvaluator", _named("rivers_gen"), _RIVERS, _letter),
    _case(
        "config, AccEvaluator, completion, stream",
        _named("rivers_gen"),
        _RIVERS,
        _letter,
        model={**_TEXT, "stream": True},
    ),
    _case("config, summary groups", _named("rivers_gen"), _RIVERS, _letter, "--summarizer", "grouped"),
    _case("config, summary rows", _named("rivers_gen"), _RIVERS, _letter, "--summarizer", "some_rows"),
    _case(
        "config, all generation_kwargs, thinking",
        _named("rivers_gen"),
        _RIVERS,
        _thinking(_letter),
        model={"generation_kwargs": _FULL, "stream": True, "pred_postprocessor": "@POST"},
    ),
    _case("config, details", _named("rivers_gen"), _RIVERS, _letter, *_DETAILS, listed=_CORRECT),
    _case(
        "config, HTTP 500, --reuse",
        _named("rivers_gen"),
        _RIVERS,
        _letter,
        steps=_recovered(_letter, 500),
        listed=_STATUSES,
    ),
    _case(
        "config, hang-ups, retry 3",
        _named("rivers_gen"),
        _RIVERS,
        _letter,
        model={"retry": 3},
        steps=[Step(answer=_failing(_letter, 0))],
        listed=_HANG_UPS,
    ),
    _case(
        "config, num_return_sequences 3",
        _named("rivers_gen"),
        _RIVERS,
        _letter,
        model=_REPEATED,
        listed=_TOGETHER,
    ),
    _case("config, gsm8k, --num-prompts", _named("products_gen"), _PRODUCTS, _number, "--num-prompts", "9"),
    _case("config, gsm8k, details", _named("products_gen"), _PRODUCTS, _number, *_DETAILS),
    _case(
        "config, gsm8k, num_return_sequences 3",
        _named("products_gen"),
        _PRODUCTS,
        _number,
        model=_REPEATED,
        listed=_TOGETHER,
    ),
    _case(
        "config, gsm8k, num_return_sequences 3, details",
        _named("products_gen"),
        _PRODUCTS,
        _number,
        *_DETAILS,
        model=_REPEATED,
        listed=_TOGETHER,
    ),
    _case(
        "custom mcq, num_return_sequences 3, details",
        _table("mcq.jsonl"),
        _MCQ,
        _letter,
        *_DETAILS,
        model=_REPEATED,
        listed=_TOGETHER,
    ),
    _case(
        "config, gsm8k, num_return_sequences 3, one of three fails, details",
        _named("products_gen"),
        _PRODUCTS,
        _number,
        *_DETAILS,
        model=_REPEATED,
        steps=[Step(answer=_failing_once(_number, 500))],
        listed={**_TOGETHER, **_STATUSES, **_ANSWERED},
    ),
    _case(
        "config, num_return_sequences 3, one of three fails, --reuse",
        _named("rivers_gen"),
        _RIVERS,
        _letter,
        model=_REPEATED,
        steps=(Step(answer=_failing_once(_letter, 500)), Step(("--reuse",))),
        listed={**_TOGETHER, **_STATUSES, **_ANSWERED, **_SENT_AGAIN},
    ),
    _case(
        "config, HTTP 500, --reuse at another address",
        _named("rivers_gen"),
        _RIVERS,
        _letter,
        steps=(Step(answer=_failing(_letter, 500)), Step(("--reuse", "--models", "moved"))),
        listed={**_STATUSES, **_MOVED},
    ),
    _case(
        "config, PPLInferencer",
        _named("rivers_ppl"),
        {**_RIVERS, "configs/datasets/rivers_ppl.py": _ARC_BY_LIKELIHOOD},
        _letter,
        model=_TEXT,
        listed=_SCORED,
    ),
    _case(
        "config, PPLInferencer, all generation_kwargs, details",
        _named("rivers_ppl"),
        {**_RIVERS, "configs/datasets/rivers_ppl.py": _ARC_BY_LIKELIHOOD},
        _letter,
        *_DETAILS,
        model={**_TEXT, "generation_kwargs": _FULL},
        listed={**_SCORED, **_BY_LABEL},
    ),
    _case(
        "config, AccwithDetailsEvaluator, details",
        _named("rivers_detailed"),
        {**_RIVERS, "configs/datasets/rivers_detailed.py": _ARC_WITH_DETAILS},
        _letter,
        *_DETAILS,
        listed=_RATE,
    ),
    _case(
        "config, gsm8k, num_return_sequences 3, HTTP 500, --reuse",
        _named("products_gen"),
        _PRODUCTS,
        _number,
        model=_REPEATED,
        steps=_recovered(_number, 500),
        listed={**_TOGETHER, **_STATUSES},
    ),
    _case(
        "config, modes infer and eval",
        _named("rivers_gen"),
        _RIVERS,
        _letter,
        steps=(Step(("--mode", "infer")), Step(("--mode", "eval", "--reuse"))),
    ),
)
