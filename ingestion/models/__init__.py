"""The rows that carry the guarantees.

A batch is what was submitted at once; a packet is what one site sent in it; a document is one file
with an identity (site, doc_id); a chunk is the unit of lease and fairness, always of one site
(decision 1). State changes are made in `filing`, `batches` and `dispatch` only, each with its
ledger entry.

`objects` is declared as its queryset, whose methods it has; django-stubs knows it as a manager
alone, hence the ignores.
"""

from ingestion.models.batches import (
    PRIORITIES,
    URGENT,
    Batch,
    BatchQuerySet,
    BatchSource,
    Chunk,
    ChunkQuerySet,
    Packet,
    PacketQuerySet,
)
from ingestion.models.documents import Document, DocumentQuerySet, Finding
from ingestion.models.drafts import Draft, DraftFile, DraftQuerySet
from ingestion.models.extractions import Extraction
from ingestion.models.mail import Mailbox, MailedPacket
from ingestion.models.operations import (
    AlarmMessage,
    AlarmRow,
    Channel,
    LockChange,
    SiteSummary,
    WorkerHost,
)
from ingestion.models.portal_limits import PortalLimitState, PortalLimitStateQuerySet
from ingestion.models.requirements import (
    RequiredDocument,
    SiteRequirement,
    ValidityOverride,
    Waiver,
)
from ingestion.models.reviews import (
    Action,
    Decision,
    DecisionUnchangeable,
    ReviewAssignment,
    ReviewRequest,
    ReviewRequestQuerySet,
)
from ingestion.models.uploads import OpenPacket, ReceivedPart, Upload

__all__ = [
    "PRIORITIES",
    "URGENT",
    "Action",
    "AlarmMessage",
    "AlarmRow",
    "Batch",
    "BatchQuerySet",
    "BatchSource",
    "Channel",
    "Chunk",
    "ChunkQuerySet",
    "Decision",
    "DecisionUnchangeable",
    "Document",
    "DocumentQuerySet",
    "Draft",
    "DraftFile",
    "DraftQuerySet",
    "Extraction",
    "Finding",
    "LockChange",
    "Mailbox",
    "MailedPacket",
    "OpenPacket",
    "Packet",
    "PacketQuerySet",
    "PortalLimitState",
    "PortalLimitStateQuerySet",
    "ReceivedPart",
    "RequiredDocument",
    "ReviewAssignment",
    "ReviewRequest",
    "ReviewRequestQuerySet",
    "SiteRequirement",
    "SiteSummary",
    "Upload",
    "ValidityOverride",
    "Waiver",
    "WorkerHost",
]
