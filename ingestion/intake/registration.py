"""Registers documents from all sources: manifests, uploaded files of people or programs, folders.

Uploaded bytes are written to the spool durably and hashed before they are registered. So every
registered document can be processed, whichever process dies afterwards. The rows are created by
`intake.submission`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from django.core.files.base import File
from django.utils.translation import gettext

from ingestion.intake import admission
from ingestion.intake.admission import AtCapacity
from ingestion.intake.declarations import Declaration, lacks_person
from ingestion.intake.manifest import SubmissionFault, SubmissionRefused
from ingestion.intake.submission import (
    Submission,
    create_batch,
    find_batch_by_key,
)
from ingestion.intake.submission_schemas import (
    NOTHING_DECLARED,
    DeclaredDetails,
    ManifestLine,
)
from ingestion.models import MAX_DOC_ID_LENGTH, Batch, BatchSource, Document, Packet
from ingestion.rules.checks.submission import SCHEMA_VERSIONS
from ingestion.rules.classification.classify import suggest_type
from ingestion.rules.document_types import TYPES
from ingestion.storage import spool
from ingestion.storage.spool import SpooledFile
from sites.models import Site, User

SEVERAL_DOCUMENTS = "several-documents"  # instead of the type of a file that is to be divided


@dataclass(frozen=True, slots=True)
class UploadedDocument:
    """Describes one uploaded file with its declared type."""

    filename: str
    document_type: str  # a slug, or SEVERAL_DOCUMENTS
    person: str  # if the type is per person (CV, licence, ...)
    content: "File[bytes] | SpooledFile"
    corrects: Document | None = None  # the document that it replaces
    detected_type: str = ""  # if the sender chose another type
    details: DeclaredDetails = NOTHING_DECLARED
    schema_version: str = SCHEMA_VERSIONS[-1]

    @property
    def doc_id(self) -> str:
        """Return the type, and the person if the type is per person.

        A correction of the same type keeps the doc_id of the document that it corrects, unless both
        name a person. The correction of a part of a file is a file of its own.
        """
        kind = TYPES.get(self.document_type)
        is_personal = kind is not None and kind.per_person
        old = self.corrects
        if old and not old.is_part and old.document_type == self.document_type:
            names_person = is_personal and old.doc_id.startswith(f"{old.document_type}.")
            if not (names_person and self.person.strip()):
                return old.doc_id
        return Declaration(self.document_type, self.person).doc_id

    @property
    def lacks_person(self) -> bool:
        """Return whether the type is per person, and the doc_id names nobody."""
        return lacks_person(self.document_type, self.doc_id)


def register_manifest(descriptors: Sequence[ManifestLine], submission: Submission) -> Batch:
    """Register the lines of a manifest, which `manifest.read_manifest` has checked.

    The same idempotency key returns the same batch, even at capacity. Raises IdempotencyKeyReused,
    SubmissionRefused and AtCapacity.
    """
    _admit([line.site_id for line in descriptors], submission)
    sites = Site.objects.in_bulk([line.site_id for line in descriptors], field_name="site_id")
    documents = [
        Document(
            site=sites[line.site_id],
            doc_id=line.doc_id,
            document_type=line.document_type,
            filename=line.filename,
            url=line.url,
            schema_version=line.schema_version,
            expected_sha256=line.sha256,
            person=line.person,
            person_role=line.details.person_role,
            declared_language=line.details.language,
            declared_version=line.details.version,
        )
        for line in descriptors
    ]
    labels = [line.packet for line in descriptors]
    return create_batch(documents, labels, submission)


def register_upload(
    *, site: Site, user: User, files: Sequence[UploadedDocument], idempotency_key: str = ""
) -> Packet:
    """Register the files that a person submitted in the upload form.

    Raises SubmissionRefused with a fault for each file, IdempotencyKeyReused, AtCapacity, and
    CorrectionRefused.
    """
    submission = Submission(
        BatchSource.UPLOAD,
        user.actor,
        user=user,
        priority=2,
        idempotency_key=idempotency_key,
        detected_types={
            upload.doc_id: upload.detected_type for upload in files if upload.detected_type
        },
    )
    return register_files(site, files, submission)


def register_files(site: Site, files: Sequence[UploadedDocument], submission: Submission) -> Packet:
    """Register files with their declared types. Raises the same errors as `register_upload`."""
    validate_files(files)
    _admit([site.site_id] * len(files), submission)
    documents = [
        _spool_document(site, upload.content, upload.filename, upload.doc_id, upload.document_type)
        for upload in files
    ]
    for document, upload in zip(documents, files, strict=True):
        document.corrects = upload.corrects
        document.schema_version = upload.schema_version
        document.person_role = upload.details.person_role
        document.declared_language = upload.details.language
        document.declared_version = upload.details.version
    _name_files_with_several_documents(documents)
    return create_batch(documents, [""] * len(documents), submission).packets.get()


def _name_files_with_several_documents(documents: Sequence[Document]) -> None:
    """Give a file with several documents a doc_id of its own, and no type.

    The doc_id contains the beginning of the SHA-256, so that another file is no newer version of
    it. The same file twice in one packet has a number in addition.
    """
    counts: Counter[str] = Counter()
    for document in documents:
        if document.document_type == SEVERAL_DOCUMENTS:
            doc_id = f"{SEVERAL_DOCUMENTS}.{document.expected_sha256[:12]}"
            counts[doc_id] += 1
            repeated = f"-{counts[doc_id]}" if counts[doc_id] > 1 else ""
            document.doc_id, document.document_type = doc_id + repeated, ""


def register_at_other_site(
    filed: Document, site: Site, content: "File[bytes]", *, user: User, key: str
) -> Document:
    """Register the bytes of a filed document for another site.

    Raises the same errors as `register_upload`.
    """
    submission = Submission(
        BatchSource.UPLOAD, user.actor, user=user, priority=2, idempotency_key=key
    )
    _admit([site.site_id], submission)
    document = _spool_document(site, content, filed.filename, filed.doc_id, filed.document_type)
    return create_batch([document], [""], submission).documents.get()


def validate_files(files: Sequence[UploadedDocument]) -> None:
    """Raise SubmissionRefused if the declarations are incomplete. The bytes are not read."""
    faults = []
    if not files:
        faults.append(SubmissionFault(0, "files", gettext("Add at least one document.")))
    identities = Counter(upload.doc_id for upload in files)
    for number, upload in enumerate(files, start=1):
        if upload.document_type == SEVERAL_DOCUMENTS:
            continue
        kind, field = TYPES.get(upload.document_type), "document_type"
        if kind is None:
            sentence = gettext("Select a document type for {file}.")
        elif upload.lacks_person:
            field = "person"
            sentence = gettext("Enter the name of the person whose {type} this is ({file}).")
        elif identities[upload.doc_id] > 1:
            sentence = gettext(
                "{file} is one of several files with the type {type}. Keep one, or change the type "
                "of the others."
            )
        else:
            continue
        message = sentence.format(file=upload.filename, type=kind.name if kind else "")
        faults.append(SubmissionFault(number, field, message))
    if faults:
        raise SubmissionRefused(faults)


def register_folder(folder: Path, site: Site, submission: Submission) -> Batch:
    """Register the files of a folder, each under the doc_id of `assign_folder_doc_ids`.

    Raises SubmissionRefused if there is no file, or if a doc_id is too long or not unique. Raises
    IdempotencyKeyReused and AtCapacity too.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file())
    if not files:
        raise SubmissionRefused(
            [SubmissionFault(0, "", f"There is no file in the folder {folder}.")]
        )
    doc_ids = assign_folder_doc_ids(path.name for path in files)
    _admit([site.site_id] * len(files), submission)
    documents = []
    for path in files:
        with path.open("rb") as content:
            documents.append(
                _spool_document(
                    site, File(content), path.name, doc_ids[path.name], suggest_type(path.name)
                )
            )
    return create_batch(documents, [folder.name[:120]] * len(documents), submission)


def assign_folder_doc_ids(names: Iterable[str]) -> dict[str, str]:
    """Return the doc_id of each file of a folder, by the name of the file.

    It is the stem of the name. If several files share a stem, the only PDF among them
    keeps it, and each of the others has its full name: `x.pdf` is `x`, and `x.tiff` beside it is
    `x.tiff`. So the doc_id of a PDF never depends on scans beside it.

    Raises SubmissionRefused with a fault for each doc_id that is too long for the database, or that
    two files still share (`x.tiff` and `x.tiff.pdf` beside `x.pdf`).
    """
    stems: dict[str, list[PurePath]] = {}
    for name in names:
        stems.setdefault(PurePath(name).stem, []).append(PurePath(name))
    doc_ids: dict[str, str] = {}
    for stem, paths in stems.items():
        pdfs = [path.name for path in paths if path.suffix.casefold() == ".pdf"]
        keeps_stem = paths[0].name if len(paths) == 1 else pdfs[0] if len(pdfs) == 1 else ""
        doc_ids |= {path.name: stem if path.name == keeps_stem else path.name for path in paths}
    if faults := list(_find_doc_id_faults(doc_ids)):
        raise SubmissionRefused(faults)
    return doc_ids


def _find_doc_id_faults(doc_ids: Mapping[str, str]) -> Iterator[SubmissionFault]:
    """Yield faults of doc_ids, which are given by the name of the file."""
    files: dict[str, list[str]] = {}
    for name, doc_id in doc_ids.items():
        files.setdefault(doc_id, []).append(name)
    for doc_id, names in files.items():
        if len(names) > 1:
            message = f"{' and '.join(names)} would both be the document {doc_id}. Rename one."
            yield SubmissionFault(0, "", message)
        if len(doc_id) > MAX_DOC_ID_LENGTH:
            limit = MAX_DOC_ID_LENGTH
            message = f"The name of {names[0]} is longer than {limit} characters. Shorten it."
            yield SubmissionFault(0, "", message)


def _spool_document(
    site: Site, content: "File[bytes] | SpooledFile", filename: str, doc_id: str, kind: str
) -> Document:
    """Write the bytes to the spool, and return an unsaved document. `kind` is the type's slug."""
    spooled = (
        spool.copy_upload(content)
        if isinstance(content, SpooledFile)
        else spool.store_upload(content.chunks())
    )
    return Document(
        site=site,
        doc_id=doc_id,
        document_type=kind,
        filename=filename[:255],
        spooled=spooled.key,
        size=spooled.size,
        schema_version=SCHEMA_VERSIONS[-1],
        expected_sha256=spooled.sha256,
    )


def _admit(sites: Sequence[str], submission: Submission) -> None:
    """Raise SubmissionRefused or AtCapacity before any byte is stored.

    `sites` has the number of the site of each document. A repetition of a registered submission is
    always admitted, because it needs no capacity.
    """
    if find_batch_by_key(submission.idempotency_key):
        return
    admission.check_batch_size(sites)
    try:
        admission.check_capacity(len(sites))
    except AtCapacity as refusal:
        # This submission itself may have used the rest of the capacity in another request.
        if not find_batch_by_key(submission.idempotency_key):
            admission.log_refusal(refusal, sites)
            raise
