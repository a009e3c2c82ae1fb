from typing import Any

import pytest

from assay.core.prompt import Message
from assay.dialects.openicl.templates.meta import MetaRole, MetaTemplate, read_meta_template
from assay.dialects.openicl.templates.template_problems import TemplateFault


def read(message: object) -> tuple[MetaTemplate | None, list[str]]:
    faults: list[TemplateFault] = []
    found = read_meta_template(message, faults)
    return found, [fault.what for fault in faults]


def test_a_meta_template_is_read() -> None:
    message = {
        "begin": "<s>",
        "round": [{"role": "HUMAN", "begin": "<H>"}, "\n", {"role": "BOT", "generate": True}],
        "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
        "eos_token_id": 2,
    }
    human, bot = MetaRole("HUMAN", "HUMAN", "<H>"), MetaRole("BOT", "BOT", generate=True)
    system = MetaRole("SYSTEM", "SYSTEM")
    assert read(message) == (MetaTemplate((human, "\n", bot), (system,), "<s>"), [])
    assert read(None) == (None, [])
    assert read([{"role": "system", "content": "Be brief."}]) == (
        MetaTemplate(messages=(Message("system", "Be brief."),)),
        [],
    )


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("text", "expected a dict or a list of messages"),
        ({"rounds": []}, "unknown key 'rounds' (did you mean 'round'?)"),
        ({"begin": ""}, "has no 'round'"),
        ({"round": "x"}, "meta_template.round is a str"),
        ({"round": [{"begin": "x"}]}, "expected a dict with a 'role'"),
        ({"round": [{"role": "HUMAN"}, {"role": "HUMAN"}]}, "the role 'HUMAN' twice"),
        ({"round": [{"role": "HUMAN", "begn": "x"}]}, "(did you mean 'begin'?)"),
        ({"round": [{"role": "HUMAN", "api_role": "HUMEN"}]}, "(did you mean 'HUMAN'?)"),
        ({"round": [{"role": "HUMAN", "begin": ["<", 1]}]}, "begin is a list"),
        ({"round": [], "begin": {"role": "SYSTEM"}}, "meta_template.begin is a dict"),
        ([{"role": "robot", "content": "x"}], "expected a message with a role and a content"),
    ],
)
def test_what_is_wrong_is_said(message: Any, expected: str) -> None:
    found, faults = read(message)
    assert found is None
    assert any(expected in fault for fault in faults), faults
