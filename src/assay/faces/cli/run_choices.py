"""The options that can be given several times: models and prompts. One set of flags for each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.app.run_plan import PromptChoice, divide_model_args, name_models, read_prompts, require_label
from assay.core.errors import Problem, UsageError
from assay.core.model_names import NamedChoice


def expand_flags(
    flags: Mapping[str, Any], parse_args: Callable[[Sequence[str]], dict[str, str]]
) -> list[dict[str, Any]]:
    """Return the flags of each run of a command: each model with each prompt, the models in the outer order.

    `parse_args` parses the values of `--model-arg`.
    """
    rest = dict(flags)
    models: Sequence[str] | str = rest.pop("model", None) or ()
    label: str | None = rest.pop("label", None)
    prompts = read_prompts(rest.pop("prompt", None) or (), _list_values(rest.pop("template", None)))
    args = parse_args(rest.pop("model_args", ()))
    if not models or isinstance(models, str):
        if label is not None:
            require_label(label)
        # The model is that of another system's command, of a settings file, or the default.
        named = [NamedChoice(label, models if isinstance(models, str) else "")]
        divided = [args]
    else:
        named = name_models(models, label)
        divided = divide_model_args(args, named)
    return [
        _build_flags(rest, one, own_args, prompt)
        for one, own_args in zip(named, divided, strict=True)
        for prompt in prompts
    ]


def _list_values(value: str | Sequence[str] | None) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value or ()


def _build_flags(
    rest: Mapping[str, Any], model: NamedChoice, args: Mapping[str, str], prompt: PromptChoice
) -> dict[str, Any]:
    return {
        **rest,
        "model": model.spec or None,
        "label": model.label,
        "model_args": dict(args) or None,
        "template": prompt.template,
        "prompt_label": prompt.label,
    }


def require_one_run(expanded: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the flags of a command that takes one model and one prompt."""
    if len(expanded) > 1:
        what = (
            f"the options name {len(expanded)} combinations of model and prompt, and this command takes one"
        )
        fix = "give -m and --prompt or --template once; `assay run` takes several"
        raise UsageError(Problem("GROUP-002", what, fix))
    return expanded[0]
