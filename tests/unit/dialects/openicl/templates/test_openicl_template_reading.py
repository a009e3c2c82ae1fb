from typing import Any

import pytest

from assay.dialects.openicl.templates.template_parsing import TemplateSpec, read_template
from assay.dialects.openicl.templates.template_problems import TemplateFault


def faults_in(arguments: Any, name: str = "PromptTemplate") -> list[str]:
    faults: list[TemplateFault] = []
    read = read_template(TemplateSpec(name, arguments), is_faithful=False, faults=faults)
    assert (read is None) == bool(faults)
    return [fault.what for fault in faults]


@pytest.mark.parametrize(
    "template",
    [
        "{question}",
        {0: "no", 1: "yes"},
        {True: "yes", False: {"round": [{"role": "HUMAN", "prompt": "x"}]}},
        {"begin": "</E>", "round": [{"role": "HUMAN", "prompt": "x"}, "bare"]},
        {"begin": {"role": "SYSTEM", "prompt": "x"}, "round": [], "end": ["bye"]},
    ],
)
def test_every_form_is_read(template: Any) -> None:
    assert faults_in({"template": template}) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"tempalte": "x"}, "unknown argument 'tempalte' (did you mean 'template'?)"),
        ({}, "the template is a NoneType"),
        ({"template": {}}, "the template is a dict ({})"),
        ({"template": "x", "ice_token": 1}, "ice_token is a int"),
        ({"template": "x", "ice_token": "</E>"}, "'</E>' is missing from the template"),
        ({"template": {"A": "x"}, "ice_token": "</E>"}, "is missing from the template of label 'A'"),
        ({"template": "x", "column_token_map": ["q"]}, "column_token_map is a list"),
        ({"template": {"rounds": []}}, "expected a text or a dialogue (did you mean 'round'?)"),
        ({"template": {"begin": "x"}}, "the template has no 'round'"),
        ({"template": {"A": {"round": [], "ends": "x"}}}, "unknown key 'ends' (did you mean 'end'?)"),
        ({"template": {"round": "x"}}, "round of the template is a str"),
        ({"template": {"round": [1]}}, "round[0] of the template is a int"),
        ({"template": {"round": [{"prompt": "x"}]}}, "the role of round[0] of the template is a NoneType"),
        ({"template": {"round": [{"role": "HUMAN", "prmpt": "x"}]}}, "(did you mean 'prompt'?)"),
        (
            {"template": {"round": [{"role": "HUMAN", "prompt": 1}]}},
            "prompt of round[0] of the template is a int",
        ),
        ({"template": {"round": [{"role": "X", "fallback_role": 1}]}}, "fallback_role of round[0]"),
    ],
)
def test_what_is_wrong_is_said(arguments: Any, expected: str) -> None:
    faults = faults_in(arguments)
    assert any(expected in fault for fault in faults), faults


def test_an_unknown_kind_is_said_with_the_nearest() -> None:
    assert faults_in({}, "PromtTemplate") == [
        "there is no template 'PromtTemplate' (did you mean 'PromptTemplate'?)"
    ]
    assert "expected a dialogue of one round" in faults_in({"template": "x"}, "MultiTurnPromptTemplate")[0]
    only_bot = {"template": {"round": [{"role": "BOT", "prompt": "x"}]}}
    assert faults_in(only_bot, "MultiTurnPromptTemplate") == ["the round has no user turn"]
