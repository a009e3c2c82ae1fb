"""The six-digit prompt hash that OpenCompass uses in config names and as the version of a score.

It is the beginning of a SHA-256 over `infer_cfg`, without the data, the evaluator and the post-processors.
Two systems with the same hash have read the same prompt.
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
"""The modules that define the classes exported by AISBench's packages."""


def hash_prompt(entry: Mapping[str, Any]) -> str | None:
    """Return the hash of one entry as written; None if it contains a value that JSON cannot represent."""
    full = _full_hash(entry)
    return None if full is None else full[:HASH_DIGITS]


def hash_config(config: LoadedConfig) -> str | None:
    """Return the hash of a file: that of the entries in its first dataset list."""
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
        # A table without code: all its settings except name and path.
        content = {key: value for key, value in entry.items() if key not in _UNHASHED_TABLE_KEYS}
    else:
        content = _move_fixed_examples(_to_aisbench_form(asked))
    try:
        return _sha256(json.dumps(_to_json_value(content), sort_keys=True))
    except TypeError:
        return None


def _to_aisbench_form(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an `infer_cfg` in the form that AISBench hashes: templates inside retrievers, full class names.

    An `infer_cfg` without parts of AISBench is returned unchanged.
    """
    kinds = [part.get("type") for part in settings.values() if isinstance(part, Mapping)]
    if not any(isinstance(kind, Symbol) and repr(kind).startswith(_AISBENCH) for kind in kinds):
        return settings
    parts = {name: _qualify_class(part) for name, part in settings.items()}
    templates = {name: parts[name] for name in _TEMPLATES if parts.get(name)}
    return {**parts, "retriever": {**parts.get("retriever", {}), **templates}}


def _qualify_class(part: Any) -> Any:
    """Return a component with the full name of its class."""
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), Symbol):
        return part
    module, _, name = repr(part["type"]).rpartition(".")
    home = _CLASS_MODULES.get(name)
    if home is None or not module.startswith(_AISBENCH):
        return part
    return {**part, "type": f"{_AISBENCH}.{home}.{name}"}


def _move_fixed_examples(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return an `infer_cfg` with its fixed examples moved to the inferencer, their original place."""
    content = dict(settings)
    retriever = content.get("retriever", {})
    if "fix_id_list" in retriever:
        content["retriever"] = {key: value for key, value in retriever.items() if key != "fix_id_list"}
        content["inferencer"] = {**content.get("inferencer", {}), "fix_id_list": retriever["fix_id_list"]}
    return content


def _to_json_value(value: Any) -> Any:
    """Return a value with references to code as texts."""
    if isinstance(value, Symbol):
        return repr(value)
    if isinstance(value, Mapping):
        return {key: _to_json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(one) for one in value]
    return value


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
