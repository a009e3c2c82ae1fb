"""The sandbox: runs programs written by a model in separate, limited, isolated processes."""

from assay.scoring.sandbox.protections import Protections
from assay.scoring.sandbox.protocol import Limits, ProgramResult, Status
from assay.scoring.sandbox.sandbox import Sandbox

__all__ = ["Limits", "ProgramResult", "Protections", "Sandbox", "Status"]
