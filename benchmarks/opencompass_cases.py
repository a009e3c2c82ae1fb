"""What OpenCompass's program and Assay are both given: tables, meta files, configs and command lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_ADD = [(127, 545), (735, 603), (506, 346), (504, 811), (368, 959), (776, 208), (803, 862), (165, 833)]


class Case(NamedTuple):
    """One command line, given to both programs in a folder of its own."""

    name: str
    files: Mapping[str, str]
    arguments: Sequence[str]
    """`{model}` is the folder of the weights."""


def cases() -> list[Case]:
    """Return all cases."""
    return [
        Case("tables in a config, chat server", {**TABLES, "run.py": _config(_CHAT, _ENTRIES)}, ["run.py"]),
        Case(
            "tables in a config, chat server with a meta template",
            {**TABLES, "run.py": _config(_CHAT_WITH_ROLES, _ENTRIES)},
            ["run.py"],
        ),
        Case(
            "tables in a config, local text model with a meta template",
            {**TABLES, "run.py": _config(_TEXT_WITH_ROLES, _LOCAL_ENTRIES)},
            ["run.py"],
        ),
        Case(
            "--hf-path, base model, ppl",
            TABLES,
            [*_HF, "--hf-type", "base", *_path("few.csv"), "--custom-dataset-infer-method", "ppl"],
        ),
        Case("--hf-path, base model, gen", TABLES, [*_HF, "--hf-type", "base", *_path("few_qa.jsonl")]),
        Case("--hf-path, chat model, gen", TABLES, [*_HF, *_path("few.csv")]),
        Case(
            "--custom-dataset-meta-path",
            {**TABLES, **_MODELS, "other.json": _json(human_prompt="Say it: {question}", abbr="named")},
            ["--models", "served", *_path("qa.csv"), "--custom-dataset-meta-path", "other.json"],
        ),
        Case(
            "--custom-dataset-data-type qa",
            {**TABLES, **_MODELS},
            ["--models", "served", *_path("mcq.csv"), "--custom-dataset-data-type", "qa"],
        ),
        Case(
            "--dataset-num-runs 2",
            {**TABLES, **_MODELS},
            ["--models", "served", *_path("qa.csv"), "--dataset-num-runs", "2"],
        ),
        Case(
            "classes of one's own, chat server",
            {**TABLES, **_OWN, "run.py": _config(_CHAT, _OWN_ENTRIES, _OWN_IMPORTS)},
            ["run.py"],
        ),
        Case(
            "classes of one's own, three kinds of chat server",
            {**TABLES, **_OWN, "run.py": _config(_CHATS, _STOPPING_ENTRIES, _OWN_IMPORTS)},
            ["run.py"],
        ),
        Case(
            "classes of one's own, local text model",
            {**TABLES, **_OWN, "run.py": _config(_TEXT, _OWN_LOCAL_ENTRIES, _OWN_IMPORTS)},
            ["run.py"],
        ),
        Case("no answers", {**TABLES, **_MODELS}, ["--models", "served", *_path("unknown.jsonl")]),
        Case("BOM in jsonl", {**TABLES, **_MODELS}, ["--models", "served", *_path("bom.jsonl")]),
        Case(
            "options with long names",
            {**TABLES, **_MODELS},
            ["--models", "served", *_path("long.jsonl")],
        ),
        Case(
            "options with long names, ppl",
            TABLES,
            [*_HF, "--hf-type", "base", *_path("long.jsonl"), "--custom-dataset-infer-method", "ppl"],
        ),
        Case(
            "label map, ppl",
            TABLES,
            [*_HF, "--hf-type", "base", *_path("labels.jsonl"), "--custom-dataset-infer-method", "ppl"],
        ),
    ]


def answers() -> dict[str, str]:
    """Return the right answers by question, for the server."""
    return {f"{a}+{b}=": str(a + b) for a, b in _ADD}


def _json(**said: Any) -> str:
    return json.dumps(said)


def _mcq(options: str = "ABC", answer: str = "answer", question: str = "question") -> list[dict[str, Any]]:
    rows = []
    for at, (a, b) in enumerate(_ADD):
        texts = [str(a + b + (place - at % len(options)) * 10) for place in range(len(options))]
        fields = dict(zip(options, texts, strict=True))
        rows.append({question: f"{a}+{b}=", **fields, answer: options[at % len(options)]})
    return rows


def _qa() -> list[dict[str, Any]]:
    return [{"question": f"{a}+{b}=", "answer": str(a + b)} for a, b in _ADD]


def _jsonl(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [",".join(rows[0]), *(",".join(str(value) for value in row.values()) for row in rows)]
    return "\n".join(lines) + "\n"


def _renamed(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return rows whose columns, and answers, have other names."""
    return [{names.get(key, key): names.get(value, value) for key, value in row.items()} for row in rows]


_LONG = {"A": "opt1", "B": "opt2", "C": "opt3"}
_ROUND = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
TABLES = {
    "mcq.csv": _csv(_mcq()),
    "mcq.jsonl": _jsonl(_mcq("ABCD")),
    "few.csv": _csv(_mcq()[:3]),
    "few_qa.jsonl": _jsonl(_qa()[:3]),
    "qa.csv": _csv(_qa()),
    "qa.jsonl": _jsonl(_qa()),
    "numbers.jsonl": _jsonl([{"question": row["question"], "answer": int(row["answer"])} for row in _qa()]),
    "bom.csv": "\ufeff" + _csv(_qa()),
    "bom.jsonl": "\ufeff" + _jsonl(_qa()),
    "unknown.jsonl": _jsonl([{"question": row["question"]} for row in _qa()]),
    "empty.csv": _csv([{**row, "D": "" if at % 2 else "7"} for at, row in enumerate(_mcq())]),
    "space.csv": _csv(_mcq()),
    "space.csv.meta.json": _json(
        human_prompt="Question: {question}\nA. {A}\nB. {B}\nC. {C}\nAnswer: ", bot_prompt="{answer}"
    ),
    "xyzw.jsonl": _jsonl(_mcq("XYZW", "my_answer", "my_question")),
    "xyzw.jsonl.meta.json": _json(
        template="Question: {my_question}\nX. {X}\nY. {Y}\nZ. {Z}\nW. {W}\nAnswer:",
        input_columns=["my_question", "X", "Y", "Z", "W"],
        output_column="my_answer",
    ),
    "xyzw_mcq.jsonl": _jsonl(_mcq("XYZW", "my_answer", "my_question")),
    "xyzw_mcq.jsonl.meta.json": _json(
        template="Question: {my_question}\nX. {X}\nY. {Y}\nZ. {Z}\nW. {W}\nAnswer:",
        data_type="mcq",
        options=["X", "Y", "Z", "W"],
        input_columns=["my_question", "X", "Y", "Z", "W"],
        output_column="my_answer",
    ),
    "begin.jsonl": _jsonl(_qa()),
    "begin.jsonl.meta.json": _json(template={"begin": "Add the numbers.\n", "round": _ROUND}),
    "system.jsonl": _jsonl(_qa()),
    "system.jsonl.meta.json": _json(
        template={
            "begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": "Add the numbers."}],
            "round": [
                {"role": "HUMAN", "prompt": "1+1="},
                {"role": "BOT", "prompt": "2"},
                *_ROUND,
            ],
        }
    ),
    "range.jsonl": _jsonl(_qa()),
    "range.jsonl.meta.json": _json(test_range="[2:5]"),
    "long.jsonl": _jsonl(_renamed(_mcq()[:3], _LONG)),
    "long.jsonl.meta.json": _json(
        data_type="mcq",
        options=list(_LONG.values()),
        human_prompt="{question}\n1. {opt1}\n2. {opt2}\n3. {opt3}",
    ),
    "labels.jsonl": _jsonl(_mcq()[:3]),
    "labels.jsonl.meta.json": _json(
        template={
            label: {
                "round": [
                    {"role": "HUMAN", "prompt": "What is {question}"},
                    {"role": "BOT", "prompt": f"It is {{{label}}}"},
                ]
            }
            for label in "ABC"
        }
    ),
}
_CHAT = """models = [dict(
    type=OpenAISDK, abbr="served", path="m", openai_api_base="{url}", key="k", tokenizer_path="{model}",
    query_per_second=50, max_seq_len=4096, max_out_len=33, batch_size=1, retry=2{more},
)]
"""
_CHAT_WITH_ROLES = _CHAT.replace(
    "{more}",
    """, meta_template=dict(
        round=[dict(role="HUMAN", api_role="HUMAN"), dict(role="BOT", api_role="BOT", generate=True)],
        reserved_roles=[dict(role="SYSTEM", api_role="SYSTEM")],
    )""",
)
_CHAT = _CHAT.replace("{more}", "")
_CHATS = """served = dict(
    path="m", openai_api_base="{url}", key="k", tokenizer_path="{model}",
    query_per_second=50, max_seq_len=4096, max_out_len=33, batch_size=1, retry=2,
)
models = [
    dict(served, type=OpenAI, abbr="plain", openai_api_base="{url}/chat/completions"),
    dict(served, type=OpenAI, abbr="plain_set", openai_api_base="{url}/chat/completions", temperature=0.3,
         extra_body=dict(top_k=5, seed=3)),
    dict(served, type=OpenAISDKStreaming, abbr="streamed"),
    dict(served, type=OpenAISDK, abbr="set", temperature=0.2, extra_body=dict(top_k=5, ignore_eos=False),
         openai_extra_kwargs=dict(top_p=0.9, seed=7, stop=["ZZZ"])),
    dict(served, type=OpenAISDK, abbr="reasoning", path="o3-m", temperature=0.2),
]
"""
_TEXT_WITH_ROLES = """models = [dict(
    type=HuggingFaceCausalLM, abbr="local", path="{model}", tokenizer_path="{model}",
    tokenizer_kwargs=dict(padding_side="left"), max_seq_len=1024, max_out_len=5, batch_size=1,
    model_kwargs=dict(torch_dtype="torch.float"), run_cfg=dict(num_gpus=0),
    meta_template=dict(round=[
        dict(role="HUMAN", begin="<|user|>", end="\\n"),
        dict(role="BOT", begin="<|bot|>", end="\\n", generate=True),
    ]),
)]
"""
_TEXT = _TEXT_WITH_ROLES.partition("    meta_template")[0] + ")]\n"
_MODELS = {"configs/models/served.py": "from opencompass.models import OpenAISDK\n" + _CHAT}
_HF = ["--hf-path", "{model}", "--hf-num-gpus", "0", "--max-out-len", "5", "--batch-size", "1"]
_ENTRIES = """datasets = [
    {"path": "{here}/mcq.csv", "abbr": "mcq_csv"},
    {"path": "{here}/mcq.jsonl", "abbr": "mcq_jsonl", "data_type": "mcq", "infer_method": "gen"},
    {"path": "{here}/qa.csv", "abbr": "qa_csv"},
    {"path": "{here}/qa.jsonl", "abbr": "qa_jsonl"},
    {"path": "{here}/numbers.jsonl"},
    {"path": "{here}/bom.csv"},
    {"path": "{here}/empty.csv"},
    {"path": "{here}/space.csv"},
    {"path": "{here}/xyzw.jsonl", "data_type": "qa"},
    {"path": "{here}/xyzw_mcq.jsonl"},
    {"path": "{here}/begin.jsonl"},
    {"path": "{here}/system.jsonl"},
    {"path": "{here}/range.jsonl"},
    dict(
        abbr="by_class", type=CustomDataset, path="{here}/qa.jsonl",
        reader_cfg=dict(input_columns=["question"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template="Q: {question}\\nA:"),
            retriever=dict(type=ZeroRetriever), inferencer=dict(type=GenInferencer, max_out_len=7),
        ),
        eval_cfg=dict(evaluator=dict(type=AccEvaluator)),
    ),
]
"""
_LOCAL_ENTRIES = """datasets = [
    {"path": "{here}/few.csv", "abbr": "mcq_ppl", "infer_method": "ppl"},
    {"path": "{here}/few.csv", "abbr": "mcq_gen"},
    {"path": "{here}/few_qa.jsonl", "abbr": "qa_gen"},
    {"path": "{here}/system.jsonl", "test_range": "[0:3]"},
    {"path": "{here}/labels.jsonl", "infer_method": "ppl"},
]
"""
_OWN = {
    "sums.py": """import json
from pathlib import Path

from datasets import Dataset, DatasetDict

from opencompass.datasets.base import BaseDataset
from opencompass.openicl.icl_evaluator import BaseEvaluator
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET


def _rows(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


@LOAD_DATASET.register_module()
class SumsDataset(BaseDataset):
    @staticmethod
    def load(path):
        rows = Dataset.from_list(_rows(path))
        return DatasetDict(train=rows.select(range(2)), test=rows)


@LOAD_DATASET.register_module()
class PlainSumsDataset(BaseDataset):
    @staticmethod
    def load(path):
        return Dataset.from_list(_rows(path))


def _is_right(prediction, reference):
    return str(reference) in prediction


@ICL_EVALUATORS.register_module()
class DetailedEvaluator(BaseEvaluator):
    def score(self, predictions, references):
        pairs = list(zip(predictions, references))
        details = [{"pred": p, "answer": r, "correct": _is_right(p, r)} for p, r in pairs]
        return {"share": 100 * sum(one["correct"] for one in details) / len(details), "details": details}


@ICL_EVALUATORS.register_module()
class SeveralEvaluator(BaseEvaluator):
    def score(self, predictions, references):
        right = [_is_right(p, r) for p, r in zip(predictions, references)]
        return {"length": sum(map(len, predictions)), "f1": 0.25, "accuracy": 100 * sum(right) / len(right)}


@ICL_EVALUATORS.register_module()
class PlainEvaluator(BaseEvaluator):
    def score(self, predictions, references):
        return {"length": 3.5, "acc": 0.5}
""",
}
_OWN_IMPORTS = """from opencompass.datasets import OptionSimAccEvaluator
from opencompass.openicl.icl_evaluator import AccwithDetailsEvaluator
from opencompass.openicl.icl_inferencer import PPLInferencer
from opencompass.openicl.icl_retriever import FixKRetriever
from sums import DetailedEvaluator, PlainEvaluator, PlainSumsDataset, SeveralEvaluator, SumsDataset

TURNS = [dict(role="HUMAN", prompt="Q: {question}"), dict(role="BOT", prompt="A: {answer}")]


def entry(abbr, cls, path, template, evaluator, inferencer, fixed=None, reader=None, ice=None, **more):
    asked = dict(
        prompt_template=dict(type=PromptTemplate, template=template),
        retriever=dict(type=ZeroRetriever),
        inferencer=inferencer,
    )
    if fixed:
        asked["ice_template"] = dict(type=PromptTemplate, template=ice or template, ice_token="</E>")
        asked["prompt_template"]["ice_token"] = "</E>"
        asked["retriever"] = dict(type=FixKRetriever, fix_id_list=fixed)
    return dict(
        abbr=abbr, type=cls, path=path, infer_cfg=asked,
        reader_cfg=dict(input_columns=["question"], output_column="answer", **(reader or {})),
        eval_cfg=dict(evaluator=evaluator), **more,
    )


"""
_OWN_ENTRIES = """stopping = dict(type=GenInferencer, stopping_criteria=["\\n"], temperature=0.4)
plain = dict(type=GenInferencer)
chat = dict(round=TURNS)
system = dict(role="SYSTEM", fallback_role="HUMAN", prompt="Add.")
shown = dict(begin=[system, "Bare text.", "</E>"], round=TURNS)
ranged = dict(test_range="[2:6]")
datasets = [
    entry("detailed", SumsDataset, "{here}/qa.jsonl", chat, dict(type=DetailedEvaluator), stopping),
    entry("detailed_plain", PlainSumsDataset, "{here}/qa.jsonl", chat, dict(type=DetailedEvaluator), plain),
    entry("ranged", SumsDataset, "{here}/qa.jsonl", chat, dict(type=DetailedEvaluator), plain, reader=ranged),
    entry("own_details", SumsDataset, "{here}/qa.jsonl", chat, dict(type=AccwithDetailsEvaluator), plain),
    entry("several", SumsDataset, "{here}/qa.jsonl", chat, dict(type=SeveralEvaluator), plain),
    entry("plain", SumsDataset, "{here}/qa.jsonl", chat, dict(type=PlainEvaluator), plain),
    entry("shots", SumsDataset, "{here}/qa.jsonl", shown, dict(type=AccEvaluator), plain, fixed=[0, 1]),
    entry("twice", SumsDataset, "{here}/qa.jsonl", chat, dict(type=DetailedEvaluator), plain, n=2, k=2),
    entry("options", PlainSumsDataset, "{here}/mcq.jsonl", "{question} {A} {B} {C} {D}",
          dict(type=OptionSimAccEvaluator, options=["A", "B", "C", "D"]), plain, reader=ranged),
]
del entry
"""
_STOPPING_ENTRIES = """asked = dict(type=GenInferencer, stopping_criteria=["\\n"], temperature=0.4)
chat = dict(round=TURNS)
datasets = [
    entry("detailed", SumsDataset, "{here}/qa.jsonl", chat, dict(type=DetailedEvaluator), asked),
    entry("twice", SumsDataset, "{here}/qa.jsonl", chat, dict(type=DetailedEvaluator), asked, n=2),
]
del entry
"""
_OWN_LOCAL_ENTRIES = """ppl = dict(type=PPLInferencer)
plain = dict(type=GenInferencer, max_out_len=5)
labels = {one: "</E>Q: {question}\\nA: {" + one + "}" for one in "ABCD"}
turns = {
    one: dict(begin="</E>", round=[
        dict(role="HUMAN", prompt="Q: {question}"), dict(role="BOT", prompt="{" + one + "}")])
    for one in "ABCD"
}
ranged = dict(test_range="[1:4]")
accuracy = dict(type=AccEvaluator)
datasets = [
    entry("ppl", SumsDataset, "{here}/mcq.jsonl", {one: labels[one][4:] for one in "ABCD"}, accuracy, ppl,
          reader=ranged),
    entry("ppl_shots", SumsDataset, "{here}/mcq.jsonl", labels, accuracy, ppl, fixed=[0, 1], reader=ranged),
    entry("ppl_turns", SumsDataset, "{here}/mcq.jsonl", turns, accuracy, ppl, fixed=[0], reader=ranged,
          ice=dict(round=TURNS)),
    entry("gen_shots", SumsDataset, "{here}/qa.jsonl", "</E>Q: {question}\\nA: {answer}", accuracy, plain,
          fixed=[0, 1], reader=ranged),
]
del entry
"""
_IMPORTS = """from opencompass.datasets import CustomDataset
from opencompass.models import HuggingFaceCausalLM, OpenAI, OpenAISDK, OpenAISDKStreaming
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

"""


def _config(models: str, datasets: str, imports: str = "") -> str:
    return _IMPORTS + imports + models + datasets


def _path(name: str) -> list[str]:
    return ["--custom-dataset-path", f"{{here}}/{name}"]


def write_files(case: Case, folder: Path, filled: Mapping[str, str]) -> None:
    """Write the files of a case, with the addresses and folders of this machine in them."""
    for name, text in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill(text, filled) if name.endswith(".py") else text, encoding="utf-8")


def fill(text: str, filled: Mapping[str, str]) -> str:
    """Put the addresses and folders of this machine into a text."""
    for name, value in filled.items():
        text = text.replace(f"{{{name}}}", value)
    return text
