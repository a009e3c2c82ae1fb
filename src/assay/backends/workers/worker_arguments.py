"""Where a worker is put: the model arguments that speak of it rather than of the model."""

from __future__ import annotations

from typing import Annotated

import msgspec


class Placement(msgspec.Struct, frozen=True):
    """What each worker is given. None: as the model and the machine suggest."""

    num_gpus: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """GPUs; on a cluster a part of one too, such as 0.5."""
    num_cpus: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Processors: so many threads does a model on the CPU compute with."""
