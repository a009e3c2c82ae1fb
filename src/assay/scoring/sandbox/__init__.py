"""The sandbox: runs programs written by a model in separate, limited, isolated processes."""

from assay.scoring.sandbox.limits import Limits
from assay.scoring.sandbox.program_result import ProgramResult, Status
from assay.scoring.sandbox.protections import Protections
from assay.scoring.sandbox.sandbox import Sandbox

__all__ = ["Limits", "ProgramResult", "Protections", "Sandbox", "Status"]
