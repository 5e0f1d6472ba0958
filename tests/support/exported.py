"""What transformers reads of an export."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import transformers

from objectives import Objective
from objectives.inference.huggingface_export import write_huggingface


def exported(objective: Objective) -> Any:
    """The model of transformers, in eval mode."""
    with tempfile.TemporaryDirectory() as folder:
        write_huggingface(objective, Path(folder))
        return getattr(transformers, objective.traits.huggingface or "").from_pretrained(folder)
