"""How an entry of a config was understood, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def describe_settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and what they stand for, given what the manifest records."""
    rows = [("class", str(settings["dataset_class"]))]
    if settings["prompt_hash"]:
        rows.append(("hash", f"{settings['prompt_hash']}, of what is asked"))
    rows += [
        ("prompt", f"{settings['prompt_format']}, asked by {settings['inferencer']['name']}"),
        ("evaluator", _describe_evaluation(settings)),
    ]
    if settings["shots"]:
        rows.append(("shots", f"{settings['shots']}, by {settings['retriever']['name']}"))
    if settings["n"] > 1:
        rows.append(("asked", f"{settings['n']} times each"))
    return rows


def _describe_evaluation(settings: Mapping[str, Any]) -> str:
    through = " > ".join(settings["postprocessors"])
    return f"{settings['evaluator']} of what {through} finds" if through else str(settings["evaluator"])
