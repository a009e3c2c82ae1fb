"""Write the config that AISBench generates for a custom dataset, as a file that Assay runs like any other.

AISBench turns a table into a config entry: a dataset class, one text as the template, an evaluator. For
`--fidelity faithful`, and if each row has several answers, Assay does the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from assay.dialects.table.meta import meta_path
from assay.sources.files import open_source

_QUESTION, _ANSWER = "question", "answer"
_LENGTHS = ("max_tokens", "max_out_len")
_META_KEYS = frozenset({"request_count", "sampling_mode", "output_config"})
_CONFIG = '''"""What AISBench makes of {path!r}; written by `assay as aisbench`."""

from ais_bench.benchmark.datasets import CustomDataset{imports}
from ais_bench.benchmark.openicl.icl_inferencer import GenInferencer
from ais_bench.benchmark.openicl.icl_prompt_template import PromptTemplate
from ais_bench.benchmark.openicl.icl_retriever import ZeroRetriever

custom_datasets = [
    dict(
        abbr={abbr!r},
        type=CustomDataset,
        path={path!r},
        meta_path={meta!r},
        reader_cfg=dict(input_columns={columns!r}, output_column={answer!r}),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template={template!r}),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
        {scoring}
    )
]
'''


def write_custom_config(
    table: str, meta: str | None, data_type: str | None, folder: Path, *, is_faithful: bool
) -> Path | None:
    """Write the config of a table into a folder; return its path, or None if AISBench has no config for it.

    That is the case without a column `question`, or if the meta file has other keys than AISBench's.
    """
    first: Mapping[str, Any] = next((record.fields for record in open_source(table).records()), {})
    meta_values = _read_meta(Path(meta) if meta else meta_path(Path(table)))
    if _QUESTION not in first or meta_values is None or not meta_values.keys() <= _META_KEYS:
        return None
    letters = []
    for letter in ascii_uppercase:
        if letter not in first:
            break
        letters.append(letter)
    kind = data_type or ("mcq" if len(letters) > 1 else "qa")
    answer = _ANSWER if _ANSWER in first else None
    scoring, imports = "", ""
    if answer is not None:
        evaluator = "dict(type='FreeAnswerEvaluator')"
        if kind == "mcq":
            evaluator = f"dict(type=OptionSimAccEvaluator, options={letters!r})"
            imports = ", OptionSimAccEvaluator"
        elif is_faithful:
            evaluator = "dict(type=AccEvaluator)"
            imports = "\nfrom ais_bench.benchmark.openicl.icl_evaluator import AccEvaluator"
        scoring = f"eval_cfg=dict(evaluator={evaluator}),"
    has_length = "output_config" in meta_values or any(name in first for name in _LENGTHS)
    text = _CONFIG.format(
        path=str(Path(table).absolute()),
        meta=str(Path(meta).absolute()) if meta else "",
        abbr=Path(table).name.split(".")[0],
        columns=[_QUESTION, "max_out_len"] if has_length else [_QUESTION],
        answer=answer,
        template=_template(kind, letters, answer),
        imports=imports,
        scoring=scoring,
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"custom_{Path(table).name.replace('.', '_')}.py"
    path.write_text(text, encoding="utf-8")
    return path


def _template(kind: str, letters: list[str], answer: str | None) -> str:
    """Return AISBench's default prompt: one text with the answer at its end."""
    if answer is None:
        return f"{{{_QUESTION}}}"
    options = "".join(f"\n{letter}. {{{letter}}}" for letter in letters) if kind == "mcq" else ""
    return f"Question: {{{_QUESTION}}}{options}\nAnswer: {{{answer}}}"


def _read_meta(path: Path) -> dict[str, Any] | None:
    """Return the values of a meta file; {} if there is none, None if it is not an object."""
    if not path.is_file():
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError:
        return None
    return values if isinstance(values, dict) else None
