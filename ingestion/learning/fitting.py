"""Fits a model to examples. It runs in a process of its own, which imports the libraries."""

import json
from collections.abc import Collection, Sequence

from ingestion.reading.results import DocumentReading
from ingestion.rules.classification.classify import extract_document_features
from ingestion.rules.classification.type_model import load_model

MODEL_NAME = "learned"


def fit(
    examples: Sequence[tuple[DocumentReading, str, str]], *, excluded_words: Collection[str]
) -> str:
    """Return a model as JSON, or "" if the examples do not suffice for one.

    An example is the reading of a document, its type and the number of its site. The model starts
    from the package's, and only its words change: decisions of QA show no document without a type,
    so they cannot determine the probability from which a type is certain. The same examples in the
    same order give the same bytes.
    """
    # These import large libraries.
    from ingestion.training.examples import Example  # noqa: PLC0415
    from ingestion.training.train import train  # noqa: PLC0415

    found = [
        Example(extract_document_features(reading), kind, site) for reading, kind, site in examples
    ]
    try:
        content = train(found, name=MODEL_NAME, base=load_model(), excluded_words=excluded_words)
    except ValueError:
        return ""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
