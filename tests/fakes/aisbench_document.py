"""The code of AISBench's document on new datasets, taken from the document and completed.

Nothing of a block is changed but what the document leaves to the reader: the rows, the two bodies that are
`pass`, and the imports that its config does not show.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^ *```(?P<mark>python|text|bash)\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL)

ROWS = """[
    {"question": f"What is {left} + {right}?", "answer": str(left + right)}
    for left, right in kwargs.get("pairs", [(1, 2), (3, 4), (5, 6), (7, 8)])
]"""
SCORE = """
right = [prediction == reference for prediction, reference in zip(predictions, references)]
return {
    "accuracy": 100 * sum(right) / len(right),
    "mean_length": sum(map(len, predictions)) / len(predictions),
    "details": [
        {"pred": prediction, "answer": reference, "correct": one}
        for prediction, reference, one in zip(predictions, references, right)
    ],
}
"""
POSTPROCESS = r"""
import re

boxed = re.findall(r"\\boxed\{(.*?)\}", text)
return boxed[-1] if boxed else ""
"""
IMPORTS = """\
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
"""


class Document(NamedTuple):
    """Its code."""

    loader: str
    evaluator: str
    postprocessor: str
    config: str
    content: str
    """How text and media of a row are put into one column."""
    command: list[str]
    """How it is evaluated."""

    @property
    def script(self) -> str:
        """The dataset script, which "needs to include" the first three."""
        return "\n\n".join((self.loader, self.evaluator, self.postprocessor))


def document(path: Path) -> Document:
    """Read the document and complete its code."""
    found = list(_BLOCK.finditer(path.read_text(encoding="utf-8")))
    loader, evaluator, postprocessor, config = (
        textwrap.dedent(one["body"]) for one in found if one["mark"] == "python"
    )
    content, command = (
        next(one["body"].strip() for one in found if one["mark"] == mark) for mark in ("text", "bash")
    )
    return Document(
        _with(loader, "data_list = ... #", f"data_list = {textwrap.indent(ROWS, ' ' * 8).lstrip()}  #"),
        _with(evaluator, "        pass\n", textwrap.indent(SCORE, " " * 8)),
        _with(postprocessor, "    pass\n", textwrap.indent(POSTPROCESS, " " * 4)),
        f"{IMPORTS}{config}",
        content,
        command.split(),
    )


def _with(text: str, gap: str, filled: str) -> str:
    assert text.count(gap) == 1, gap
    return text.replace(gap, filled)
