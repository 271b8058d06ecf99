"""Loads a model of document types from a file, for the processes that judge documents.

The name of the file is passed to these processes, and not the model, because it has thousands of
numbers. Each process reads it once.
"""

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ingestion.rules.classification.type_model import Model
from ingestion.rules.document_types import name_rules


class ModelFile(NamedTuple):
    """A file with the JSON of a model, and its SHA-256 digest in hex."""

    sha256: str
    path: Path

    @property
    def rules_version(self) -> str:
        """Return the version of the rules of a decision that used this model."""
        return name_rules(self.sha256)


@lru_cache(maxsize=2)
def load_model_file(file: ModelFile) -> Model:
    """Return the model of a file. Raises OSError, and ModelError or ValueError for other bytes."""
    content = file.path.read_bytes()
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise ValueError(f"{file.path} is not the model {file.sha256}")
    return Model.from_json(json.loads(content))
