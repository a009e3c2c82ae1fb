from typing import Any

from assay.dialects.openicl.templates.meta import read_meta_template
from assay.dialects.openicl.templates.rendering import RenderOptions
from assay.dialects.openicl.templates.template_parsing import TemplateSpec
from assay.dialects.openicl.templates.templates import Templates

HUMAN = {"role": "HUMAN", "prompt": "{q}"}
ROUND: dict[str, Any] = {"round": [HUMAN]}


def problems(
    prompt: dict[str, Any] | None,
    ice: dict[str, Any] | None = None,
    *,
    has_shots: bool = False,
    is_chat: bool = False,
    meta: object = None,
    is_faithful: bool = False,
) -> list[str]:
    specs = [None if one is None else TemplateSpec("PromptTemplate", one) for one in (prompt, ice)]
    rendering = RenderOptions(is_chat, read_meta_template(meta, []), is_faithful)
    made = Templates(*specs, output_column="a", rendering=rendering)
    return [fault.what for fault in made.problems(["q", "a"], has_shots=has_shots)]


def test_templates_without_examples_need_no_place_for_them() -> None:
    assert problems({"template": "{q}"}) == []
    assert problems({"template": "{q}"}, {"template": "{q}"}) == []
    assert problems(None, {"template": "{q}"}) == []
    assert problems(None) == ["there is neither a prompt_template nor an ice_template"]


def test_examples_need_a_template_and_a_place() -> None:
    lacking = "examples are retrieved, but there is no ice_template"
    nowhere = "prompt_template has no place for the retrieved examples"
    placed = {"template": "</E>{q}", "ice_token": "</E>"}
    assert problems({"template": "{q}"}, has_shots=True) == [lacking]
    assert problems({"template": "{q}"}, {"template": "{q}"}, has_shots=True) == [nowhere]
    assert problems(None, {"template": "{q}"}, has_shots=True) == [nowhere.replace("prompt", "ice")]
    assert problems(placed, {"template": "{q}"}, has_shots=True) == []
    assert problems(None, placed, has_shots=True) == []


def test_a_dialogue_without_a_place_is_asked_without_examples_by_the_original() -> None:
    ice = {"template": {"A": ROUND, "B": ROUND}, "ice_token": "</E>"}
    assert problems(None, ice, has_shots=True) == ["ice_template has no place for the retrieved examples"]
    assert problems(None, ice, has_shots=True, is_faithful=True) == []


def test_turns_cannot_stand_within_a_text() -> None:
    inside = {"template": {"round": [{"role": "HUMAN", "prompt": "</E>{q}"}]}, "ice_token": "</E>"}
    (what,) = problems(inside, {"template": ROUND}, has_shots=True)
    assert "inside a text, but the ice_template renders them as turns" in what
    assert problems(inside, {"template": "{q}"}, has_shots=True) == []


def test_roles_must_be_the_models() -> None:
    template = {"template": {"round": [{"role": "HUMN", "prompt": "x"}, {"role": "SYSTEM", "prompt": "y"}]}}
    meta = {"round": [{"role": "HUMAN"}, {"role": "BOT", "generate": True}]}
    (what,) = problems(template, meta=meta)
    assert "the role 'HUMN', which the model's meta template does not have (did you mean 'HUMAN'?)" in what
    assert problems(template) == []


def test_a_chat_needs_roles_of_a_chat() -> None:
    meta = {"begin": "<s>", "round": [{"role": "HUMAN"}, {"role": "THOUGHTS"}]}
    assert problems({"template": ROUND}, meta=meta, is_chat=True) == [
        "the meta template of the chat model has no api_role for 'THOUGHTS'",
        "the meta template of the chat model has texts without a role",
    ]
    messages = [{"role": "system", "content": "x"}]
    assert problems({"template": ROUND}, meta=messages, is_chat=True) == []
    assert "reads text" in problems({"template": ROUND}, meta=messages)[0]
