"""The problems a model can have, each with its code and its mending.

MODEL-001 unknown backend · 002 wrong model argument · 003 files missing · 004 extra not installed ·
005 does not load · 006 does not fit into memory · 007 server not reached · 008 address not served ·
009 key missing or refused · 011 chat template unusable. (010, every request refused alike, is the engine's.)
`docs/reference/errors.md` explains them to people.
"""

from __future__ import annotations

import importlib.util

from assay.core.errors import BackendError, Problem

HF_EXTRA = "pip install 'assay-eval[hf]'"
VISION_EXTRA = "pip install 'assay-eval[vision]'"
VLLM_EXTRA = "pip install 'assay-eval[vllm]'"


def unknown_model_error(what: str, fix: str) -> BackendError:
    """Return MODEL-001: the name before the colon is no backend."""
    return BackendError(Problem("MODEL-001", what, fix))


def argument_error(what: str, fix: str) -> BackendError:
    """Return MODEL-002: a model argument is unknown or has a wrong value."""
    return BackendError(Problem("MODEL-002", what, fix))


def missing_files_error(what: str, fix: str) -> BackendError:
    """Return MODEL-003: the folder, file or repository is not there, or lacks something."""
    return BackendError(Problem("MODEL-003", what, fix))


def not_installed_error(what: str, fix: str) -> BackendError:
    """Return MODEL-004: a package that this backend needs is not installed."""
    return BackendError(Problem("MODEL-004", what, fix))


def load_error(what: str, fix: str) -> BackendError:
    """Return MODEL-005: the files are there but no working model comes out of them."""
    return BackendError(Problem("MODEL-005", what, fix))


def out_of_memory_error(what: str, fix: str) -> BackendError:
    """Return MODEL-006: the machine's memory is too small for the model."""
    return BackendError(Problem("MODEL-006", what, fix))


def unreachable_error(what: str) -> BackendError:
    """Return MODEL-007: no server answers at the address, or no longer."""
    fix = "start the server, or correct the address; what was answered is kept, the same command goes on"
    return BackendError(Problem("MODEL-007", what, fix))


def endpoint_error(what: str, fix: str) -> BackendError:
    """Return MODEL-008: something answers at the address, but does not take what is sent."""
    return BackendError(Problem("MODEL-008", what, fix))


def rejected_key_error(what: str) -> BackendError:
    """Return MODEL-009: the server wants a key, or another one than it was shown."""
    fix = "put the key into OPENAI_API_KEY, or into a variable that --model-arg key_env=NAME names"
    return BackendError(Problem("MODEL-009", what, fix))


def template_error(what: str) -> BackendError:
    """Return MODEL-020: the model's chat template shows no conversation."""
    fix = (
        "correct the template, name another one with --model-arg chat_template=FILE, or send prompts as "
        "plain text with --chat off"
    )
    return BackendError(Problem("MODEL-020", what, fix))


def require_packages(*names: str, needed_by: str, fix: str = HF_EXTRA) -> None:
    """Raise MODEL-004 unless every package can be imported. Imports none of them."""
    absent = [name for name in names if importlib.util.find_spec(name) is None]
    if absent:
        raise not_installed_error(f"{needed_by} needs {', '.join(absent)}, which is not installed", fix)
