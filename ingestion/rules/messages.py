"""Defines the messages of each finding code: what happened, why it matters, and what to do.

Site staff read what to do; QA and operations staff read what to check instead. The message for a
site asks only for actions that its page offers while the document is rejected, returned or in
review: to replace the file, or to correct the type and the person. `web.documents.outcomes` adds
the advice that depends on the state, such as to wait for QA, and tests compare the two.

This module contains all messages of findings; `ingestion.rules.finding_texts` fills in their
placeholders. The messages use plain words, do not blame the reader, and do not say "invalid". The
advice starts with a verb. Each part has one or more wordings, the most specific first, and the
first wording whose placeholders are all known is used. The last wording of a part needs no fact
but {type}, so that an old finding with few facts can always be shown.

This package imports no Django. `_` and `page_wording` mark the messages for makemessages, and
`finding_texts` translates them when they are shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from audit.translation import gettext_noop as _
from ingestion.rules.codes import FindingCategory, FindingOwner, Severity


@dataclass(frozen=True, slots=True)
class PageWording:
    """A wording in two forms: about one {page}, and about several {pages}.

    {count} is the number of pages.
    """

    one: str
    many: str


Wording = str | PageWording


def page_wording(one: str, many: str) -> PageWording:
    """Return a wording about pages, whose two forms makemessages finds by this name."""
    return PageWording(one, many)


@dataclass(frozen=True, slots=True)
class FindingMessage:
    """The wordings of one finding code. Each part lists its wordings, the most specific first."""

    short: str  # for one line in a table or a terminal
    what: tuple[Wording, ...]  # what happened
    why: tuple[Wording, ...]  # why it matters
    do: tuple[Wording, ...]  # for the site: what to do
    check: tuple[Wording, ...]  # for staff: what to check

    @property
    def parts(self) -> tuple[tuple[Wording, ...], ...]:
        """Return the parts that a site reads."""
        return (self.what, self.why, self.do)

    @property
    def staff_parts(self) -> tuple[tuple[Wording, ...], ...]:
        """Return the parts that staff read."""
        return (self.what, self.why, self.check)


# The kinds of active content, by the flag of the file.
ACTIVE_CONTENT_NOUNS: Mapping[str, str] = {
    "javascript": _("scripts"),
    "launch": _("a command that starts a program"),
    "embedded-file": _("attached files"),
    "macros": _("macros"),
    "file-link": _("links to other files"),
    "remote": _("commands that reach outside the file"),
    "unsearched": _("parts that cannot be searched"),
}

# Names and meanings of the attributes of codes, for pages and for docs/finding-codes.md.
CATEGORY_LABELS: Mapping[FindingCategory, tuple[str, str]] = {
    FindingCategory.TRANSPORT: (_("Transport"), _("The portal did not deliver the file.")),
    FindingCategory.INFRASTRUCTURE: (
        _("Infrastructure"),
        _("A part of SiteLedger failed or is missing. The document may be correct."),
    ),
    FindingCategory.INTAKE: (_("Intake"), _("The file as it was received, before it is read.")),
    FindingCategory.PARSE: (
        _("Reading"),
        _("The file cannot be opened, or its pages cannot be read with certainty."),
    ),
    FindingCategory.SCHEMA: (
        _("Schema"),
        _("The submission, the document type or the form is not one that the rules know."),
    ),
    FindingCategory.COMPLIANCE: (
        _("Compliance"),
        _("Signatures, dates, validity, and marks on the document."),
    ),
    FindingCategory.RECONCILIATION: (
        _("Reconciliation"),
        _("The document differs from the site register or from other documents."),
    ),
    FindingCategory.PRIVACY: (_("Privacy"), _("The document may name a study participant.")),
    FindingCategory.PACKET: (_("Packet"), _("Other documents of the site are missing.")),
    FindingCategory.HUMAN: (_("Human decision"), _("A person decided.")),
}
SEVERITY_LABELS: Mapping[Severity, tuple[str, str]] = {
    Severity.CRITICAL: (_("Critical"), _("The file cannot be used, or must not be opened.")),
    Severity.MAJOR: (_("Major"), _("The document cannot be filed before this is resolved.")),
    Severity.MINOR: (_("Minor"), _("A detail is uncertain, or will need attention.")),
    Severity.INFO: (_("Information"), _("A remark that needs no action.")),
}
OWNER_LABELS: Mapping[FindingOwner, tuple[str, str]] = {
    FindingOwner.SITE: (_("Site"), _("The site sends a file or corrects what it declared.")),
    FindingOwner.QA: (_("QA"), _("QA looks at the document and decides.")),
    FindingOwner.OPERATIONS: (
        _("Operations"),
        _("The operators of SiteLedger remove the cause and retry the document."),
    ),
    FindingOwner.PORTAL: (
        _("Portal"),
        _("The operators of the portal make the file available again."),
    ),
    FindingOwner.SPONSOR: (
        _("Sponsor"),
        _("The sponsor or its CRO decides what the study accepts."),
    ),
}
RETRY_LABELS: Mapping[bool, tuple[str, str]] = {
    True: (_("Retryable"), _("The same file may pass another attempt.")),
    False: (_("Final"), _("Another attempt with the same file gives the same finding.")),
}

MESSAGES: Mapping[str, FindingMessage] = {
    "DOWNLOAD_FAILED": FindingMessage(
        _("The file could not be downloaded"),
        (
            _("We could not download this file. The response of the portal was: {status}."),
            _("We could not download this file from the portal."),
        ),
        (
            _("The download failed (attempts: {tries}). The document itself may be correct."),
            _("We cannot check a file that we did not receive. The document may be correct."),
        ),
        (_("Check that the file is still on the portal and try again, or upload the file here."),),
        (_("Read the responses of the portal in the audit trail of this document."),),
    ),
    "PORTAL_UNAVAILABLE": FindingMessage(
        _("The portal does not respond"),
        (_("The site's portal does not respond, so we have not received this {type} yet."),),
        (_("Nothing is wrong with the document. It stays in our queue."),),
        (_("Wait until the portal is available again, or upload the file here if it is urgent."),),
        (_("Ask operations about the portal. Processing continues when the portal responds."),),
    ),
    "PORTAL_NOT_APPROVED": FindingMessage(
        _("The portal's address is not approved"),
        (
            _("Portal {portal} is not asked for this {type}: nobody approved its address yet."),
            _("The site's portal is not asked for this {type}: nobody approved its address yet."),
        ),
        (_("Nothing is wrong with the document. Our operations team has to act."),),
        (_("Wait until we ask the portal, or upload the file here if it is urgent."),),
        (
            _(
                "A second person of operations has to approve {address} under Approvals. "
                "Processing then continues."
            ),
            _("A second person of operations has to approve the address under Approvals."),
        ),
    ),
    "PORTAL_MISCONFIGURED": FindingMessage(
        _("The access to the portal is not set up"),
        (
            _("Portal {portal} is not asked for this {type}: our certificate or secret is broken."),
            _("The site's portal cannot be asked: our certificate or secret for it is broken."),
        ),
        (_("Nothing is wrong with the document. Our operations team has to act."),),
        (_("Wait until we ask the portal, or upload the file here if it is urgent."),),
        (
            _("Operations has to correct the files and then retry the document: {problem}."),
            _("Operations has to correct the files and then retry the document."),
        ),
    ),
    "STORAGE_UNAVAILABLE": FindingMessage(
        _("Our storage was not available"),
        (_("We could not store this {type}, because our storage was not available."),),
        (_("The problem is on our side. Nothing is wrong with the document."),),
        (_("Do nothing. We try again as soon as the storage is available."),),
        (_("Operations has to restore the storage and then retry the document."),),
    ),
    "SCANNER_UNAVAILABLE": FindingMessage(
        _("Our virus scanner was not available"),
        (_("We could not check this {type}, because our virus scanner was not available."),),
        (_("The problem is on our side. As far as we know, nothing is wrong with the document."),),
        (_("Do nothing. We continue as soon as the virus scanner is available."),),
        (_("Operations has to restore the virus scanner and then retry the document."),),
    ),
    "CAPACITY": FindingMessage(
        _("Waiting for free capacity"),
        (_("We could not process this {type} in time, because our system was full."),),
        (_("The problem is on our side. Nothing is wrong with the document."),),
        (_("Do nothing. We continue as soon as there is free capacity."),),
        (_("Operations has to check the workers and then retry the document."),),
    ),
    "LANGUAGE_NOT_INSTALLED": FindingMessage(
        _("A language is not installed"),
        (
            page_wording(
                _("Page {page} is in {language}; we cannot read scans in this language yet."),
                _("{count} pages are in {language}; we cannot read scans in this language yet."),
            ),
            _("This page is in {language}; we cannot read scans in this language yet."),
            _("A page of this {type} is in a language that we cannot read yet."),
        ),
        (_("The problem is on our side. Nothing is wrong with the document."),),
        (_("Do nothing. We read the document again as soon as the language is installed."),),
        (
            _("Add {data} to OCR_LANGUAGES and restart the workers, which read it again."),
            _("Operations has to install the language and restart the workers."),
        ),
    ),
    "INTERNAL_ERROR": FindingMessage(
        _("An error on our side"),
        (
            _("We could not finish checking this {type} (reference {reference})."),
            _("We could not finish checking this {type}."),
        ),
        (_("The error is on our side and was reported. Nothing is wrong with the document."),),
        (_("Do nothing. We try again when the error is fixed."),),
        (_("Operations has to fix the error and then retry the document."),),
    ),
    "POISON": FindingMessage(
        _("Our checks crashed several times"),
        (
            _("Our checks of this {type} crashed {attempts} times."),
            _("Our checks of this {type} crashed several times."),
        ),
        (_("We have to find the cause. It does not mean that the document is wrong."),),
        (_("Do nothing, or upload a new copy of the document if you have one."),),
        (_("Operations has to find the cause in the workers' log and then retry the document."),),
    ),
    "DUPLICATE_CONTENT": FindingMessage(
        _("Already on file"),
        (
            _("The same file is also on file for this site, as {also}."),
            _("This {type} has been on file since {since}, as {twin}."),
            _("This {type} is already on file, as {twin}."),
            _("This {type} has been on file since {since}."),
            _("This {type} is already on file."),
        ),
        (
            _(
                "The file came from the portal under two names. This document is kept separately "
                "from {also}."
            ),
            _("It is the same file from the same site. One copy is enough."),
        ),
        (
            _("Do nothing if the file belongs under both names, {also} and this one."),
            _("Do nothing. The copy on file is used."),
        ),
        (
            _("Compare this document with {also}. Does the file belong under both names?"),
            _("No decision is needed. The copy on file is used."),
        ),
    ),
    "MALWARE_SUSPECTED": FindingMessage(
        _("The virus scanner raised an alarm"),
        (
            _("The virus scanner raised an alarm for this file ({signature})."),
            _("The virus scanner raised an alarm for this file."),
        ),
        (_("Only our QA team can open the file until it has been examined."),),
        (
            _(
                "Scan your computer for viruses. Then save or print the document to a new PDF "
                "and upload that copy."
            ),
        ),
        (_("Do not open the file on your own computer until IT security has examined it."),),
    ),
    "CONVERTER_UNAVAILABLE": FindingMessage(
        _("Waits for our conversion to PDF"),
        (_("We cannot convert documents of word processors to PDF at the moment."),),
        (_("The document is saved, and nothing is wrong with the document itself."),),
        (_("Do nothing. We will continue. If it is urgent, upload the document as a PDF."),),
        (_("Install LibreOffice and bubblewrap on the worker's host, then retry the document."),),
    ),
    "EMPTY_FILE": FindingMessage(
        _("The file is empty"),
        (_("The file is empty. It contains no data."),),
        (_("An empty file cannot be checked or filed."),),
        (_("Open the {type} to check that it is complete, then upload it again."),),
        (_("The file contains no data. There is nothing to review."),),
    ),
    "FILE_TOO_LARGE": FindingMessage(
        _("The file is too large"),
        (
            _("The file is {size_mb} MB. The limit is {limit_mb} MB."),
            _("The file has {pages} pages. The limit is {limit_pages} pages."),
            _("The file is larger than the limit."),
        ),
        (_("Very large files cannot be checked in time."),),
        (
            _(
                "Scan it in black and white at 300 dpi, or split it by section. "
                "Then upload it again."
            ),
        ),
        (_("Compare the size of the file with the limit."),),
    ),
    "UNSUPPORTED_TYPE": FindingMessage(
        _("Not a PDF or a scanned image"),
        (
            _("The pages of this TIFF file are compressed as {compression}, which we cannot read."),
            _("The file is {found}, not a PDF or a scanned image."),
            _("The file is not a PDF or a scanned image."),
        ),
        (_("Only documents and pictures of common types can be read and archived."),),
        (_("Save or print the document as a PDF, open the PDF to check it, then upload it."),),
        (_("Check what kind of file the site sent."),),
    ),
    "DYNAMIC_XFA_FORM": FindingMessage(
        _("A form that only Adobe Reader displays"),
        (_("The PDF contains a form that only Adobe Reader can display (dynamic XFA)."),),
        (_("Other programs do not show its content. A record has to open for many years."),),
        (_("Open it in Adobe Reader, print it to PDF, and upload that copy."),),
        (_("The form cannot be displayed here."),),
    ),
    "TYPE_MISMATCH": FindingMessage(
        _("Name and content of the file differ"),
        (
            _("The file is named {declared}, but its content is {found}."),
            _("The extension of the file name does not match the content of the file."),
        ),
        (_("A record has to open as the kind of file that its name indicates."),),
        (_("Save the document as a PDF, open the PDF to check it, then upload it."),),
        (_("Compare the extension of the file name with the content of the file."),),
    ),
    "CHECKSUM_MISMATCH": FindingMessage(
        _("The file changed on its way to us"),
        (_("The file that we received is not the file that was announced."),),
        (_("The checksum proves that the file on record is the file that was sent."),),
        (_("Upload the file again. A program has to send the checksum of exactly that file."),),
        (_("Compare the SHA-256 checksum with the one that the site announced."),),
    ),
    "ACTIVE_CONTENT": FindingMessage(
        _("Contains scripts or attached files"),
        (_("The file contains {kinds}."), _("The file contains scripts or attached files.")),
        (_("A record must not change when it is opened. Its pages are shown as pictures."),),
        (_("Print it to PDF and upload that copy."),),
        (_("Find out what the scripts or attached files are for before you file the document."),),
    ),
    "ENCRYPTED_DOCUMENT": FindingMessage(
        _("Protected with a password"),
        (_("The file is protected with a password."),),
        (_("We cannot check a file that we cannot open."),),
        (_("Save a copy without the password and upload that copy."),),
        (_("The file cannot be opened without its password."),),
    ),
    "CORRUPT_DOCUMENT": FindingMessage(
        _("The file is damaged"),
        (
            _("The file is damaged. The last readable page is page {last_page} of {total}."),
            _("The file is damaged. The last readable page is page {last_page}."),
            _("The file is damaged and cannot be opened completely."),
        ),
        (_("A record has to open, now and in many years."),),
        (_("Open the file on your computer, check that no page is missing, and upload it again."),),
        (_("Check how much of the file can still be opened."),),
    ),
    "PARSER_FAILURE": FindingMessage(
        _("We could not read the file"),
        (_("The file opens, but we could not read its content."),),
        (_("We cannot check a {type} that we cannot read."),),
        (_("Print it to a new PDF and upload that copy."),),
        (_("Check whether the file opens and is complete."),),
    ),
    "CONVERSION_FAILED": FindingMessage(
        _("Could not be converted to PDF"),
        (_("We could not convert this document to PDF, which we need to read its pages."),),
        (_("We cannot check a {type} whose pages we cannot see."),),
        (_("Save it as a PDF, open the PDF to check it, then upload it."),),
        (_("Check whether the file opens in a word processor."),),
    ),
    "CONTAINER_REFUSED": FindingMessage(
        _("The packet cannot be opened"),
        (
            _("We did not open this packet of files: {reason}."),
            _("We did not open this packet of files."),
        ),
        (_("Each file in it has to be checked and filed on its own."),),
        (_("Upload its documents one by one, as PDF files or scans."),),
        (_("Check what the site sent, and which documents it wants to file."),),
    ),
    "ENTRY_IN_DOUBT": FindingMessage(
        _("May not be a document"),
        (_("This small picture came with other files. It may be a logo and no document."),),
        (_("Only documents are filed. A person has to decide what it is."),),
        (_("Do nothing. QA decides whether it is a document."),),
        (_("Is the picture a document? If not, set it aside."),),
    ),
    "ILLEGIBLE_SCAN": FindingMessage(
        _("The scan cannot be read"),
        (
            _("We could not read {count} of {total} pages."),
            _("We could not read this scan."),
        ),
        (
            _("The scan has about {dpi} dpi. We need 300 dpi."),
            _("We cannot check what we cannot read."),
        ),
        (_("Scan the whole document again at 300 dpi in black and white, then upload it."),),
        (_("Look at the pages. Can a person read them?"),),
    ),
    "PHI_SUSPECTED": FindingMessage(
        _("May name a study participant"),
        (
            page_wording(
                "Page {page} seems to contain details of a study participant.",
                "{count} pages seem to contain details of a study participant: {pages}.",
            ),
            _("This {type} seems to contain details of a study participant."),
        ),
        (_("Details of participants do not belong in a site's regulatory file."),),
        (
            page_wording(
                "Check page {page}. If it contains such details, upload a copy without them.",
                "Check pages {pages}. If they contain such details, upload a copy without them.",
            ),
            _("Check the document. If it contains such details, upload a copy without them."),
        ),
        (
            page_wording(
                "Look at the marked places on page {page}. Do they name a study participant?",
                "Look at the marked places on pages {pages}. Do they name a study participant?",
            ),
            _("Look for details of a study participant."),
        ),
    ),
    "MULTIPLE_DOCUMENTS": FindingMessage(
        _("More than one document in the file"),
        (
            _("This file holds {document_count} documents: {documents}."),
            _("A person has to check the separator sheet of this document: {document}."),
            _("This file seems to contain several documents: {documents}."),
            _("This file has {pages} pages. A file with one {type} has at most {limit_pages}."),
            _("We are not sure that this file contains only one document."),
        ),
        (_("Each document is checked and filed separately, with all of its pages."),),
        (
            _(
                "Do nothing if every document is complete. QA will divide the file. Next time, "
                "put a separator sheet in front of each document."
            ),
        ),
        (
            _("Check where each document begins: {documents}."),
            _("Check the separator sheet of this document: {document}."),
            _("Check whether all pages belong to one document."),
        ),
    ),
    "BLANK_OR_MISSING_PAGE": FindingMessage(
        _("A page is blank or missing"),
        (
            _("Pages are missing: {missing}. The file has {present} of {total} pages."),
            page_wording("Page {page} is blank.", "{count} pages are blank: {pages}."),
            _("A page is blank or missing."),
        ),
        (_("The record is the whole document, with all of its pages."),),
        (
            _("Check your document. If a page is missing, upload all {total} pages in one PDF."),
            _("Check your document. If a page is missing, upload all pages in one PDF."),
        ),
        (
            page_wording(
                "Look at page {page}. Is it blank, and is that correct?",
                "Look at pages {pages}. Are they blank, and is that correct?",
            ),
            _("Compare the pages with the page numbers that are printed on them."),
        ),
    ),
    "STAMPED_VOID": FindingMessage(
        _("Stamped void"),
        (
            page_wording(
                "Page {page} is stamped “{stamp}”.",
                "{count} pages are stamped “{stamp}”: {pages}.",
            ),
            _("This {type} is stamped void."),
        ),
        (_("A document that was declared void does not count as a record of the study."),),
        (_("Upload the {type} that is in force, without this stamp."),),
        (
            page_wording(
                "Look at the stamp on page {page}. Does it void the whole document?",
                "Look at the stamps on pages {pages}. Do they void the whole document?",
            ),
            _("Look at the stamp. Does it void the whole document?"),
        ),
    ),
    "STAMPED_SUPERSEDED": FindingMessage(
        _("Stamped as superseded"),
        (
            page_wording(
                "Page {page} is stamped “{stamp}”: this {type} was replaced by a newer one.",
                "{count} pages are stamped “{stamp}”: {pages}. "
                "This {type} was replaced by a newer one.",
            ),
            _("The stamp says that this {type} was replaced by a newer one."),
        ),
        (_("The site file needs the version that is in force."),),
        (_("Upload the {type} that is in force now."),),
        (
            page_wording(
                "Look at the stamp on page {page}. Is there a newer version?",
                "Look at the stamps on pages {pages}. Is there a newer version?",
            ),
            _("Look at the stamp. Is there a newer version?"),
        ),
    ),
    "STAMPED_DRAFT": FindingMessage(
        _("Marked as a draft"),
        (
            page_wording(
                "Page {page} is marked “{stamp}”, so this is not the final {type}.",
                "{count} pages are marked “{stamp}”: {pages}. This is not the final {type}.",
            ),
            _("This {type} is marked as a draft."),
        ),
        (_("A draft may still change, so it does not count as a record of the study."),),
        (_("Upload the final {type}."),),
        (
            page_wording(
                "Look at the mark on page {page}. Is this the final version?",
                "Look at the marks on pages {pages}. Is this the final version?",
            ),
            _("Look at the mark. Is this the final version?"),
        ),
    ),
    "TEXT_COVERED": FindingMessage(
        _("Printed text is covered"),
        (
            page_wording(
                "Something covers printed text on page {page}, such as a sticker.",
                "Something covers printed text on {count} pages, such as a sticker: {pages}.",
            ),
            _("Something covers printed text in this {type}, such as a sticker."),
        ),
        (_("A correction has to leave the original entry readable."),),
        (
            _(
                "Upload a copy without the cover. "
                "If the entry was wrong, strike it out with one line, and initial and date it."
            ),
        ),
        (
            page_wording(
                "Look at the marked area on page {page}. What does it cover, and who covered it?",
                "Look at the marked areas on pages {pages}. What do they cover?",
            ),
            _("Look at the marked area. What does it cover?"),
        ),
    ),
    "TEXT_STRUCK_OUT": FindingMessage(
        _("Struck out without initials and date"),
        (
            page_wording(
                "“{struck}” is struck out on page {page}, but not initialled and dated.",
                "“{struck}” is struck out on {count} pages, but not initialled and dated: {pages}.",
            ),
            page_wording(
                "An entry on page {page} is struck out, but not initialled and dated.",
                "Entries on {count} pages are struck out, but not initialled and dated: {pages}.",
            ),
            _("An entry of this {type} is struck out, but not initialled and dated."),
        ),
        (_("The record has to show who changed an entry, and when."),),
        (
            _(
                "Ask the person who struck it out to add initials and the date, "
                "then upload the document again."
            ),
        ),
        (
            page_wording(
                "Look at the marked entry on page {page}. Are there initials and a date?",
                "Look at the marked entries on pages {pages}. Are there initials and dates?",
            ),
            _("Look at the marked entry. Are there initials and a date?"),
        ),
    ),
    "DOC_TYPE_CONFLICT": FindingMessage(
        _("Not the expected document"),
        (
            _("This is {detected}, not {declared}. We read {evidence}."),
            _("This is {detected}, not {declared}."),
            _("This looks like a different document type from the one it was sent as."),
        ),
        (
            _("It cannot take the place of {declared}."),
            _("The document type decides which checks run and where the document is filed."),
        ),
        (
            _("Upload {declared}. If you meant to send {detected}, correct the type."),
            _("Correct the type, or upload the right file."),
        ),
        (
            _("Read the title and the first sentences. Is it {detected} or {declared}?"),
            _("Check the document type."),
        ),
    ),
    "NOT_FINAL": FindingMessage(
        _("Not a final decision"),
        (
            _("Page {page} says “{phrase}”, so this is not the final {type}."),
            _("This {type} does not seem to be final."),
        ),
        (_("Work at the site may start only after the final decision."),),
        (_("Upload the final {type}. If this is another kind of decision, correct the type."),),
        (
            _("Read page {page}. What was decided, and is it final?"),
            _("Read the document. What was decided, and is it final?"),
        ),
    ),
    "UNFILLED_TEMPLATE": FindingMessage(
        _("A template that is not filled in"),
        (
            page_wording(
                "This is a template: page {page} still says “{placeholder}”.",
                "This is a template: {count} pages still contain “{placeholder}”: {pages}.",
            ),
            _("This {type} is a template that is not filled in."),
        ),
        (_("A template does not name its site, person or study."),),
        (_("Fill in what the template asks for, and upload the document again."),),
        (
            page_wording(
                "Look at the placeholder on page {page}. Is the document complete without it?",
                "Look at the placeholders on pages {pages}. Is the document complete without them?",
            ),
            _("Look at the placeholders. Is the document complete without them?"),
        ),
    ),
    "DOC_TYPE_UNRECOGNIZED": FindingMessage(
        _("Document type not recognised"),
        (
            _("This is {resembled}, not {declared}."),
            _("This looks like {resembled}, which is not a document type of the site file."),
            _("This does not look like {declared}."),
            _("We could not recognise the type of this document."),
        ),
        (
            _("It cannot take the place of {declared}."),
            _("The document type decides which checks run and where the document is filed."),
        ),
        (
            _("Upload {declared}. If you meant to send another document, correct the type."),
            _("Check the document type and the file. Correct the type, or upload the right file."),
        ),
        (
            _("Read the title and the first sentences. Is it {resembled} or {declared}?"),
            _("Read the title and the first sentences. It was sent as {declared}."),
            _("Read the title and the first sentences. What is this document?"),
        ),
    ),
    "BLANK_FORM": FindingMessage(
        _("Blank form"),
        (_("This is the blank {type}. Nothing is filled in, and nobody has signed it."),),
        (_("The site file needs the form with its entries and its signature."),),
        (_("Fill in the {type}, have it signed, and upload it."),),
        (_("Look at the form. Is anything filled in?"),),
    ),
    "FORM_PAGES_MIXED": FindingMessage(
        _("Pages of two editions of a form"),
        (
            _(
                "Page {page} belongs to the {edition} edition of {form}, and page {first_page} to "
                "the {first_edition} edition."
            ),
            _("The pages of this {type} belong to two editions of the form."),
        ),
        (_("The pages of a form belong together. A page may have come from another form."),),
        (_("Upload a form whose pages all belong to one edition."),),
        (
            _("Compare page {page} with page {first_page}. Do they belong to one form?"),
            _("Compare the pages. Do they belong to one form?"),
        ),
    ),
    "SCHEMA_MISMATCH": FindingMessage(
        _("A required entry is missing"),
        (
            _("We do not accept version {schema_version} of the submission form."),
            _("{box} is empty. It asks for the {field}."),
            _("Nothing is ticked in {choice}. It asks for the {field}."),
            _("No box is ticked for: {unticked}."),
            page_wording(
                "The {field} on page {page} is not filled in.",
                "The {field} is not filled in on {count} pages: {pages}.",
            ),
            _("We did not find the {field} in this {type}."),
            _("A required entry is missing from this {type}."),
        ),
        (
            _("We accept versions {supported}."),
            _("The {type} is accepted only with all required entries."),
        ),
        (
            _("Use version {latest} and send the document again."),
            _("Fill in {box}. If there is nothing to name, write “None”. Upload the form again."),
            _("Tick what applies in {choice}, and upload the form again."),
            _("Tick what applies for: {unticked}. Then upload the form again."),
            _("Add the {field} and upload the document again."),
            _("Add the missing entry and upload the document again."),
        ),
        (
            _("Look at {box}. Is it filled in?"),
            _("Look at {choice}. Is anything ticked there?"),
            _("Look at the boxes for: {unticked}. Is any of them ticked?"),
            _("Look at page {page}. Is the {field} there?"),
            _("Look for the {field} in the document."),
            _("Look for the missing entry."),
        ),
    ),
    "SIGNATURE_BROKEN": FindingMessage(
        _("The digital signature does not match"),
        (
            _(
                "The file was changed after {signer} signed it. "
                "The digital signature no longer matches."
            ),
            _("The file was changed after it was signed. The digital signature no longer matches."),
        ),
        (_("A digital signature is valid only for exactly the file that was signed."),),
        (
            _("Upload the file exactly as it was signed, or ask {signer} to sign it again."),
            _("Upload the file exactly as it was signed, or ask the signer to sign it again."),
        ),
        (_("Find out how the file was changed after it was signed."),),
    ),
    "SIGNATURE_PARTIAL": FindingMessage(
        _("The signature covers part of the file"),
        (
            _("The digital signature of {signer} covers only a part of the file."),
            _("The digital signature covers only a part of the file."),
        ),
        (_("The part that is not covered can be changed without a trace."),),
        (
            _("Ask {signer} to sign the whole file again, then upload it exactly as signed."),
            _("Ask the signer to sign the whole file again, then upload it exactly as signed."),
        ),
        (_("Check which part of the file the signature covers."),),
    ),
    "SIGNATURE_EMPTY": FindingMessage(
        _("The field contains no digital signature"),
        (
            page_wording(
                "The signature field on page {page} looks filled in, but contains no signature.",
                "The signature fields on {count} pages look filled in, "
                "but contain no signature: {pages}.",
            ),
            _("A signature field looks filled in, but contains no signature."),
        ),
        (_("The {type} is accepted only with a signature that can be verified."),),
        (_("Ask the signer to sign it again, then upload the file exactly as it was signed."),),
        (
            page_wording(
                "Look for another signature on page {page}.",
                "Look for other signatures on pages {pages}.",
            ),
            _("Look for another signature."),
        ),
    ),
    "SIGNATURE_OUTDATED": FindingMessage(
        _("Changed after it was signed"),
        (
            _("The file was changed after {signer} signed it."),
            _("The file was changed after it was signed."),
        ),
        (_("The signature does not cover what was added or changed afterwards."),),
        (
            _("Upload the file exactly as {signer} signed it."),
            _("Upload the file exactly as it was signed."),
        ),
        (_("Compare the file with the signed version. What was added or changed?"),),
    ),
    "SIGNATURE_UNVERIFIED": FindingMessage(
        _("The digital signature was not verified"),
        (
            _("Page {claimed} says that it is digitally signed, but the file has no signature."),
            _(
                "The certificate of {signer} expired on {expired}, "
                "and no time stamp shows that the signature is older."
            ),
            page_wording(
                "We could not verify the digital signature on page {page}.",
                "We could not verify the digital signatures on {count} pages: {pages}.",
            ),
            _("We could not verify the digital signature."),
        ),
        (_("A digital signature is accepted only after it has been verified."),),
        (_("Upload the original signed file if you sent a copy of it."),),
        (
            page_wording(
                "Look at the signature on page {page} and at the details of its certificate.",
                "Look at the signatures on pages {pages} and at the details of their certificates.",
            ),
            _("Look at the signature and at the details of its certificate."),
        ),
    ),
    "SIGNATURE_WEAK": FindingMessage(
        _("The digital signature can be forged"),
        (
            _("{signer} signed with {weakness}. Such a signature can be forged."),
            _("The digital signature was made with a method that can be forged."),
        ),
        (_("A digital signature is accepted only if nobody else can make it."),),
        (
            _("Ask {signer} to sign with a current certificate, then upload the file again."),
            _("Ask the signer to sign with a current certificate, then upload the file again."),
        ),
        (_("Find out why the signer used such a certificate."),),
    ),
    "SIGNATURE_CERTIFICATE_EXPIRED": FindingMessage(
        _("Certificate not valid on the day of signature"),
        (
            _(
                "{signer} signed on {signed}, "
                "but the certificate was valid from {valid_from} to {valid_until}."
            ),
            _("The certificate was not valid on the day of the signature."),
        ),
        (_("A digital signature needs a certificate that is valid on the day of the signature."),),
        (
            _("Ask {signer} to sign with a current certificate, then upload the file again."),
            _("Ask the signer to sign with a current certificate, then upload the file again."),
        ),
        (
            _("Compare the day of the signature, {signed}, with the dates of the certificate."),
            _("Compare the day of the signature with the dates of the certificate."),
        ),
    ),
    "SIGNATURE_ISSUER_UNKNOWN": FindingMessage(
        _("Signed with a certificate we do not know"),
        (
            _("{signer} signed with a certificate from {issuer}, which is not a trusted issuer."),
            _("The certificate of the digital signature is not from a trusted issuer."),
        ),
        (_("Anybody can create a certificate in any name."),),
        (
            _(
                "Do nothing if the certificate is correct. "
                "If it is not, upload a file that is signed with another one."
            ),
        ),
        (
            _("Find out whether {signer} has a certificate from {issuer}."),
            _("Find out whether the signer has a certificate from this issuer."),
        ),
    ),
    "SIGNATURE_MISPLACED": FindingMessage(
        _("Signed in the wrong place"),
        (
            _("{signer} signed digitally, but not in the signature area on page {page}."),
            _("The file is signed digitally, but not in the signature area."),
        ),
        (
            _("The {type} has to be signed in {section}."),
            _("The {type} has to be signed in its signature area."),
        ),
        (
            _("Ask {role} to sign in {section}, then upload the document again."),
            _("Ask the signer to sign in the signature area, then upload the document again."),
        ),
        (
            _("Look at where {signer} signed, and at the signature area on page {page}."),
            _("Look at where the document is signed, and at the signature area."),
        ),
    ),
    "SIGNER_MISMATCH": FindingMessage(
        _("Signed by another person"),
        (
            _("{signer} signed this {type}. We expected the signature of {expected}."),
            _("{signer} signed this {type}, but is not named in it."),
            _("The digital signature of this {type} does not say who signed."),
        ),
        (_("The {type} is accepted only with the signature of the right person."),),
        (
            _("Ask {expected} to sign it, then upload it again."),
            _("Ask the right person to sign it, then upload it again."),
        ),
        (
            _("Compare {signer}, who signed, with {expected}, who should have signed."),
            _("Compare the person who signed with the person who has to sign."),
        ),
    ),
    "SIGNATURE_MISSING": FindingMessage(
        _("Not signed"),
        (_("Page {page} is not signed."), _("This {type} is not signed.")),
        (
            _("The {type} needs the signature of {role}."),
            _("The {type} needs a signature."),
        ),
        (
            _("Ask {role} to sign and date {section}. Scan and upload the whole document again."),
            _("Ask the signer to sign and date it. Scan and upload the whole document again."),
        ),
        (
            _("Look for the signature on page {page}."),
            _("Look for the signature."),
        ),
    ),
    "SIGNATURE_DATE_MISSING": FindingMessage(
        _("Signed, but not dated"),
        (_("The signature on page {page} has no date."), _("The signature has no date.")),
        (_("The record has to show when the document was signed."),),
        (
            _("Ask {role} to add the date beside the signature, then upload the document again."),
            _("Ask the signer to add the date beside the signature, then upload it again."),
        ),
        (
            _("Look for a date beside the signature on page {page}."),
            _("Look for a date beside the signature."),
        ),
    ),
    "EXPIRED_DOCUMENT": FindingMessage(
        _("Expired"),
        (_("This {type} expired on {expires}."), _("This {type} has expired.")),
        (
            _("It has been on file since {filed}. The site now needs one that is still valid."),
            _("The document has to be valid on the day on which it is filed."),
        ),
        (
            _(
                "Upload the current one when you have it. "
                "This one is accepted for now (study {study})."
            ),
            _("Upload the current one, or the renewal letter if its renewal is pending."),
        ),
        (
            _("Compare the expiry date, {expires}, with the date that is printed on the document."),
            _("Compare the expiry date with the date that is printed on the document."),
        ),
    ),
    "STALE_DOCUMENT": FindingMessage(
        _("Too old"),
        (
            _("This {type} is dated {dated}. It may be at most {months} months old."),
            _("This {type} is older than the study accepts."),
        ),
        (_("The document has to describe the situation on the day on which it is filed."),),
        (
            _(
                "Upload a newer {type} when you have it. "
                "This one is accepted for now (study {study})."
            ),
            _("Upload a newer {type} with a current date."),
        ),
        (
            _("Compare its date, {dated}, with the date that is printed on the document."),
            _("Compare its date with the date that is printed on the document."),
        ),
    ),
    "DATE_IN_FUTURE": FindingMessage(
        _("A date is in the future"),
        (
            _("The {field} on page {page} is {date}, which is in the future."),
            _("The {field} is {date}, which is in the future."),
            _("A date in this {type} is in the future."),
        ),
        (_("The record has to show when each step really happened."),),
        (
            _("Ask the signer to correct the {field}, then upload the document again."),
            _("Ask the signer to correct the date, then upload the document again."),
        ),
        (
            _("Look at the {field} on page {page}. Was {date} read correctly?"),
            _("Look at the date. Was it read correctly?"),
        ),
    ),
    "DATE_INVALID": FindingMessage(
        _("A date does not exist"),
        (
            _("The {field} on page {page} is “{written}”. There is no such date."),
            _("The {field} is “{written}”. There is no such date."),
            _("A date in this {type} does not exist."),
        ),
        (_("The dates decide how long the document is valid."),),
        (
            _("Ask the signer to correct the {field}, then upload the document again."),
            _("Ask the signer to correct the date, then upload the document again."),
        ),
        (
            _("Look at the {field} on page {page}. Was “{written}” read correctly?"),
            _("Look at the date. Was it read correctly?"),
        ),
    ),
    "DATE_OUT_OF_SEQUENCE": FindingMessage(
        _("Two dates are in the wrong order"),
        (
            _("The {later} ({later_date}) is before the {earlier} ({earlier_date})."),
            _("Two dates in this {type} are in the wrong order."),
        ),
        (_("The order of the dates shows that each step was taken in time."),),
        (_("Check both dates and have the wrong one corrected. Then upload the document again."),),
        (_("Look at both dates. Were they read correctly?"),),
    ),
    "SITE_MISMATCH": FindingMessage(
        _("Names another site"),
        (
            _("This document names site {named}, but it was sent for site {expected}."),
            _("This document names a different site from the one it was sent for."),
        ),
        (_("A document is filed under the site that is named on it."),),
        (_("Check the file. If the site on it is wrong, have it corrected and upload it again."),),
        (
            _("Compare site {named} on the document with site {expected}, for which it was sent."),
            _("Compare the site on the document with the site for which it was sent."),
        ),
    ),
    "PROTOCOL_MISMATCH": FindingMessage(
        _("Names another protocol"),
        (
            _("The {one} names protocol {expected}, but the {other} names {named}."),
            _("This document names protocol {named}, but the study has protocol {expected}."),
            _("This document names a protocol that is not the protocol of the study."),
        ),
        (_("A document is valid for the protocol that is named on it."),),
        (
            _("Check both documents. Upload the {other} or the {one} that belongs to this study."),
            _("Check the file. If it belongs to another study, upload the right file here."),
        ),
        (
            _("Compare the {one} with the {other}."),
            _("Compare protocol {named} on the document with {expected}, the study's protocol."),
            _("Compare the protocol on the document with the study's protocol."),
        ),
    ),
    "PROTOCOL_VERSION_MISMATCH": FindingMessage(
        _("Names another version"),
        (
            _(
                "The {one} approves “{approved}” (further documents: {more}), but the {other} is "
                "version {named}."
            ),
            _("The {one} approves “{approved}”, but the {other} is version {named}."),
            _("The {one} names protocol version {expected}, but the {other} names {named}."),
            _("This document names protocol version {named}, but version {expected} is current."),
            _("This document names a version of the protocol that is not the current one."),
        ),
        (
            _("Participants may be given only what the {one} lists (further documents: {more})."),
            _("Participants may be given only “{approved}”."),
            _("Approvals and signatures are valid for one version of the protocol."),
        ),
        (
            _("Check which version is current, and upload the {other} or the {one} for it."),
            _("Upload the {type} for the current version."),
        ),
        (
            _("Compare the {one} with the {other}."),
            _("Compare protocol version {named} on the document with {expected}."),
            _("Compare the protocol version on the document with the current version."),
        ),
    ),
    "VERSION_MISMATCH": FindingMessage(
        _("Is another version than declared"),
        (
            _("This {type} is version {named}, but it was sent as version {expected}."),
            _("This {type} is another version than the one that was declared."),
        ),
        (_("Approvals and signatures are valid for one version of a document."),),
        (
            _("Upload version {expected}, or send this file again with its own version."),
            _("Upload the version that you declared."),
        ),
        (
            _("Compare the version on the document with the declared one, {expected}."),
            _("Compare the version on the document with the declared one."),
        ),
    ),
    "PERSON_MISMATCH": FindingMessage(
        _("Names another person"),
        (
            _("The {one} names {absent}, but the {other} lists {listed} (further names: {more})."),
            _("The {one} names {absent}, but the {other} lists {listed}."),
            _("The {one} names {expected}, but the {other} names {named}."),
            _("This document names {named}, but it was sent for {expected}."),
            _("This document names a different person from the one it was sent for."),
        ),
        (
            _("The delegation log must list the tasks of {absent}."),
            _("The documents of a site have to name the same people as the {one}."),
            _("Each person's documents are filed under that person's name."),
        ),
        (
            _("Add {absent} to the {other} and upload it, or upload a corrected {one}."),
            _("Check which name is right, and upload a corrected {other} or {one}."),
            _("Check the file. Upload the right file, or correct the person."),
        ),
        (
            _("Compare the {one} with the {other}."),
            _("Compare {named} on the document with {expected}, for whom it was sent."),
            _("Compare the names."),
        ),
    ),
    "PERSON_NOT_READ": FindingMessage(
        _("The person's name could not be read"),
        (
            _("We may have misread the name on this {type}: “{read}”. It was sent for {expected}."),
            _("We could not read the name on this {type}. It was sent for {expected}."),
            _("We may have misread the name on this {type}: “{read}”."),
            _("We could not read the name on this {type}."),
        ),
        (_("Each person's documents are filed under that person's name."),),
        (_("Upload a sharper copy that shows the full name, or upload the right file."),),
        (
            _("Compare the name that we read, “{read}”, with {expected}, for whom it was sent."),
            _("Look at the name on the document. It was sent for {expected}."),
            _("Look at the name on the document."),
        ),
    ),
    "LAB_MISMATCH": FindingMessage(
        _("Names another laboratory"),
        (
            _("The {one} names the laboratory {expected}, but the {other} names {named}."),
            _("This document names the laboratory {named}, but the packet names {expected}."),
            _("This document names a different laboratory from the rest of the packet."),
        ),
        (_("Every laboratory of the site needs its own certificate and normal ranges."),),
        (
            _("Upload the {other} for the laboratory on the {one}, or a corrected {one}."),
            _("Check which laboratory is right, and upload the document that belongs to it."),
        ),
        (
            _("Compare the {one} with the {other}."),
            _("Compare the laboratories {named} and {expected}."),
            _("Compare the laboratories."),
        ),
    ),
    "IRB_MISMATCH": FindingMessage(
        _("Names another IRB"),
        (
            _("The {one} names {expected}, but the {other} names {named}."),
            _("This document names {named}, but the packet names {expected}."),
            _("This document names a different IRB from the rest of the packet."),
        ),
        (_("The other forms must name the IRB that approved the study."),),
        (
            _("Check which IRB is responsible, and upload the {other} or the {one} that names it."),
            _("Check which IRB is responsible, and upload the document that names it."),
        ),
        (
            _("Compare the {one} with the {other}."),
            _("Compare {named} and {expected}. Are they the same IRB?"),
            _("Compare the IRBs."),
        ),
    ),
    "VALUE_NEARLY_MATCHES": FindingMessage(
        _("Differs from the register by a few characters"),
        (
            _("The {field} on this {type} is {read}. The register has {registered}."),
            _("A value on this {type} is nearly, but not exactly, the one in the register."),
        ),
        (
            _(
                "A character may have been misread, or the document may be about another person, "
                "site or study. We do not correct what we read."
            ),
        ),
        (
            _("Check the {field} on the document. If it is wrong, upload the right document."),
            _("Check the names and numbers. If one is wrong, upload the right document."),
        ),
        (
            _("Does the document say {read} or {registered}? Is it the right document?"),
            _("Compare the names and numbers on the document with the register."),
        ),
    ),
    "VALUE_IN_DOUBT": FindingMessage(
        _("A value can be read in two ways"),
        (
            _("We read two possible dates: {first_date} or {second_date} ({field})."),
            _("We read two possible values: {first} or {second} ({field})."),
            _("We read {read} as the {field}, and found nothing that confirms it."),
            _("A value on this {type} can be read in two ways."),
        ),
        (_("We use a value only if two independent readings agree on it."),),
        (
            _("Do nothing if the {field} is {read}. QA confirms it."),
            _("Do nothing, or upload a copy on which the {field} is clear. QA decides."),
            _("Do nothing, or upload a clearer copy. QA decides."),
        ),
        (
            _("Look at the document. Is the {field} {first_date} or {second_date}?"),
            _("Look at the document. Is the {field} {first} or {second}?"),
            _("Look at the document. Is the {field} {read}?"),
            _("Look at the values on the document."),
        ),
    ),
    "OCR_LOW_CONFIDENCE": FindingMessage(
        _("Some words could not be read with certainty"),
        (
            page_wording(
                "We could not read {what} on page {page} with certainty.",
                "We could not read {what} on {count} pages with certainty: {pages}.",
            ),
            page_wording(
                "Page {page} could not be read with certainty.",
                "{count} pages could not be read with certainty: {pages}.",
            ),
            _("We could not find {what} with certainty."),
            _("We could not read all of this {type} with certainty."),
        ),
        (
            _("A document may have {unseen} where we do not look for it."),
            _("We do not decide on the basis of words that we may have misread."),
        ),
        (
            _("Do nothing if {unseen} is on the document. If not, upload the signed document."),
            _("Upload a sharper scan at 300 dpi if you have one."),
        ),
        (
            page_wording("Look at {what} on page {page}.", "Look at {what} on pages {pages}."),
            page_wording("Look at page {page}.", "Look at pages {pages}."),
            _("Look at the parts that could not be read with certainty."),
        ),
    ),
    "EXPIRES_SOON": FindingMessage(
        _("Expires soon"),
        (
            _("This {type} expires on {expires} (days left: {days})."),
            _("This {type} expires soon."),
        ),
        (_("The document is valid until then."),),
        (_("Upload the renewed document before that day."),),
        (
            _("Compare the expiry date, {expires}, with the date that is printed on the document."),
            _("Compare the expiry date with the date that is printed on the document."),
        ),
    ),
    "FORM_EDITION_OUTDATED": FindingMessage(
        _("Older edition of the form"),
        (
            _("This is the {edition} edition of {form}. A newer edition was published."),
            _("The OMB date printed on this form ({printed}) has passed."),
            _("The OMB date printed on this form has passed."),
        ),
        (_("The FDA accepts forms whose OMB date has passed. That date is not an expiry date."),),
        (_("Do nothing about the edition of the form."),),
        (_("No decision about the edition is needed. The FDA accepts it."),),
    ),
    "FORM_NOT_REGISTERED": FindingMessage(
        _("Edition of the form not known"),
        (
            _(
                "This copy of {form}, edition {printed_edition}, is not one of the editions that "
                "we know. We found its entries by their captions."
            ),
            _("This form is not one of the editions that we know."),
        ),
        (_("In an edition that we know, we find each box by its position."),),
        (_("Do nothing about the edition of the form."),),
        (
            _(
                "No decision about the edition is needed. "
                "Compare the values with the form if you are in doubt."
            ),
        ),
    ),
    "TEXT_CORRECTED": FindingMessage(
        _("Corrected, with initials and date"),
        (
            page_wording(
                "“{struck}” on page {page} was corrected, with initials and a date.",
                "“{struck}” was corrected on {count} pages, with initials and a date: {pages}.",
            ),
            page_wording(
                "An entry on page {page} was corrected, with initials and a date.",
                "Entries on {count} pages were corrected, with initials and a date: {pages}.",
            ),
            _("An entry of this {type} was corrected, with initials and a date."),
        ),
        (_("This is how a record is corrected. The original entry can still be read."),),
        (_("Do nothing about the correction. It is recorded."),),
        (
            page_wording(
                "Look at the correction on page {page}. Does it change a value that matters?",
                "Look at the corrections on pages {pages}. Do they change a value that matters?",
            ),
            _("Look at the correction. Does it change a value that matters?"),
        ),
    ),
    "STAMPED_COPY": FindingMessage(
        _("Marked as a copy"),
        (
            page_wording(
                "Page {page} is marked “{stamp}”.",
                "{count} pages are marked “{stamp}”: {pages}.",
            ),
            _("This {type} is marked as a copy."),
        ),
        (_("A copy is accepted. The original stays at the site."),),
        (_("Do nothing about the mark. Keep the original in the investigator site file."),),
        (_("No decision about the mark is needed. It is recorded."),),
    ),
    "STAMPED_RECEIVED": FindingMessage(
        _("Stamped on receipt"),
        (
            page_wording(
                "Page {page} has a receipt stamp.",
                "{count} pages have a receipt stamp: {pages}.",
            ),
            _("This {type} has a receipt stamp."),
        ),
        (_("The stamp shows that an office received the document. It has no other effect."),),
        (_("Do nothing about the stamp. It is recorded."),),
        (_("No decision about the stamp is needed. It is recorded."),),
    ),
    "LANGUAGE_DIFFERS": FindingMessage(
        _("In another language than declared"),
        (
            _("This {type} is in {language}. It was sent as a document in {other}."),
            _("This {type} is in another language than the one that was declared."),
        ),
        (_("The document was read in its own language. The difference has no effect."),),
        (_("Do nothing if the language of the document is correct."),),
        (_("No decision about the language is needed. Is it the right translation?"),),
    ),
    "PACKET_INCOMPLETE": FindingMessage(
        _("Documents are still missing"),
        (
            _("The {one} names {absent}, whose {lacking} is not on file."),
            _("Documents are still missing from this packet: {missing}."),
            _("Documents are still missing from this packet."),
        ),
        (_("The site can start only when all required documents are on file."),),
        (
            _("Upload the {lacking} of {absent}, or a corrected {one} if the name is wrong."),
            _("Upload the missing documents. The documents on file stay there."),
        ),
        (
            _("Compare the {one} with the documents on file for {absent}."),
            _("Compare the site's documents with the list of required documents."),
        ),
    ),
    "QA_REJECTED": FindingMessage(
        _("Returned by QA"),
        (_("QA returned this {type}: {note}"), _("QA returned this {type}.")),
        (_("A reviewer found something that the site has to correct."),),
        (_("Read the note, correct the document, then upload it again."),),
        (_("Read the note. The decision contains its reason and its signature."),),
    ),
}

# For codes that the registry no longer contains: stored findings keep their old codes.
UNKNOWN_CODE_MESSAGE = FindingMessage(
    _("A finding of an older version"),
    (_("A check of an older version found something in this {type}."),),
    (_("The text of this finding is no longer available."),),
    (_("Do nothing, unless the document was returned. In that case, upload it again."),),
    (_("Compare the document with its record."),),
)
