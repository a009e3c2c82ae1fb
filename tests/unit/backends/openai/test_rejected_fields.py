"""What to write if a server rejects a field: the messages are those of the providers."""

from __future__ import annotations

import pytest

from assay.backends.openai.rejected_fields import suggest_fix
from assay.core.thinking import read_thinking


@pytest.mark.parametrize(
    ("message", "thinking", "words"),
    [
        ("temperature is deprecated for this model.", None, "omit=temperature"),
        (
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value "
            "is supported.",
            None,
            "omit=temperature",
        ),
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            None,
            "max_tokens_name=max_completion_tokens",
        ),
        ("`temperature` and `top_p` cannot both be specified for this model.", None, "omit=top_p"),
        (
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
            "2048",
            "--thinking on",
        ),
        ("adaptive thinking is not supported on this model", "on", "--thinking 4096"),
        ("Unrecognized request argument supplied: chat_template_kwargs", "on", "--thinking low"),
        ("Unrecognized request argument supplied: chat_template_kwargs", "off", "reasoning_effort=none"),
        ("The prompt is too long", None, ""),
        ("the model temperature-1 does not exist", None, ""),
    ],
)
def test_a_message_leads_to_its_fix(message: str, thinking: str | None, words: str) -> None:
    fix = suggest_fix(message, None if thinking is None else read_thinking(thinking))
    assert (words in fix) if words else not fix
