"""Conversations as one text: what a chat template writes before a reply that is begun or scored."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest

from assay.backends.local.chat_prompts import Renderer, TemplateTrouble
from assay.core.media import Text
from assay.core.prompt import Message, Prompt

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MISTRAL = (
    "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }}[/INST]"
    "{% else %} {{ m.content | trim }}</s>{% endif %}{% endfor %}"
)
OPENS_REASONING = (
    "{% for m in messages %}{% if m.role == 'user' %}<user>{{ m.content }}"
    "{% else %}<assistant>{{ m.content.split('</think>')[-1] }}<end>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant><think>\n{% endif %}"
)
SWITCHED = (
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}<think>\n{% endif %}{{ m.content }}\n"
    "{% endfor %}{% if add_generation_prompt %}<assistant>"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% else %}<think>\n"
    "{% endif %}{% endif %}"
)
ALWAYS_OPEN = (
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}[THINK]{% endif %}{{ m.content }}\n"
    "{% endfor %}{% if add_generation_prompt %}<assistant>[THINK]{% endif %}"
)
CLOSES_FOR_A_REPLY = (
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and loop.last %}<think>\n\n</think>\n\n"
    "{% endif %}{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
LOSES_SYSTEM_BEFORE_A_REPLY = (
    "{% for m in messages %}{% if m.role == 'user' %}[INST]"
    "{% if loop.last and messages[0].role == 'system' %}{{ messages[0].content }}. {% endif %}{{ m.content }}"
    "[/INST]{% elif m.role == 'assistant' %} {{ m.content }}</s>{% endif %}{% endfor %}"
)
ENDS_WITH_A_USER = (
    "{% if messages[-1].role != 'user' %}{{ raise_exception('end with a user') }}{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"
)
USER, ASSISTANT = Message("user", "Q"), Message("assistant", "Answer: B")


class Tokenizer:
    """Renders a template as a tokenizer of transformers does."""

    def __init__(self, template: str) -> None:
        self.chat_template = template

    def apply_chat_template(self, messages: list[Any], *, tokenize: bool, **names: Any) -> str:
        assert not tokenize
        environment = jinja2.Environment()
        environment.globals["raise_exception"] = _refuse
        return environment.from_string(self.chat_template).render(messages=messages, **names)


def _refuse(why: str) -> None:
    raise jinja2.TemplateError(why)


def text(template: str, prompt: Prompt, *, is_scored: bool = False) -> str:
    return Renderer(Tokenizer(template)).render(prompt, is_scored=is_scored).text


@pytest.mark.parametrize("template", [CHATML, MISTRAL, OPENS_REASONING])
def test_a_begun_reply_reads_as_the_shot_before_it(template: str) -> None:
    shown = text(template, (USER, ASSISTANT, USER, Message("assistant", "Answer:")))
    before, after = shown.rsplit("Q", 1)
    assert before.split("Q", 1)[1].startswith(after)


def test_where_a_begun_reply_starts() -> None:
    rendered = Renderer(Tokenizer(MISTRAL)).render((USER, Message("assistant", " Answer:")))
    assert rendered.text[: rendered.final_at] == "[INST] Q[/INST] "
    assert rendered.text[rendered.final_at :] == " Answer:"


@pytest.mark.parametrize(
    ("template", "before_labels", "before_reply"),
    [
        (CHATML, "<|im_start|>assistant\n", "<|im_start|>assistant\n"),
        (MISTRAL, "[/INST]", "[/INST] "),
        (OPENS_REASONING, "<assistant>", "<assistant>"),
        (SWITCHED, "<assistant><think>\n\n</think>\n\n", "<assistant><think>\n\n</think>\n\n"),
        (CLOSES_FOR_A_REPLY, "<assistant><think>\n\n</think>\n\n", "<assistant><think>\n\n</think>\n\n"),
        (ENDS_WITH_A_USER, "<assistant>", "<assistant>"),
    ],
)
def test_answers_are_scored_after_what_the_template_writes_before_a_reply(
    template: str, before_labels: str, before_reply: str
) -> None:
    assert text(template, (USER,), is_scored=True).endswith("Q" + _after_question(template) + before_labels)
    begun = (USER, Message("assistant", "B"))
    assert text(template, begun, is_scored=True).endswith(_after_question(template) + before_reply + "B")


def _after_question(template: str) -> str:
    if template == CHATML:
        return "<|im_end|>\n"
    return "" if "[INST]" in template or template == OPENS_REASONING else "\n"


@pytest.mark.parametrize("template", [CHATML, MISTRAL, OPENS_REASONING, SWITCHED, ALWAYS_OPEN])
def test_a_model_that_writes_is_asked_as_its_template_asks(template: str) -> None:
    asked = Tokenizer(template).apply_chat_template(
        [{"role": "user", "content": "Q"}], tokenize=False, add_generation_prompt=True
    )
    assert text(template, (USER,)) == asked


@pytest.mark.parametrize("prompt", [(USER,), (USER, ASSISTANT)])
def test_a_block_of_reasoning_that_stays_open_is_rejected_with_the_way_out(prompt: Prompt) -> None:
    with pytest.raises(TemplateTrouble, match=r"reasoning block \(\[THINK\]\).*--method gen or --chat off"):
        text(ALWAYS_OPEN, prompt, is_scored=True)
    assert text(ALWAYS_OPEN, prompt)


def test_a_system_message_is_kept_before_a_begun_reply() -> None:
    prompt = (Message("system", "Be brief"), USER, Message("assistant", "Answer:"))
    assert text(LOSES_SYSTEM_BEFORE_A_REPLY, prompt) == "[INST]Be brief. Q[/INST] Answer:"


REFUSES_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
DROPS_SYSTEM = REFUSES_SYSTEM.replace("{{ raise_exception('no system role') }}{% endif %}", "{% else %}")
DROPS_SYSTEM = DROPS_SYSTEM.replace("\n{% endfor %}", "\n{% endif %}{% endfor %}")


@pytest.mark.parametrize("template", [REFUSES_SYSTEM, DROPS_SYSTEM])
def test_without_a_system_role_the_user_says_what_the_system_would(template: str) -> None:
    renderer = Renderer(Tokenizer(template))
    assert renderer.render((USER,)).text == "<user>Q\n<assistant>"
    assert not renderer.has_moved_system
    shown = renderer.render((Message("system", "Be brief."), USER, ASSISTANT, USER)).text
    assert shown == "<user>Be brief.\nQ\n<assistant>Answer: B\n<user>Q\n<assistant>"
    assert renderer.has_moved_system


def test_a_system_message_before_parts_is_a_part() -> None:
    class InParts(Tokenizer):
        def apply_chat_template(self, messages: list[Any], *, tokenize: bool, **names: Any) -> str:
            flat = [{**one, "content": "".join(part["text"] for part in one["content"])} for one in messages]
            return super().apply_chat_template(flat, tokenize=tokenize, **names)

    prompt = (Message("system", "Be brief."), Message("user", (Text("Q"), Text("!"))))
    assert (
        Renderer(InParts(REFUSES_SYSTEM), in_parts=True).render(prompt).text
        == "<user>Be brief.\nQ!\n<assistant>"
    )
