"""Stores models for tests that train none."""

import hashlib
import json

from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.learning import training
from ingestion.models import LearnedModel
from ingestion.rules.document_types import MODEL_FILE, MODEL_SHA256, RULES_VERSION

FIGURES = {"right": 5, "right_first": 9, "right_in_three": 10, "unrecognised": 7, "wrong": 0}


def make_model(name="learned", rules=RULES_VERSION, document=1):
    """Store a model with the coefficients of the built-in model, compared on 12 documents."""
    content = json.dumps({**json.loads(MODEL_FILE.read_text()), "name": name})
    change = {"name": "a memo at site 0203", "site": "0203", "type": "note-to-file"}
    change |= {"key": document, "before": ""}
    comparison = {
        "compared_with": "",
        "documents": 12,
        "sites": ["0203", "0204"],
        "before": {**FIGURES, "right_first": 3},
        "after": FIGURES,
        "types": {"note-to-file": {"documents": 12, "before": 0, "after": 5}},
        "changes": [
            {**change, "after": "note-to-file", "change": "better"},
            {**change, "after": "cv", "change": "worse"},
        ],
    }
    with ledger():
        model = LearnedModel.objects.create(
            sha256=hashlib.sha256(content.encode()).hexdigest(),
            content=content,
            rules_version=rules,
            base_sha256=MODEL_SHA256,
            decisions=[1, 2, 3],
            training_sites=["0101"],
            test_sites=["0203", "0204"],
            comparison=comparison,
        )
        model.record_at_revision(
            training.TRAINED, by=Actor("system:tests"), sha256=model.sha256, detail={"test": 1}
        )
    return model
