"""The six digits that OpenCompass writes into the names of its configs, and as the version of a score.

They are the beginning of a SHA-256 over what the model is asked (`infer_cfg`): not over the data, the
evaluator or the post-processors. Two systems that agree on them have read the same prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.dialects.openicl.config.lists import DATASETS_SUFFIX
from assay.dialects.openicl.config.loading import LoadedConfig
from assay.dialects.openicl.config.symbol import Symbol

HASH_DIGITS = 6
_UNHASHED_TABLE_KEYS = ("abbr", "path")
_AISBENCH = "ais_bench.benchmark.openicl"
_TEMPLATES = ("prompt_template", "ice_template")
_CLASS_MODULES = {
    "GenInferencer": "icl_inferencer.icl_gen_inferencer",
    "PPLInferencer": "icl_inferencer.ppl_inferencer",
    "MultiTurnGenInferencer": "icl_inferencer.icl_multiturn_inferencer",
    "PromptTemplate": "icl_prompt_template.icl_prompt_template",
    "MMPromptTemplate": "icl_prompt_template.icl_prompt_template_mm",
    "MultiTurnPromptTemplate": "icl_prompt_template.icl_prompt_template_multiturn",
    "ZeroRetriever": "icl_retriever.icl_zero_retriever",
    "FixKRetriever": "icl_retriever.icl_fix_k_retriever",
    "RandomRetriever": "icl_retriever.icl_random_retriever",
}
"""The modules in which AISBench defines the classes that its packages export."""


def hash_prompt(entry: Mapping[str, Any]) -> str | None:
    """Return the hash of one entry as written; None where it holds what JSON cannot write (a function)."""
    full = _full_hash(entry)
    return None if full is None else full[:HASH_DIGITS]


def hash_config(config: LoadedConfig) -> str | None:
    """Return the hash of a file: that of the entries in its first list of datasets."""
    first = next((value for name, value in config.values.items() if name.endswith(DATASETS_SUFFIX)), None)
    if isinstance(first, Mapping):
        return hash_prompt(first)
    if not isinstance(first, Sequence) or not all(isinstance(entry, Mapping) for entry in first):
        return None
    hashes = [_full_hash(entry) for entry in first]
    if None in hashes or not hashes:
        return None
    full = hashes[0] if len(hashes) == 1 else _sha256(",".join(one for one in hashes if one is not None))
    return None if full is None else full[:HASH_DIGITS]


def _full_hash(entry: Mapping[str, Any]) -> str | None:
    asked = entry.get("infer_cfg")
    if asked is None:
        # A table without code: all that is said of it but its name and place.
        content = {key: value for key, value in entry.items() if key not in _UNHASHED_TABLE_KEYS}
    else:
        content = _move_fixed_examples(_to_aisbench_form(asked))
    try:
        return _sha256(json.dumps(_to_json_value(content), sort_keys=True))
    except TypeError:
        return None


def _to_aisbench_form(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an `infer_cfg` as AISBench hashes it: retrievers hold the templates, classes have their homes.

    One that names nothing of AISBench's is returned as it is.
    """
    kinds = [part.get("type") for part in asked.values() if isinstance(part, Mapping)]
    if not any(isinstance(kind, Symbol) and repr(kind).startswith(_AISBENCH) for kind in kinds):
        return asked
    parts = {name: _qualify_class(part) for name, part in asked.items()}
    templates = {name: parts[name] for name in _TEMPLATES if parts.get(name)}
    return {**parts, "retriever": {**parts.get("retriever", {}), **templates}}


def _qualify_class(part: Any) -> Any:
    """Return a component with its class named by the module that defines it."""
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), Symbol):
        return part
    module, _, name = repr(part["type"]).rpartition(".")
    home = _CLASS_MODULES.get(name)
    if home is None or not module.startswith(_AISBENCH):
        return part
    return {**part, "type": f"{_AISBENCH}.{home}.{name}"}


def _move_fixed_examples(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return an `infer_cfg` with its fixed examples under the inferencer, where they were first written."""
    content = dict(asked)
    retriever = content.get("retriever", {})
    if "fix_id_list" in retriever:
        content["retriever"] = {key: value for key, value in retriever.items() if key != "fix_id_list"}
        content["inferencer"] = {**content.get("inferencer", {}), "fix_id_list": retriever["fix_id_list"]}
    return content


def _to_json_value(value: Any) -> Any:
    """Return a value with the names of code as texts."""
    if isinstance(value, Symbol):
        return repr(value)
    if isinstance(value, Mapping):
        return {key: _to_json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(one) for one in value]
    return value


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
