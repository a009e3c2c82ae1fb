"""The config entry that OpenCompass creates for a table without code.

OpenCompass reads only the first record, creates an entry with a template, an inferencer and an evaluator, and
treats it like any other. Faithful runs do the same. The version of a table is the hash of that entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from assay.dialects.openicl.config.prompt_hash import hash_prompt
from assay.dialects.openicl.config.symbol import Symbol

TABLE_KEYS = (
    *("abbr", "data_type", "infer_method", "human_prompt", "bot_prompt", "template"),
    *("input_columns", "output_column", "options", "test_range"),
)
"""The table settings that the original supports."""
_ANSWER = "answer"
_OPENICL = "opencompass.openicl"
_TEMPLATE = Symbol(f"{_OPENICL}.icl_prompt_template", "PromptTemplate")
_RETRIEVER = Symbol(f"{_OPENICL}.icl_retriever.icl_zero_retriever", "ZeroRetriever")
_INFERENCERS = {
    "gen": Symbol(f"{_OPENICL}.icl_inferencer.icl_gen_inferencer", "GenInferencer"),
    "ppl": Symbol(f"{_OPENICL}.icl_inferencer.icl_ppl_inferencer", "PPLInferencer"),
}
_ACCURACY = Symbol(f"{_OPENICL}.icl_evaluator", "AccEvaluator")
_OPTION = Symbol("opencompass.datasets", "OptionSimAccEvaluator")
_TABLE = Symbol("opencompass.datasets", "CustomDataset")


def build_original_entry(
    path: str, columns: Sequence[str], given: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the entry that the original creates for a table, or None.

    `columns`: those of the first record. `given`: the settings, including `abbr`.
    """
    options = list(given.get("options") or _letters(columns))
    kind = given.get("data_type") or ("mcq" if len(list(_letters(columns))) >= 2 else "qa")
    method = given.get("infer_method") or "gen"
    answer = given.get("output_column") or (_ANSWER if _ANSWER in columns else None)
    if (kind, method) not in (("mcq", "gen"), ("mcq", "ppl"), ("qa", "gen")):
        return None
    template = given.get("template")
    if template is None:
        template = _template(kind, method, options, answer, given)
    if template is None:
        return None
    inputs = given.get("input_columns") or [name for name in columns if name != _ANSWER]
    reader = {"input_columns": list(inputs), "output_column": answer}
    if given.get("test_range") is not None:
        reader["test_range"] = given["test_range"]
    evaluator: dict[str, Any] = {"type": _ACCURACY}
    if (kind, method) == ("mcq", "gen"):
        evaluator = {"type": _OPTION, "options": options}
    evaluation = {"evaluator": evaluator, **({"pred_role": "BOT"} if method == "gen" else {})}
    entry = {
        "abbr": given["abbr"],
        "type": _TABLE,
        "path": path,
        "reader_cfg": reader,
        "infer_cfg": {
            "prompt_template": {"type": _TEMPLATE, "template": template},
            "retriever": {"type": _RETRIEVER},
            "inferencer": {"type": _INFERENCERS[method]},
        },
    }
    # Without an answer column the original's evaluation fails, but its answers are saved.
    return entry if answer is None else {**entry, "eval_cfg": evaluation}


def compute_table_version(columns: Sequence[str], given: Mapping[str, Any]) -> str | None:
    """Return the six digits of the original's table version; None if it creates no entry."""
    entry = build_original_entry("", columns, {"abbr": "", **given})
    return None if entry is None else hash_prompt(entry)


def _letters(columns: Sequence[str]) -> Iterator[str]:
    for letter in ascii_uppercase:
        if letter not in columns:
            return
        yield letter


def _template(
    kind: str, method: str, options: Sequence[str], answer: str | None, given: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the default template of a table; None if the original cannot create one."""
    question = "{question}" if kind == "qa" else "Question: {question}"
    shown = "".join(f"\n{name}. {{{name}}}" for name in options) if kind == "mcq" else ""
    human = _turn("HUMAN", given.get("human_prompt") or question + shown)
    if kind == "qa" and answer is None:
        return {"round": [human]}
    usual = f"{{{answer}}}" if kind == "qa" else f"Answer: {{{answer}}}"
    bot = given.get("bot_prompt")
    bot = usual if bot is None else bot
    if method == "gen":
        return {"round": [human, _turn("BOT", bot)]}
    try:
        return {
            label: {"round": [human, _turn("BOT", bot.format(**{str(answer): label}))]} for label in options
        }
    except (KeyError, IndexError, ValueError):
        return None


def _turn(role: str, prompt: str) -> dict[str, str]:
    return {"role": role, "prompt": prompt}
