"""The six digits of a prompt, computed independently from the recipe."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay.dialects.openicl.config.loading import LoadedConfig
from assay.dialects.openicl.config.prompt_hash import hash_config, hash_prompt
from assay.dialects.openicl.config.symbol import Symbol

ASKED = {
    "retriever": {"type": Symbol("oc.icl_retriever", "FixKRetriever"), "fix_id_list": [0, 2]},
    "prompt_template": {"type": Symbol("oc", "PromptTemplate"), "template": {0: "é", 1: ("b",)}},
    "inferencer": {"type": Symbol("oc", "PPLInferencer")},
}
TEXT = (
    '{"inferencer": {"fix_id_list": [0, 2], "type": "oc.PPLInferencer"}, '
    '"prompt_template": {"template": {"0": "\\u00e9", "1": ["b"]}, "type": "oc.PromptTemplate"}, '
    '"retriever": {"type": "oc.icl_retriever.FixKRetriever"}}'
)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def config(**values: Any) -> LoadedConfig:
    return LoadedConfig(Path("x.py"), values, ())


def test_one_entry() -> None:
    before = repr(ASKED)
    assert hash_prompt({"abbr": "a", "infer_cfg": ASKED}) == sha(TEXT)[:6]
    assert repr(ASKED) == before


def test_a_file_with_one_entry_with_several_and_with_none() -> None:
    one = {"abbr": "a", "infer_cfg": ASKED}
    assert hash_config(config(n=1, a_datasets=[one], b_datasets=[])) == sha(TEXT)[:6]
    assert hash_config(config(a_datasets=one)) == sha(TEXT)[:6]
    assert hash_config(config(a_datasets=[one, one])) == sha(f"{sha(TEXT)},{sha(TEXT)}")[:6]
    assert hash_config(config(datasets=[one])) is None
    assert hash_config(config(a_datasets=[])) is None


def test_a_table_is_hashed_by_what_is_said_of_it() -> None:
    table = {"abbr": "t", "path": "x.csv", "data_type": "mcq", "infer_method": "gen"}
    assert hash_prompt(table) == sha('{"data_type": "mcq", "infer_method": "gen"}')[:6]


def test_a_function_has_no_written_form() -> None:
    assert hash_prompt({"infer_cfg": {"inferencer": {"type": len}}}) is None


@given(
    st.dictionaries(st.sampled_from(["retriever", "inferencer", "x"]), st.dictionaries(st.text(), st.text()))
)
def test_the_order_of_keys_and_the_scoring_do_not_count(asked: dict[str, Any]) -> None:
    turned = dict(reversed(asked.items()))
    assert hash_prompt({"infer_cfg": asked}) == hash_prompt({"infer_cfg": turned, "eval_cfg": {"x": 1}})
