"""Chat templates render as in transformers, within bounds on time and size."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.backends.hf.backend import HfBackend
from assay.backends.hf.loading import load_tokenizer
from assay.backends.local.chat_prompts import Renderer, TemplateTrouble
from assay.backends.local.chat_template import ChatTemplate
from assay.core.errors import BackendError
from assay.core.prompt import Message
from assay.core.request import Kind

MakeModel = Callable[..., Path]
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "1+1=\nor not?"},
    {"role": "assistant", "content": "2"},
    {"role": "user", "content": " <b>And</b> 2+2? "},
]
EACH = "{% for m in messages %}"
CHATML = EACH + (
    "{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TEMPLATES = {
    "chatml": CHATML,
    "blocks": "  {% for m in messages %}\n    {{- m.role | title }}: {{ m.content | trim }}\n  {% endfor %}",
    "special tokens": "{{ bos_token }}" + EACH + "{{ m.content }}{{ eos_token }}{% endfor %}",
    "generation": EACH + "{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
    "loop controls": EACH + "{% if loop.first %}{% continue %}{% endif %}{{ m.content }}{% endfor %}",
    "json": "{{ messages | tojson(indent=2) }}{{ tools | tojson }}",
    "namespace": "{% set ns = namespace(n=0) %}" + EACH + "{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
    "macro": "{% macro f(m) %}[{{ m.role }}]{{ m.content }}{% endmacro %}" + EACH + "{{ f(m) }}{% endfor %}",
    "nothing": "{{ messages[0]['nothing'] }}|{{ documents is none }}",
    "date": "{{ strftime_now('%Y') }}",
}


@pytest.fixture
def tokenizer(make_model: MakeModel) -> Any:
    return load_tokenizer(make_model())


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_the_text_is_that_of_transformers(tokenizer: Any, template: str) -> None:
    tokenizer.chat_template = template
    expected = tokenizer.apply_chat_template(TALK, tokenize=False, add_generation_prompt=True)
    made = ChatTemplate(tokenizer)
    assert made.render(TALK, add_generation_prompt=True) == expected
    assert made._is_same
    # From the second conversation on transformers is not asked.
    tokenizer.apply_chat_template = None
    assert made.render(TALK, add_generation_prompt=True) == expected


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 999999999 }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ messages[0].content.center(10**10) }}",
        "{% generation %}{{ 'x'|center(10**10) }}{% endgeneration %}",
    ],
)
def test_a_template_that_runs_away_is_an_error(tokenizer: Any, template: str) -> None:
    tokenizer.chat_template = template
    with pytest.raises(TemplateTrouble, match="exceeds its limits: template line 1"):
        Renderer(tokenizer).render((Message("user", "Hello"),))


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: Any, **__: Any) -> None:
        raise AssertionError("weights or tokenizer are loaded")

    monkeypatch.setattr("assay.backends.hf.backend.load_model", load)
    monkeypatch.setattr("assay.backends.local.local_model.load_tokenizer", load)


RUNS_AWAY = {
    "grows": "{{ 'a' * 999999999 }}",
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "with a system message": "{% if messages[0].role == 'system' %}{{ 'a' * 10**10 }}{% endif %}",
    "with several turns": "{% if messages|length > 2 %}{{ 'a' * 10**10 }}{% endif %}",
}


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("template", RUNS_AWAY.values(), ids=RUNS_AWAY)
def test_a_template_that_runs_away_is_found_before_the_weights_are_loaded(
    make_model: MakeModel, tmp_path: Path, template: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(make_model(chat=True), folder)
    (folder / "chat_template.jinja").write_text(template)
    model = HfBackend(str(folder), {})
    with pytest.raises(BackendError, match=r"MODEL-020.*the chat template of hf:.* does not end: template"):
        model.probe_card(frozenset(Kind), is_chat=True)
    assert model.probe_card(frozenset(Kind), is_chat=False) is model.card
    (tmp_path / "own.jinja").write_text(CHATML)
    own = HfBackend(str(folder), {"chat_template": str(tmp_path / "own.jinja")})
    assert own.probe_card(frozenset(Kind), is_chat=True).is_chat


@pytest.mark.usefixtures("unloaded")
def test_a_template_that_does_not_parse_is_found_before_the_weights_are_loaded(
    make_model: MakeModel, tmp_path: Path
) -> None:
    (tmp_path / "own.jinja").write_text("{% for m in messages %}\n{{ m.content }\n{% endfor %}")
    given = {"chat_template": str(tmp_path / "own.jinja")}
    with pytest.raises(BackendError, match=r"MODEL-020 .*own.jinja does not parse: template line 2"):
        HfBackend(str(make_model()), given).probe_card(frozenset(Kind), is_chat=True)
    # A tokenizer with code of its own may render it all the same.
    trusting = HfBackend(str(make_model()), {**given, "trust_remote_code": "true"})
    assert trusting.probe_card(frozenset(Kind), is_chat=True).is_chat


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize(
    "template", [*TEMPLATES.values(), "{{ raise_exception('no roles') }}", "{{ 1 / 0 }}"]
)
def test_other_templates_are_left_to_the_conversations(
    make_model: MakeModel, tmp_path: Path, template: str
) -> None:
    (tmp_path / "own.jinja").write_text(template)
    model = HfBackend(str(make_model()), {"chat_template": str(tmp_path / "own.jinja")})
    assert model.probe_card(frozenset(Kind), is_chat=True).is_chat


@pytest.mark.parametrize("template", ["{{ raise_exception('no system role') }}", "{{ 1 / 0 }}", "{{ broken"])
def test_what_a_template_raises_is_the_error_of_transformers(tokenizer: Any, template: str) -> None:
    tokenizer.chat_template = template
    with pytest.raises(TemplateTrouble, match="rejects roles"):
        Renderer(tokenizer).render((Message("user", "Hello"),))


def test_a_tokenizer_with_a_method_of_its_own_is_believed(tokenizer: Any) -> None:
    tokenizer.chat_template = CHATML
    tokenizer.apply_chat_template = lambda messages, **_: f"own {len(messages)}"
    made = ChatTemplate(tokenizer)
    assert [made.render(TALK, add_generation_prompt=True), made.render(TALK[1:])] == ["own 4", "own 3"]
