"""Defines the tables of documents, from submission to archive.

A batch is what was submitted at once. A packet is what one site sent in a batch. A document is one
file with an identity (site, doc_id), or a part of such a file. A chunk is the unit of leases and of
fairness, always of one site. Only `documents.transitions`, `documents.batches` and
`dispatch` change states, each time with a ledger entry.
"""

from ingestion.models.added_only import RowUnchangeable
from ingestion.models.assessments import Assessment
from ingestion.models.batches import (
    MAX_URGENT_PRIORITY,
    PRIORITIES,
    Batch,
    BatchQuerySet,
    BatchRetry,
    BatchSource,
    Chunk,
    ChunkQuerySet,
    Packet,
    PacketQuerySet,
)
from ingestion.models.documents import (
    MAX_DOC_ID_LENGTH,
    Document,
    DocumentQuerySet,
    ExcludedEntry,
    ExcludedPage,
    Finding,
)
from ingestion.models.drafts import Draft, DraftFile, DraftQuerySet
from ingestion.models.extractions import Extraction
from ingestion.models.learned_models import LearnedModel, ModelActivation
from ingestion.models.mail import Mailbox, MailedPacket
from ingestion.models.operations import (
    AlarmMessage,
    AlarmRow,
    Channel,
    ScalingRow,
    SiteSummary,
    WorkerHost,
)
from ingestion.models.portal_limits import (
    PortalLimitState,
    PortalLimitStateQuerySet,
    PortalPlaces,
)
from ingestion.models.renditions import DocumentRendition
from ingestion.models.requirements import (
    RequiredDocument,
    SiteRequirement,
    ValidityOverride,
    Waiver,
)
from ingestion.models.reviews import (
    MAX_DECISION_REASON_CHARACTERS,
    Action,
    Decision,
    ReviewAssignment,
    ReviewRequest,
    ReviewRequestQuerySet,
)
from ingestion.models.search import IndexedPage, IndexedWord, RemovedWords
from ingestion.models.uploads import OpenPacket, ReceivedPart, Upload

__all__ = [
    "MAX_DECISION_REASON_CHARACTERS",
    "MAX_DOC_ID_LENGTH",
    "MAX_URGENT_PRIORITY",
    "PRIORITIES",
    "Action",
    "AlarmMessage",
    "AlarmRow",
    "Assessment",
    "Batch",
    "BatchQuerySet",
    "BatchRetry",
    "BatchSource",
    "Channel",
    "Chunk",
    "ChunkQuerySet",
    "Decision",
    "Document",
    "DocumentQuerySet",
    "DocumentRendition",
    "Draft",
    "DraftFile",
    "DraftQuerySet",
    "ExcludedEntry",
    "ExcludedPage",
    "Extraction",
    "Finding",
    "IndexedPage",
    "IndexedWord",
    "LearnedModel",
    "Mailbox",
    "MailedPacket",
    "ModelActivation",
    "OpenPacket",
    "Packet",
    "PacketQuerySet",
    "PortalLimitState",
    "PortalLimitStateQuerySet",
    "PortalPlaces",
    "ReceivedPart",
    "RemovedWords",
    "RequiredDocument",
    "ReviewAssignment",
    "ReviewRequest",
    "ReviewRequestQuerySet",
    "RowUnchangeable",
    "ScalingRow",
    "SiteRequirement",
    "SiteSummary",
    "Upload",
    "ValidityOverride",
    "Waiver",
    "WorkerHost",
]
