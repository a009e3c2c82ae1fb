"""Errors about models: one function per code, each with its fix.

MODEL-001 unknown backend or address · 002 invalid model argument · 003 files missing ·
004 package not installed · 005 model does not load · 006 not enough memory · 007 server not reachable ·
008 endpoint not served · 009 API key missing or rejected · 020 chat template unusable ·
021 thinking not supported · 022 batch not accepted or cancelled.
Other packages raise the remaining MODEL codes.
`docs/reference/errors.md` explains all of them.
"""

from __future__ import annotations

from importlib.util import find_spec

from assay.core.errors import BackendError, Problem

HF_EXTRA = "pip install 'assay-eval[hf]'"
VISION_EXTRA = "pip install 'assay-eval[vision]'"
LITELLM_EXTRA = "pip install 'assay-eval[litellm]'"
VLLM_EXTRA = "pip install 'assay-eval[vllm]'"


def unknown_model_error(what: str, fix: str) -> BackendError:
    """Return MODEL-001: the model names no known backend, or its address is invalid."""
    return BackendError(Problem("MODEL-001", what, fix))


def argument_error(what: str, fix: str) -> BackendError:
    """Return MODEL-002: a model argument is unknown or has a wrong value."""
    return BackendError(Problem("MODEL-002", what, fix))


def missing_files_error(what: str, fix: str) -> BackendError:
    """Return MODEL-003: the folder, file or repository does not exist or is incomplete."""
    return BackendError(Problem("MODEL-003", what, fix))


def not_installed_error(what: str, fix: str) -> BackendError:
    """Return MODEL-004: a package that this backend needs is not installed."""
    return BackendError(Problem("MODEL-004", what, fix))


def load_error(what: str, fix: str) -> BackendError:
    """Return MODEL-005: the files exist but do not load as a working model."""
    return BackendError(Problem("MODEL-005", what, fix))


def out_of_memory_error(what: str, fix: str) -> BackendError:
    """Return MODEL-006: the machine does not have enough memory for the model."""
    return BackendError(Problem("MODEL-006", what, fix))


def unreachable_error(what: str) -> BackendError:
    """Return MODEL-007: no server responds at the address, or it stopped answering."""
    fix = "start the server or correct the address, then repeat the command: finished requests are kept"
    return BackendError(Problem("MODEL-007", what, fix))


def endpoint_error(what: str, fix: str) -> BackendError:
    """Return MODEL-008: a server answers at the address, but does not accept the request."""
    return BackendError(Problem("MODEL-008", what, fix))


def rejected_key_error(what: str, variable: str = "OPENAI_API_KEY") -> BackendError:
    """Return MODEL-009: the server requires an API key, or rejects the one it got."""
    fix = f"put the key into {variable}, or into another variable and add --model-arg key_env=NAME"
    return BackendError(Problem("MODEL-009", what, fix))


def template_error(what: str) -> BackendError:
    """Return MODEL-020: the model's chat template cannot render a conversation."""
    fix = (
        "correct the template, use another one with --model-arg chat_template=FILE, or send prompts as "
        "plain text with --chat off"
    )
    return BackendError(Problem("MODEL-020", what, fix))


def thinking_error(what: str, fix: str = "remove --thinking, or choose a model that thinks") -> BackendError:
    """Return MODEL-021: the model does not support the requested thinking."""
    return BackendError(Problem("MODEL-021", what, fix))


def batch_error(what: str) -> BackendError:
    """Return MODEL-022: a provider rejected, cancelled or lost a batch of requests."""
    fix = (
        "run the same command again: it sends only what is not answered; without --batch, requests go one by "
        "one"
    )
    return BackendError(Problem("MODEL-022", what, fix))


def require_packages(*names: str, needed_by: str, fix: str = HF_EXTRA) -> None:
    """Raise MODEL-004 unless all packages are installed. Does not import them."""
    absent = [name for name in names if find_spec(name) is None]
    if absent:
        raise not_installed_error(f"{needed_by} needs {', '.join(absent)}, which is not installed", fix)


def python_object_error(what: str, fix: str) -> BackendError:
    """Return PYTHON-003: an object of a Python program cannot be used as a model."""
    return BackendError(Problem("PYTHON-003", what, fix))
