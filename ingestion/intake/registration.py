"""What comes in, by each of its ways: a manifest, files of a form or a program, a folder.

Bytes that people upload are spooled, fsynced and hashed before they are registered (`submission`),
so that a registered document can always be worked, whatever dies afterwards.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from django.core.files.base import File
from django.utils.translation import gettext

from ingestion.intake import admission
from ingestion.intake.admission import AtCapacity
from ingestion.intake.declarations import Declaration
from ingestion.intake.manifest import ManifestLine, SubmissionFault, SubmissionRefused
from ingestion.intake.submission import (
    Submission,
    create_batch,
    find_batch_by_key,
)
from ingestion.models import Batch, BatchSource, Document, Packet
from ingestion.rules.checks.verdict import SCHEMA_VERSIONS
from ingestion.rules.classification.classify import guess_type
from ingestion.rules.document_types import TYPES
from ingestion.storage import spool
from ingestion.storage.spool import SpooledFile
from sites.models import Site, User


@dataclass(frozen=True, slots=True)
class UploadedDocument:
    """One file of a form. `person` where the type is per person (CV, licence, ...).

    `guess`: what it was taken for, where its sender said otherwise.
    """

    filename: str
    document_type: str
    person: str
    content: "File[bytes] | SpooledFile"
    corrects: Document | None = None  # the document in whose place it comes
    guess: str = ""

    @property
    def doc_id(self) -> str:
        """Decision 12: the type, plus the person where the type is per person.

        A correction of the same type keeps the identity of what it corrects, whatever that is,
        unless it names a person where that one did.
        """
        kind = TYPES.get(self.document_type)
        is_personal = kind is not None and kind.per_person
        if (old := self.corrects) and old.document_type == self.document_type:
            named = is_personal and old.doc_id.startswith(f"{old.document_type}.")
            if not (named and self.person.strip()):
                return old.doc_id
        return Declaration(self.document_type, self.person).doc_id

    @property
    def lacks_person(self) -> bool:
        kind = TYPES.get(self.document_type)
        return bool(kind and kind.per_person and self.doc_id == f"{self.document_type}.")


def register_manifest(descriptors: Sequence[ManifestLine], submission: Submission) -> Batch:
    """A checked manifest (`manifest.read`).

    The same idempotency key gives the same batch, whatever the load. Raises KeyReused, Refused and
    AtCapacity.
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
        )
        for line in descriptors
    ]
    labels = [line.packet for line in descriptors]
    return create_batch(documents, labels, submission)


def register_upload(
    *, site: Site, user: User, files: Sequence[UploadedDocument], idempotency_key: str = ""
) -> Packet:
    """What a coordinator sent in the form. Raises Refused with a fault per file.

    And KeyReused and AtCapacity, as for a manifest, and NotToCorrect.
    """
    submission = Submission(
        BatchSource.UPLOAD,
        user.actor,
        user=user,
        priority=2,
        idempotency_key=idempotency_key,
        guesses={upload.doc_id: upload.guess for upload in files if upload.guess},
    )
    return register_files(site, files, submission)


def register_files(site: Site, files: Sequence[UploadedDocument], submission: Submission) -> Packet:
    """Files with what each is, sent by a person or a program. Raises as `upload_packet` does."""
    validate_files(files)
    _admit([site.site_id] * len(files), submission)
    documents = [
        _spooled(site, upload.content, upload.filename, upload.doc_id, upload.document_type)
        for upload in files
    ]
    for document, upload in zip(documents, files, strict=True):
        document.corrects = upload.corrects
    return create_batch(documents, [""] * len(documents), submission).packets.get()


def register_at_other_site(
    filed: Document, site: Site, content: "File[bytes]", *, user: User, key: str
) -> Document:
    """The bytes of a filed document, sent in for another site. Raises as `upload_packet` does."""
    submission = Submission(
        BatchSource.UPLOAD, user.actor, user=user, priority=2, idempotency_key=key
    )
    _admit([site.site_id], submission)
    again = _spooled(site, content, filed.filename, filed.doc_id, filed.document_type)
    return create_batch([again], [""], submission).documents.get()


def validate_files(files: Sequence[UploadedDocument]) -> None:
    """What can be told without their bytes. Raises Refused."""
    if faults := list(_upload_faults(files)):
        raise SubmissionRefused(faults)


def register_folder(folder: Path, site: Site, submission: Submission) -> Batch:
    """Register the files of a folder, each under the doc_id that `folder_doc_ids` gives it.

    Raises Refused when there is no file, or when a doc_id is too long or stands for two files; and
    KeyReused and AtCapacity, as `register_manifest` does.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file())
    if not files:
        raise SubmissionRefused([SubmissionFault(0, "", f"{folder} holds no file")])
    doc_ids = assign_folder_doc_ids(path.name for path in files)
    _admit([site.site_id] * len(files), submission)
    documents = []
    for path in files:
        with path.open("rb") as content:
            documents.append(
                _spooled(site, File(content), path.name, doc_ids[path.name], guess_type(path.name))
            )
    return create_batch(documents, [folder.name[:120]] * len(documents), submission)


def assign_folder_doc_ids(names: Iterable[str]) -> dict[str, str]:
    """Return the doc_id of each file of a folder, by the file's name.

    It is the file's stem (decision 12). Where several files share a stem, the only PDF among them
    keeps it, and each of the others goes by its whole name: `x.pdf` is `x`, and `x.tiff` beside it
    is `x.tiff`. So the doc_id of a PDF never depends on scans beside it.

    Raises Refused, with a fault for each, when a doc_id is longer than the model allows, or when
    two files still share one (`x.tiff` and `x.tiff.pdf` beside `x.pdf`).
    """
    stems: dict[str, list[PurePath]] = {}
    for name in names:
        stems.setdefault(PurePath(name).stem, []).append(PurePath(name))
    doc_ids: dict[str, str] = {}
    for stem, paths in stems.items():
        pdfs = [path.name for path in paths if path.suffix.casefold() == ".pdf"]
        keeps = paths[0].name if len(paths) == 1 else pdfs[0] if len(pdfs) == 1 else ""
        doc_ids |= {path.name: stem if path.name == keeps else path.name for path in paths}
    if faults := list(_folder_faults(doc_ids)):
        raise SubmissionRefused(faults)
    return doc_ids


def _folder_faults(doc_ids: Mapping[str, str]) -> Iterable[SubmissionFault]:
    longest = Document._meta.get_field("doc_id").max_length or 0
    files: dict[str, list[str]] = {}
    for name, doc_id in doc_ids.items():
        files.setdefault(doc_id, []).append(name)
    for doc_id, names in files.items():
        if len(names) > 1:
            message = f"{' and '.join(names)} would both be the document {doc_id}. Rename one."
            yield SubmissionFault(0, "", message)
        if len(doc_id) > longest:
            message = f"the name of {names[0]} is longer than {longest} characters. Shorten it."
            yield SubmissionFault(0, "", message)


def _upload_faults(files: Sequence[UploadedDocument]) -> Iterable[SubmissionFault]:
    if not files:
        yield SubmissionFault(0, "files", gettext("Add at least one document."))
    identities = Counter(upload.doc_id for upload in files)
    for number, upload in enumerate(files, start=1):
        kind = TYPES.get(upload.document_type)
        if kind is None:
            sentence = gettext("Select a document type for {file}.")
            message = sentence.format(file=upload.filename)
            yield SubmissionFault(number, "document_type", message)
        elif upload.lacks_person:
            sentence = gettext("Enter the name of the person whose {type} this is ({file}).")
            message = sentence.format(type=kind.name, file=upload.filename)
            yield SubmissionFault(number, "person", message)
        elif identities[upload.doc_id] > 1:
            sentence = gettext(
                "{file} is one of several files with the type {type}. Keep one, or change the type "
                "of the others."
            )
            message = sentence.format(file=upload.filename, type=kind.name)
            yield SubmissionFault(number, "document_type", message)


def _spooled(
    site: Site, content: "File[bytes] | SpooledFile", filename: str, doc_id: str, kind: str
) -> Document:
    kept = (
        spool.copy_upload(content)
        if isinstance(content, SpooledFile)
        else spool.store_upload(content.chunks())
    )
    return Document(
        site=site,
        doc_id=doc_id,
        document_type=kind,
        filename=filename[:255],
        spooled=kept.key,
        size=kept.size,
        schema_version=SCHEMA_VERSIONS[-1],
        expected_sha256=kept.sha256,
    )


def _admit(sites: Sequence[str], submission: Submission) -> None:
    """Before any byte is kept: can it be taken at all, and is there room?

    Work that is on record already is attached to, and needs no room.
    """
    if find_batch_by_key(submission.idempotency_key):
        return
    admission.check_batch_size(Counter(sites).values())
    try:
        admission.check_capacity(len(sites))
    except AtCapacity:
        # Unless it is this very submission that has just filled the last place.
        if not find_batch_by_key(submission.idempotency_key):
            raise
