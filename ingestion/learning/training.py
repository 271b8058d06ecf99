"""Trains a model with the decisions of QA as a job, and compares it with the active model.

It stores the model and activates nothing: a person does, with a signature (`activation`). Training
runs in a process of its own, because its libraries are large, and workers do not import them.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from audit import background_jobs, job_runs
from audit.background_jobs import AuditJob
from audit.job_runs import ExplainedFailure
from audit.ledger.actors import Actor
from audit.ledger.log import ledger
from ingestion.learning.comparison import Comparison, TestDocument, compare_models
from ingestion.learning.decided_documents import (
    DecidedDocument,
    count_decisions_since,
    find_decided_documents,
)
from ingestion.learning.fitting import fit
from ingestion.learning.sites_apart import keep_sites_apart
from ingestion.models import Extraction, LearnedModel, ModelActivation
from ingestion.reading.results import DocumentReading
from ingestion.rules.classification.classify import classify
from ingestion.rules.classification.features import list_words
from ingestion.rules.classification.type_model import Model
from ingestion.rules.document_types import MODEL_SHA256, RULES_VERSION, TYPES
from sites.models import User

KIND = "train_model"
TRAINED = "model.trained"
MIN_DOCUMENTS = 20  # with fewer, a model is not trained
# Of the process that trains. Parser processes have less of both.
TRAINING_SECONDS, TRAINING_BYTES = 3_600.0, 8_000_000_000
CANCEL_POLL_SECONDS = 0.2  # between two looks whether the training was cancelled
NAME_KINDS = frozenset({"name", "names"})  # of fields, whose values are names of people


@dataclass(frozen=True, slots=True)
class _Examples:
    """The decided documents that could be read, on both sides."""

    training: list[tuple[DecidedDocument, DocumentReading]]
    test: list[tuple[DecidedDocument, DocumentReading]]


def request_training(by: User) -> AuditJob:
    """Request a training. A worker is woken when the transaction has committed."""
    return background_jobs.request_job(KIND, {}, by.actor, parameters={})


def request_training_if_due() -> bool:
    """Request a training if there are LEARNING_DECISIONS new decisions since the last one.

    Returns whether it was requested. With 0, training begins only when a person requests it.
    """
    wanted = settings.LEARNING_DECISIONS
    last = LearnedModel.objects.order_by("pk").last()
    if not wanted or count_decisions_since(last.decisions if last else ()) < wanted:
        return False
    background_jobs.schedule_job(KIND, {})
    return True


def run_training_job(job: AuditJob) -> dict[str, Any]:
    """Train, compare and store a model. Returns its key and the numbers of its documents.

    Raises ExplainedFailure if there are too few decisions.
    """
    progress = partial(job_runs.report_progress, job)
    model = train_model(by=background_jobs.get_requester(job), progress=progress)
    return {"model": model.pk}


def train_model(*, by: Actor, progress: Any = lambda _done, _total: None) -> LearnedModel:
    """Train a model with the decided documents, and store it with its comparison.

    It starts from the coefficients of the built-in model, so that the same decisions always give
    the same model. If this model exists already, it is returned. Raises ExplainedFailure and
    ReadingFault.
    """
    decided = find_decided_documents()
    last = LearnedModel.objects.order_by("pk").last()
    sides = keep_sites_apart(
        (each.site for each in decided),
        training=last.training_sites if last else (),
        test=last.test_sites if last else (),
    )
    if len(decided) < MIN_DOCUMENTS or not sides.test:
        sentence = _(
            "Training needs at least {documents} documents whose type QA confirmed or corrected, "
            "from at least three sites. Documents so far: {number}. Sites: {sites}."
        )
        numbers = {"number": len(decided), "sites": len({each.site for each in decided})}
        raise ExplainedFailure(sentence.format(documents=MIN_DOCUMENTS, **numbers))
    examples = _read(decided, sides.training, sides.test, progress)
    keep_going = partial(progress, len(decided), len(decided))
    content = _train_in_process(examples.training, _find_names(decided), keep_going)
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    if existing := LearnedModel.objects.filter(sha256=sha256).first():
        return existing
    comparison = _compare(examples.test, Model.from_json(json.loads(content)))
    with ledger():
        row: LearnedModel = LearnedModel.objects.create(
            sha256=sha256,
            content=content,
            rules_version=RULES_VERSION,
            base_sha256=MODEL_SHA256,
            decisions=sorted(each.decision for each in decided),
            training_sites=sorted(sides.training),
            test_sites=sorted(sides.test),
            comparison=comparison.as_json(),
        )
        row.record_at_revision(
            TRAINED,
            by=by,
            sha256=sha256,
            rules=RULES_VERSION,
            detail={
                "documents": len(examples.training),
                "test_documents": len(examples.test),
                "base": MODEL_SHA256,
                "right_before": comparison.before.right,
                "right_after": comparison.after.right,
                "wrong_before": comparison.before.wrong,
                "wrong_after": comparison.after.wrong,
            },
        )
    return row


def _read(
    decided: Sequence[DecidedDocument],
    training_sites: frozenset[str],
    test_sites: frozenset[str],
    progress: Any,
) -> _Examples:
    """Read the documents of both sides. Those that cannot be read are left out."""
    from ingestion.documents.kept_readings import read_kept  # noqa: PLC0415 - large libraries

    documents = [each.document for each in decided]
    readings = read_kept(documents, progress=lambda done: progress(done, len(documents)))
    read = [(each, readings[each.document.pk]) for each in decided if each.document.pk in readings]
    # In the order of decisions, because the result of training depends on the order.
    read.sort(key=lambda pair: pair[0].decision)
    return _Examples(
        [pair for pair in read if pair[0].site in training_sites],
        [pair for pair in read if pair[0].site in test_sites],
    )


def _train_in_process(
    examples: Sequence[tuple[DecidedDocument, DocumentReading]],
    names: frozenset[str],
    keep_going: Callable[[], object],
) -> str:
    """Return the JSON of a model. Raises ExplainedFailure if the examples are too few.

    `keep_going` is called several times a second. What it raises ends the process.
    """
    from ingestion.reading.processes.parser_processes import (  # noqa: PLC0415 - large libraries
        ParserProcesses,
        ProcessKilled,
    )

    task = partial(
        fit,
        [(reading, each.type, each.site) for each, reading in examples],
        excluded_words=names,
    )

    async def run() -> str | ProcessKilled:
        limits = replace(
            settings.READING_LIMITS,
            processes=1,
            task_seconds=TRAINING_SECONDS,
            memory_bytes=TRAINING_BYTES,
            second_engine=None,
        )
        async with ParserProcesses(limits) as processes:
            running = asyncio.ensure_future(processes.run(task))
            try:
                while not (await asyncio.wait({running}, timeout=CANCEL_POLL_SECONDS))[0]:
                    keep_going()
            finally:
                running.cancel()
            return running.result()

    outcome = asyncio.run(run())
    if isinstance(outcome, ProcessKilled):
        raise ExplainedFailure(
            _("The training was stopped: {reason}.").format(reason=outcome.reason)
        )
    if not outcome:
        raise ExplainedFailure(_("Training needs documents of two types from two sites."))
    return outcome


def _compare(test: Sequence[tuple[DecidedDocument, DocumentReading]], trained: Model) -> Comparison:
    """Compare a new model with the active one on the documents of the sites kept apart."""
    last = ModelActivation.last()
    active = Model.from_json(json.loads(last.model.content)) if last and last.model else None
    documents = [
        TestDocument(each.document.pk, str(each.document), each.site, each.type, reading)
        for each, reading in test
    ]
    comparison = compare_models(
        documents,
        before=lambda reading: classify(reading, model=active),
        after=lambda reading: classify(reading, model=trained),
    )
    comparison.compared_with = last.model.sha256 if last and last.model else ""
    return comparison


def _find_names(decided: Sequence[DecidedDocument]) -> frozenset[str]:
    """Return the words of names of people, which are no features: of accounts and of documents."""
    names = set(User.objects.values_list("printed_name", flat=True))
    rows = Extraction.objects.filter(document__in=[each.document.pk for each in decided])
    kinds = {spec.name: spec.kind for kind in TYPES.values() for spec in kind.fields}
    for extraction in rows:
        names |= {
            field["value"] for field in extraction.fields if kinds.get(field["name"]) in NAME_KINDS
        }
    return frozenset(word for name in names for word in list_words(name))
