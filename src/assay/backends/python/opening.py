"""Open the model behind `python:NAME`: a function, or a loaded model with its tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.backends.problems import python_object_error
from assay.core.ports import Backend
from assay.core.python_objects import PREFIX, find_object


def open_python_model(where: str, args: Mapping[str, str]) -> Backend:
    """Return the backend for an object that the running program provides."""
    name = f"{PREFIX}{where}"
    model = find_object(name)
    if model is None:
        what = f"{name!r} names an object of a Python program, which exists only in the call of assay.run"
        raise python_object_error(what, "call assay.run again with the object as its model")
    if isinstance(model, tuple):
        return _open_loaded_model(where, model, args)
    if _is_torch_module(model):
        what = f"{type(model).__name__} is a model without its tokenizer"
        raise python_object_error(what, "pass both: model=(model, tokenizer)")
    if not callable(model):
        what = f"a {type(model).__name__} is not a model"
        fix = 'pass a name such as "smollm2", a function that takes a prompt, or (model, tokenizer)'
        raise python_object_error(what, fix)
    from assay.backends.python.function import FunctionBackend

    return FunctionBackend(name, model, args)


def _open_loaded_model(where: str, pair: tuple[Any, ...], args: Mapping[str, str]) -> Backend:
    names = ", ".join(type(part).__name__ for part in pair)
    if len(pair) != 2 or not _is_torch_module(pair[0]):
        if len(pair) == 2 and _is_torch_module(pair[1]):
            what = f"({names}) has its parts in the wrong order"
        else:
            what = f"({names}) is not a transformers model with its tokenizer"
        raise python_object_error(what, "pass model=(model, tokenizer)")
    if not hasattr(pair[1], "backend_tokenizer"):
        what = f"{names.partition(', ')[2]} is not a fast tokenizer: it cannot report token positions"
        raise python_object_error(what, "load the tokenizer with AutoTokenizer.from_pretrained(...)")
    from assay.backends.hf.passed_model import PassedModelBackend

    return PassedModelBackend(where, pair[0], pair[1], args)


def _is_torch_module(model: object) -> bool:
    """Return whether an object is a torch module, without importing torch."""
    return any(
        cls.__name__ == "Module" and cls.__module__.startswith("torch.") for cls in type(model).__mro__
    )
