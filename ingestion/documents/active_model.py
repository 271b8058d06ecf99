"""Provides the active model of document types to the processes that judge documents.

The model is a row of the database, and each reader of documents writes it into its own temporary
folder. It is looked up whenever a worker begins a chunk, so that no process has to be restarted
after an activation. Each decision names the model that it used.
"""

import json
import logging
import tempfile
from functools import lru_cache
from pathlib import Path

from ingestion.core.errors import ReadingFault
from ingestion.models import LearnedModel, ModelActivation
from ingestion.rules.classification.model_file import ModelFile
from ingestion.rules.classification.type_model import Model, ModelError

logger = logging.getLogger(__name__)

ACTIVE_MODEL, BUILT_IN_MODEL = "active", "built-in"  # other models are named by their keys


def find_active_model() -> LearnedModel | None:
    """Return the active model without its content, or None for the built-in model."""
    rows = ModelActivation.objects.select_related("model").defer(
        "model__content", "model__comparison", "model__decisions"
    )
    last = rows.order_by("number").last()
    return last.model if last else None


def find_model(name: str) -> LearnedModel | None:
    """Return the model of this name, or None for the built-in one.

    Raises LearnedModel.DoesNotExist, and ValueError if the name is neither a word nor a key.
    """
    if name == BUILT_IN_MODEL:
        return None
    if name == ACTIVE_MODEL:
        active = find_active_model()
        return LearnedModel.objects.get(pk=active.pk) if active else None
    return LearnedModel.objects.get(pk=int(name))


def load_active_model() -> Model | None:
    """Return the active model for suggestions, or None for the built-in one.

    The result is None, too, if the row of the model was changed. Workers hold documents then.
    """
    active = find_active_model()
    try:
        return _load_model(active.pk, active.sha256) if active else None
    except (ReadingFault, ModelError, ValueError):
        logger.exception("the active model of document types cannot be used")
        return None


@lru_cache(maxsize=1)
def _load_model(key: int, sha256: str) -> Model:
    """Return a model. A process that shows suggestions reads it from the database once."""
    model = LearnedModel.objects.get(pk=key)
    if not model.has_content(sha256):
        raise ReadingFault(f"the content of {model.subject} is not what was trained")
    return Model.from_json(json.loads(model.content))


def provide_active_model(folder: Path, known: ModelFile | None) -> ModelFile | None:
    """Return the active model as a file in `folder`, or None for the built-in model.

    `known` is the file that the caller has; it is returned if it is the active model. Raises
    ReadingFault if the content of the row is not that of its digest.
    """
    model = find_active_model()
    if model is None or (known is not None and known.sha256 == model.sha256):
        return known if model else None
    return write_model_file(model, folder)


def write_model_file(model: LearnedModel, folder: Path) -> ModelFile:
    """Write a model into a folder, whole or not at all. Raises ReadingFault and OSError."""
    if not model.has_content(model.sha256):
        raise ReadingFault(f"the content of {model.subject} is not what was trained")
    file = ModelFile(model.sha256, folder / f"model-{model.sha256}.json")
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as part:
        part.write(model.content.encode())
    Path(part.name).rename(file.path)
    return file
