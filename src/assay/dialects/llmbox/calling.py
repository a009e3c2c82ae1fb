"""Calls to the code of a dataset class's author."""

from __future__ import annotations

from assay.core.origin import Origin
from assay.dialects.llmbox.formatting import BadInstance
from assay.dialects.llmbox.instruction import InstructionError
from assay.dialects.shared.class_author import ClassAuthor, HookProblem


class DatasetAuthor(ClassAuthor):
    """The author of one dataset class."""

    raised_code = "LLMBOX-003"
    import_code = "LLMBOX-001"
    missing_code = "DATA-001"
    name_code = "LLMBOX-011"
    missing_fix = "put the file there, or pass its folder with --dataset-arg dataset_path=FOLDER"

    def explain_own_error(self, error: BaseException, place: Origin) -> HookProblem | None:
        """Return the problem of an invalid instance or instruction."""
        if isinstance(error, BadInstance):
            return HookProblem("LLMBOX-004", str(error), error.fix, place)
        if isinstance(error, InstructionError):
            return HookProblem("LLMBOX-005", f"instruction: {error}", error.fix, place)
        return None
