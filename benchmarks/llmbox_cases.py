"""The cases on which the LLMBox program and Assay are compared: dataset classes, their rows and their flags.

Classes of a checkout are extended by one that reads rows of the shared evaluation data from a file. Their
names begin with `AA`, since the original takes the first class of a file in the alphabet.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

N_ROWS = 8
"""Rows that are evaluated; those after them are the pool of examples."""


class Case(NamedTuple):
    """One command line."""

    name: str
    what: str
    flags: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why a faithful run differs from the original, where it is known to."""
        return REASONS.get(self.name, "")


_BASE = ("--model_type", "base")
_CHAT = ("--model_type", "chat", "--chat_template", "base")


def _case(
    name: str, what: str, *flags: str, dataset: str | None = None, kind: tuple[str, ...] = _BASE
) -> Case:
    return Case(name, what, ("-d", dataset or f"aa_{name.partition('-')[0]}", *kind, *flags))


CASES = (
    _case("arc-ppl", "normalised likelihood"),
    _case("arc-ppl-2", "examples drawn from a pool", "-shots", "2"),
    _case("arc-options", "options shown, label scored", "--ranking_type", "ppl"),
    _case("arc-prob", "label probabilities", "--ranking_type", "prob"),
    _case("arc-prob-4", "the same with four examples", "--ranking_type", "prob", "-shots", "4"),
    _case("arc-seed", "another seed draws other examples", "-shots", "2", "--seed", "7"),
    _case("arc-last", "the last rows alone", "-i", "-5"),
    _case("arc-room", "examples beyond max_example_tokens", "-shots", "4", "--max_example_tokens", "90"),
    _case("arc-flag", "an instruction by flag", "--instruction", "Q: {{question}}\\nA:"),
    _case("arc-chat", "a chat model with the base template", kind=_CHAT),
    _case("hellaswag-ppl", "likelihood per token"),
    _case("hellaswag-1", "one example, likelihood per token", "-shots", "1"),
    _case("copa-ppl", "a dataset of a collection keeps its plain name"),
    _case("copa-prob", "its label probabilities", "--ranking_type", "prob"),
    _case("winogrande-ppl", "several contexts, one completion"),
    _case("openbookqa-ppl", "normalised likelihood, other prompt"),
    _case(
        "mmlu-two",
        "two subsets, one generator",
        "-shots",
        "2",
        "--ranking_type",
        "prob",
        dataset="aa_mmlu:anatomy,astronomy",
    ),
    _case(
        "mmlu-three",
        "three subsets, one generator",
        "-shots",
        "3",
        "--ranking_type",
        "prob",
        dataset="aa_mmlu:anatomy,astronomy,virology",
    ),
    _case("gsm8k-stop", "stop at a line break", "--max_tokens", "24"),
    _case("free-none", "no stop strings"),
    _case("stops-list", "stop strings of several tokens"),
    _case("stops-flag", "stop strings by flag", "--stop", "\\n", " the"),
    _case("onestop-text", "a stop given as one text"),
    _case("typed-chat", "a class that looks at model_type", kind=_CHAT),
    _case("typed-base", "the same as a base model"),
    _case("kinds-ppl", "values by category_column"),
    _case("texts-ppl", "perplexity of texts"),
    Case(
        "several",
        "two datasets, one generator",
        ("-d", "aa_copa", "aa_kinds", *_BASE, "-shots", "1"),
    ),
)

_COPIES = (
    "a class with `use_normalization` gets its normalised copies in prob too, which double the work and are "
    "dropped from the scores; Assay does not ask them, and all else is equal"
)
REASONS = {
    "arc-prob": _COPIES,
    "arc-prob-4": _COPIES,
    "texts-ppl": "with an empty source the original scores the last token alone, or the first one against "
    "padding (`prefix_token`)",
}
"""Why a faithful run is known to differ."""

_LOADING = """
    load_args = {load_args}

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        def rows(split):
            with open("{rows}/" + split + ".jsonl", encoding="utf-8") as file:
                return [json.loads(line) for line in file]

        name = "{name}" if subset_name is None else subset_name
        self.evaluation_data, self.example_data = rows(name + "-test"), rows(name + "-dev")
"""

_EXTENDED = {
    "arc": ("arc", "Arc", "None"),
    "hellaswag": ("hellaswag", "Hellaswag", "None"),
    "copa": ("copa", "Copa", "None"),
    "winogrande": ("winogrande", "WinoGrande", "None"),
    "openbookqa": ("openbookqa", "OpenBookQA", "None"),
}

_OWN = {
    "mmlu": """
class AAMmlu(MultipleChoiceDataset):
    instruction = "{{{{subset_name}}}}:\\n\\n{{{{question}}}}{{{{'\\n' + options if options}}}}\\nAnswer:"
    evaluation_set = "test"
    example_set = "dev"
    categorized_subsets = {{"life": ["anatomy", "virology"], "sky": ["astronomy"]}}
{loading}
    def format_instance(self, instance):
        options = [instance["choice%d" % at] for at in range(4)]
        return dict(question=instance["question"], options=options, target_idx=int(instance["answer"]))

    @cached_property
    def references(self):
        return [int(row["answer"]) for row in self.evaluation_data]
""",
    "gsm8k": """
class AAGsm8k(GenerationDataset):
    instruction = "Question: {{{{question}}}}\\nAnswer:"
    metrics = [Em()]
    extra_model_args = dict(temperature=0, stop=["\\n"])
{loading}
    def format_instance(self, instance):
        return dict(question=instance["question"], target=instance["answer"])

    @cached_property
    def references(self):
        return [[row["answer"].split("#### ")[-1]] for row in self.evaluation_data]
""",
    "free": """
class AAFree(GenerationDataset):
    instruction = "Q: {{question}}\\nA:"
    metrics = [Em()]
    extra_model_args = dict(temperature=0, max_tokens=12)
{loading}
    def format_instance(self, instance):
        return dict(question=instance["question"], target=instance["answer"])

    def post_processing(self, predictions):
        return [text.strip().split("\\n")[0] for text in predictions]

    @cached_property
    def references(self):
        return [[row["answer"]] for row in self.evaluation_data]
""",
    "kinds": """
class AAKinds(MultipleChoiceDataset):
    instruction = "{{{{question}}}}\\nAnswer:"
    category_column = "kind"
{loading}
    def format_instance(self, instance):
        return dict(question=instance["question"], options=[" yes", " no"], target_idx=instance["answer"])

    @cached_property
    def references(self):
        return [row["answer"] for row in self.evaluation_data]
""",
    "texts": """
class AATexts(ValidationPerplexityDataset):
    instruction = "{{{{source}}}}"
    metrics = [PPL()]
{loading}
    def format_instance(self, instance):
        return dict(source="", options=[instance["text"]], target_idx=0)
""",
}
_OWN["stops"] = (
    _OWN["free"]
    .replace("AAFree", "AAStops")
    .replace("max_tokens=12", 'max_tokens=24, stop=["\\n\\n", "Q:", " a"]')
)
_OWN["onestop"] = (
    _OWN["free"].replace("AAFree", "AAOnestop").replace("max_tokens=12", 'max_tokens=24, stop="the"')
)
_OWN["typed"] = (
    _OWN["free"]
    .replace("AAFree", "AATyped")
    .replace(
        "{loading}",
        """
    def init_arguments(self):
        if self.model_type == "chat":
            self.instruction = "Reply with one word. {{question}}"
{loading}""",
    )
)
_IMPORTS = """import json
from functools import cached_property

from ..metric import PPL, Em
from .generation_dataset import GenerationDataset
from .multiple_choice_dataset import MultipleChoiceDataset
from .validation_perplexity_dataset import ValidationPerplexityDataset
"""


def write_cases(classes: Path, rows: Path, data: Path) -> None:
    """Write the class of each case into a checkout's folder of datasets, and its rows."""
    rows.mkdir(parents=True, exist_ok=True)
    for name, (module, base, load_args) in _EXTENDED.items():
        loading = _LOADING.format(load_args=load_args, rows=rows, name=name)
        text = f"import json\n\nfrom .{module} import {base}\n\n\nclass AA{base}({base}):{loading}"
        (classes / f"aa_{name}.py").write_text(text, encoding="utf-8")
    for name, body in _OWN.items():
        # A dataset has subsets where load_args names a place, which need not hold any rows.
        load_args = f'("{rows}/hub",)' if name == "mmlu" else "None"
        loading = _LOADING.format(load_args=load_args, rows=rows, name=name)
        (classes / f"aa_{name}.py").write_text(
            _IMPORTS + "\n" + body.format(loading=loading), encoding="utf-8"
        )
    for name, some in _rows(data).items():
        for split, part in (("test", some[:N_ROWS]), ("dev", some[N_ROWS:])):
            lines = "".join(json.dumps(row) + "\n" for row in part)
            (rows / f"{name}-{split}.jsonl").write_text(lines, encoding="utf-8")
    _write_hub(rows / "hub", ("anatomy", "astronomy", "virology"))


def _rows(data: Path) -> dict[str, list[dict[str, Any]]]:
    facts = [
        ("What is the capital of France?", "Paris"),
        ("What is the capital of Italy?", "Rome"),
        ("How many legs has a spider?", "eight"),
        ("What colour is the sky?", "blue"),
        ("Who wrote Hamlet?", "Shakespeare"),
        ("What is two plus two?", "four"),
        ("What is the opposite of hot?", "cold"),
        ("How many days has a week?", "seven"),
        ("What do bees make?", "honey"),
        ("What is frozen water called?", "ice"),
        ("Which planet do we live on?", "Earth"),
        ("What is the first letter of the alphabet?", "A"),
    ]
    free = [dict(question=question, answer=answer) for question, answer in facts]
    kinds = [
        dict(question=f"Is {n} even?", answer=n % 2, kind="small" if n < 6 else "large") for n in range(32)
    ]
    found = {
        "arc": _jsonl(data / "arc" / "ARC-Easy" / "validation.jsonl"),
        "hellaswag": _jsonl(data / "hellaswag" / "validation.jsonl"),
        "copa": _jsonl(data / "copa" / "validation.jsonl"),
        "winogrande": _jsonl(data / "winogrande" / "validation.jsonl"),
        "openbookqa": _jsonl(data / "openbookqa" / "validation.jsonl"),
        "gsm8k": _jsonl(data / "gsm8k" / "test.jsonl"),
        "kinds": kinds,
        "texts": [dict(text=line.strip()) for line in _texts(data / "wikitext2" / "test.txt")],
        **{name: free for name in ("free", "stops", "onestop", "typed")},
    }
    for subset in ("anatomy", "astronomy", "virology"):
        tests = _csv(data / "mmlu" / "test" / f"{subset}_test.csv")[:N_ROWS]
        found[subset] = [*tests, *_csv(data / "mmlu" / "dev" / f"{subset}_dev.csv")]
    return found


def _jsonl(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines()[:24]
    return [json.loads(line) for line in lines]


def _csv(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _texts(path: Path) -> Iterable[str]:
    lines = (line for line in path.read_text(encoding="utf-8").splitlines() if 80 < len(line) < 400)
    return [line for line, _ in zip(lines, range(32), strict=False)]


def _write_hub(folder: Path, subsets: Iterable[str]) -> None:
    """Write a folder of which the datasets library reads the names of subsets."""
    folder.mkdir(exist_ok=True)
    lines = ["---", "configs:"]
    for subset in subsets:
        lines += [f"- config_name: {subset}", f"  data_files: {subset}.jsonl"]
        (folder / f"{subset}.jsonl").write_text('{"question": ""}\n', encoding="utf-8")
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]), encoding="utf-8")
