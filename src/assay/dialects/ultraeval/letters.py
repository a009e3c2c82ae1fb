"""How a transform writes the letter of an option: found out from the outputs of all rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class LetterForm(NamedTuple):
    """What stands around the letter in an output: `(` and `)` in `(A)`."""

    before: str
    after: str

    def spellings(self, label: str) -> tuple[str, ...]:
        """Return the ways a label may be spelled where the model's answer begins."""
        return (label,) if self.before.strip() else (f" {label}", label)


def infer_letter_form(outputs: Iterable[tuple[str, str]]) -> LetterForm | None:
    """Return the form that all outputs have in common, given (output, letter of the right option) pairs."""
    forms: list[LetterForm] | None = None
    for output, letter in outputs:
        if forms is None:
            size = len(letter)
            places = [at for at in range(len(output)) if output.startswith(letter, at)]
            forms = [LetterForm(output[:at], output[at + size :]) for at in places]
        else:
            forms = [form for form in forms if output == f"{form.before}{letter}{form.after}"]
        if not forms:
            return None
    return forms[0] if forms else None
