"""The messages of each finding code: what happened, why it matters, and what to do.

Sites read what to do; staff read what to check instead. A site's message asks only for what its
page offers while the document is rejected, returned or in review: to replace the file, or to
correct the type and the person. `web.documents.outcomes` adds what the state itself asks for, such
as waiting for QA, and tests hold both together.

All messages of findings are here; `ingestion.rules.finding_texts` fills in their placeholders. They
use plain words, do not blame, and do not say "invalid"; what to do starts with a verb. A part has
one wording or more, the most specific first: the first one whose placeholders are all known is
used. The last wording of a part needs no fact but {type}, so that an old finding with few facts can
always be shown.

This package imports no Django. The functions below mark the messages for makemessages, which finds
them by these names, and `finding_texts` translates them when they are shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageWording:
    """A wording about one {page}, and the same about several {pages}, which are {count}."""

    one: str
    many: str


Wording = str | PageWording


def _(message: str) -> str:
    return message


def ngettext(one: str, many: str) -> PageWording:
    return PageWording(one, many)


@dataclass(frozen=True, slots=True)
class FindingMessage:
    short: str  # for a line in a table or a terminal
    what: tuple[Wording, ...]  # wordings, the most specific first
    why: tuple[Wording, ...]
    do: tuple[Wording, ...]  # for the site
    check: tuple[Wording, ...]  # for staff

    @property
    def parts(self) -> tuple[tuple[Wording, ...], ...]:
        return (self.what, self.why, self.do)

    @property
    def staff_parts(self) -> tuple[tuple[Wording, ...], ...]:
        return (self.what, self.why, self.check)


MESSAGES: Mapping[str, FindingMessage] = {
    "DOWNLOAD_FAILED": FindingMessage(
        _("The portal did not give us the file"),
        (
            _("We could not fetch this file from the portal: its answer was {status}."),
            _("We could not fetch this file from the portal."),
        ),
        (
            _("The portal did not give it (tries: {tries}); the document may well be in order."),
            _("A document that does not arrive cannot be checked; it may well be in order."),
        ),
        (_("Check that the file is still on the portal and try again, or upload the file here."),),
        (_("Look at the answers of the portal in the audit trail of this document."),),
    ),
    "PORTAL_UNAVAILABLE": FindingMessage(
        _("The portal does not answer"),
        (_("The site's portal does not answer at the moment, so this {type} has not reached us."),),
        (_("Nothing is wrong with the document; it stays in our queue."),),
        (_("Wait until the portal is back, or upload the file here if it is urgent."),),
        (_("Operations sees to the portal; the document goes on when it answers."),),
    ),
    "STORAGE_UNAVAILABLE": FindingMessage(
        _("Our storage did not answer"),
        (_("Our storage could not take this {type} in."),),
        (_("The fault is on our side; nothing is wrong with the document."),),
        (_("Leave it with us: we try again as soon as the storage is back."),),
        (_("Operations sees to the storage and retries the document."),),
    ),
    "SCANNER_UNAVAILABLE": FindingMessage(
        _("Our virus scanner did not answer"),
        (_("Our virus scanner could not look at this {type}."),),
        (_("The fault is on our side; as far as we know nothing is wrong with the document."),),
        (_("Leave it with us: we go on with it as soon as the scanner is back."),),
        (_("Operations sees to the scanner and retries the document."),),
    ),
    "CAPACITY": FindingMessage(
        _("Waiting for room on our side"),
        (_("We had no room to take this {type} in."),),
        (_("The fault is on our side; nothing is wrong with the document."),),
        (_("Leave it with us: we go on with it as soon as there is room."),),
        (_("Operations sees to the workers and retries the document."),),
    ),
    "INTERNAL_ERROR": FindingMessage(
        _("A fault on our side"),
        (
            _("We could not finish checking this {type} (reference {reference})."),
            _("We could not finish checking this {type}."),
        ),
        (_("The fault is on our side and has been reported; nothing is wrong with the document."),),
        (_("Leave it with us: we try again once the fault is mended."),),
        (_("Operations sees to the fault and retries the document."),),
    ),
    "POISON": FindingMessage(
        _("Our checks stopped several times"),
        (
            _("Our checks stopped {attempts} times while they had this {type} in hand."),
            _("Our checks stopped several times while they had this {type} in hand."),
        ),
        (_("Our side has to find out why; it says nothing about the document."),),
        (_("Leave it with us, or upload a fresh copy if you have one."),),
        (_("Operations finds the cause in the workers' log and retries the document."),),
    ),
    "DUPLICATE_CONTENT": FindingMessage(
        _("Already on file"),
        (
            _("The same file is also on file for this site, as {also}."),
            _("This {type} is already on file since {since}, as {twin}."),
            _("This {type} is already on file, as {twin}."),
            _("This {type} is already on file since {since}."),
            _("This {type} is already on file."),
        ),
        (
            _("The portal sent it under two names; this one is kept apart from {also}."),
            _("It is the same file from the same site, and one copy is enough."),
        ),
        (
            _("Do nothing if this file belongs under both names, {also} and this one."),
            _("Do nothing: the copy on file counts."),
        ),
        (
            _("Compare this document with {also}: does the file belong under both names?"),
            _("The document on file counts; nothing has to be decided."),
        ),
    ),
    "MALWARE_SUSPECTED": FindingMessage(
        _("The scanner raised an alarm"),
        (
            _("The virus scanner raised an alarm on this file ({signature})."),
            _("The virus scanner raised an alarm on this file."),
        ),
        (_("Nobody but our QA team can open it until it has been looked at."),),
        (
            _(
                "Scan your computer, then save or print the document to a new PDF "
                "and upload that copy."
            ),
        ),
        (_("Do not open the file on your own computer before your IT security has seen it."),),
    ),
    "EMPTY_FILE": FindingMessage(
        _("The file is empty"),
        (_("The file is empty: it holds no data."),),
        (_("There is nothing in it that could be checked or filed."),),
        (_("Open the {type} on your side to see that it is complete, then upload it again."),),
        (_("The file holds no data; there is nothing to look at."),),
    ),
    "FILE_TOO_LARGE": FindingMessage(
        _("The file is too large"),
        (
            _("The file is {size_mb} MB; the limit is {limit_mb} MB."),
            _("The file has {pages} pages; the limit is {limit_pages}."),
            _("The file is larger than we can take."),
        ),
        (_("Very large files cannot be checked in time."),),
        (
            _(
                "Scan it in black and white at 300 dpi, or split it by section, "
                "then upload it again."
            ),
        ),
        (_("Compare the size of the file with the limit."),),
    ),
    "UNSUPPORTED_TYPE": FindingMessage(
        _("Not a PDF or a scan"),
        (
            _("The file is {found}, not a PDF or a scanned image."),
            _("The file is not a PDF or a scanned image."),
        ),
        (_("Only PDF, JPEG, PNG and TIFF files can be read and archived."),),
        (_("Save or print the document as a PDF, open that once to check it, then upload it."),),
        (_("Look at what kind of file the site sent."),),
    ),
    "DYNAMIC_XFA_FORM": FindingMessage(
        _("A form that only Adobe Reader displays"),
        (_("The PDF holds a form that only Adobe Reader displays (dynamic XFA)."),),
        (_("Other programs show nothing of it, and a record has to open now and in many years."),),
        (_("Open it in Adobe Reader, print it to PDF, and upload that copy."),),
        (_("The form cannot be displayed here."),),
    ),
    "TYPE_MISMATCH": FindingMessage(
        _("Name and content of the file differ"),
        (
            _("The file is named {declared}, but its content is {found}."),
            _("The ending of the file's name and its content do not belong together."),
        ),
        (_("A record has to open as what its name says it is."),),
        (_("Save the document as a PDF, open that once to check it, then upload it."),),
        (_("Compare the ending of the file's name with its content."),),
    ),
    "CHECKSUM_MISMATCH": FindingMessage(
        _("The file changed on its way to us"),
        (_("The bytes that reached us are not the ones that were announced."),),
        (_("The checksum proves that the file on record is the one that was sent."),),
        (_("Upload the file again. Programs send the checksum of that very file with it."),),
        (_("Compare the SHA-256 with the one that the site announced."),),
    ),
    "ACTIVE_CONTENT": FindingMessage(
        _("Holds scripts or attached files"),
        (_("The PDF contains {kinds}."), _("The PDF contains scripts or attached files.")),
        (_("An archived record must not change when it is opened."),),
        (_("Print it to PDF and upload that copy."),),
        (_("Find out what the scripts or attachments are for before you file it."),),
    ),
    "ENCRYPTED_DOCUMENT": FindingMessage(
        _("Locked with a password"),
        (_("The PDF is locked with a password."),),
        (_("We cannot check a file that we cannot open."),),
        (_("Save a copy without the password and upload that."),),
        (_("The file cannot be opened without its password."),),
    ),
    "CORRUPT_DOCUMENT": FindingMessage(
        _("The file is damaged"),
        (
            _(
                "The file is damaged. "
                "The last page that can be read is page {last_page} of {total}."
            ),
            _("The file is damaged. The last page that can be read is page {last_page}."),
            _("The file is damaged: it cannot be opened to its end."),
        ),
        (_("A record has to open, now and in many years."),),
        (
            _(
                "Open the file on your side, check that no page is missing in it, "
                "and upload it again."
            ),
            _("Save or print it to a new PDF, open that once to check it, then upload it."),
        ),
        (_("Look at how much of the file can still be opened."),),
    ),
    "PARSER_FAILURE": FindingMessage(
        _("We could not read the file"),
        (_("The file opens, but we could not read what is in it."),),
        (_("A {type} that cannot be read cannot be checked."),),
        (_("Print it to a new PDF and upload that copy."),),
        (_("Look at whether the file opens and is whole."),),
    ),
    "ILLEGIBLE_SCAN": FindingMessage(
        _("The scan cannot be read"),
        (
            _("We could not read {count} of {total} pages."),
            _("We could not read this scan."),
        ),
        (
            _("The scan is about {dpi} dpi; we need 300."),
            _("What cannot be read cannot be checked."),
        ),
        (_("Scan the whole document again at 300 dpi in black and white, then upload it."),),
        (_("Look at the pages: can a person read them?"),),
    ),
    "PHI_SUSPECTED": FindingMessage(
        _("May name a study participant"),
        (
            ngettext(
                "Page {page} seems to hold details of a study participant.",
                "{count} pages seem to hold details of a study participant: {pages}.",
            ),
            _("This {type} seems to hold details of a study participant."),
        ),
        (_("Participants' details do not belong into a site's regulatory file."),),
        (_("Check the page. If it holds such details, upload a copy without them."),),
        (
            ngettext(
                "Look at page {page}: does it hold details of a study participant?",
                "Look at pages {pages}: do they hold details of a study participant?",
            ),
            _("Look for details of a study participant."),
        ),
    ),
    "MULTIPLE_DOCUMENTS": FindingMessage(
        _("More than one document in the file"),
        (
            _("This file seems to hold several documents: {documents}."),
            _("This file has {pages} pages; a file with one {type} has at most {limit_pages}."),
            _("This file seems to hold several documents."),
        ),
        (_("Each document is checked and filed by itself, with all of its pages and no others."),),
        (_("Upload each document as a file of its own."),),
        (
            _("Look at where each document begins: {documents}."),
            _("Look at whether all pages belong to one document."),
        ),
    ),
    "BLANK_OR_MISSING_PAGE": FindingMessage(
        _("A page is blank or missing"),
        (
            _("Pages are missing: {missing} ({present} of {total} present)."),
            ngettext("Page {page} is blank.", "{count} pages are blank: {pages}."),
            _("A page is blank or missing."),
        ),
        (_("The whole document is the record, with all of its pages."),),
        (
            _("Check your document. If a page is missing, upload all {total} pages in one PDF."),
            _("Check your document. If a page is missing, upload all pages in one PDF."),
        ),
        (
            ngettext(
                "Look at page {page}: is it blank, and may it be?",
                "Look at pages {pages}: are they blank, and may they be?",
            ),
            _("Compare the pages with the numbers that are printed on them."),
        ),
    ),
    "DOC_TYPE_CONFLICT": FindingMessage(
        _("Looks like another type of document"),
        (
            _("This looks like {detected}; it was sent as {declared}. We read {evidence}."),
            _("This looks like {detected}; it was sent as {declared}."),
            _("This looks like another type of document than the one it was sent as."),
        ),
        (_("The type decides which checks run and where the document is filed."),),
        (_("Correct the type, or upload the right file."),),
        (
            _("Look at what the document is: {detected}, or {declared}?"),
            _("Look at what type of document it is."),
        ),
    ),
    "DOC_TYPE_UNRECOGNIZED": FindingMessage(
        _("Type of document not recognised"),
        (
            _("This does not look like {declared}."),
            _("We could not tell which type of document this is."),
        ),
        (_("The type decides which checks run and where the document is filed."),),
        (_("Check the type and the file. Correct the type, or upload the right file."),),
        (
            _("Look at what the document is. It was sent as {declared}."),
            _("Look at what type of document it is."),
        ),
    ),
    "SCHEMA_MISMATCH": FindingMessage(
        _("A required entry is missing"),
        (
            _("Version {schema_version} of the submission form is not one that we accept."),
            _("{box} is empty: it asks for the {field}."),
            _("Nothing is ticked in {choice}: it asks for the {field}."),
            ngettext(
                "The {field} on page {page} is not filled in.",
                "The {field} is not filled in on {count} pages: {pages}.",
            ),
            _("We found no {field} in this {type}."),
            _("A required entry is missing from this {type}."),
        ),
        (
            _("We accept the versions {supported}."),
            _("The {type} counts only when its required entries are there."),
        ),
        (
            _("Use version {latest} and send the document again."),
            _(
                "Fill in {box}, with “None” where there is nothing to name, "
                "and upload the form again."
            ),
            _("Tick what applies in {choice}, and upload the form again."),
            _("Add the {field} and upload the document again."),
            _("Add what is missing and upload the document again."),
        ),
        (
            _("Look at {box}: is it filled in?"),
            _("Look at {choice}: is nothing ticked there?"),
            _("Look at page {page}: is the {field} there?"),
            _("Look for the {field} on the document."),
            _("Look for the entry that is missing."),
        ),
    ),
    "SIGNATURE_BROKEN": FindingMessage(
        _("The digital signature does not match"),
        (
            _(
                "The file was changed after {signer} signed it: "
                "the digital signature does not match."
            ),
            _("The file was changed after it was signed: the digital signature does not match."),
        ),
        (_("A digital signature counts for the exact file that was signed."),),
        (
            _("Upload the file as it was signed, or ask {signer} to sign it again."),
            _("Upload the file as it was signed, or ask the signer to sign it again."),
        ),
        (_("Find out how the file was changed after it was signed."),),
    ),
    "SIGNATURE_PARTIAL": FindingMessage(
        _("The signature covers part of the file"),
        (
            _("The digital signature of {signer} covers only a part of the file."),
            _("The digital signature covers only a part of the file."),
        ),
        (_("What a signature does not cover can be changed without a trace."),),
        (
            _("Ask {signer} to sign the whole file again, then upload it as it was signed."),
            _("Ask the signer to sign the whole file again, then upload it as it was signed."),
        ),
        (_("Look at which part of the file the signature covers."),),
    ),
    "SIGNATURE_EMPTY": FindingMessage(
        _("The signature field holds no signature"),
        (
            ngettext(
                "The signature field on page {page} looks filled in, but holds no signature.",
                "Signature fields on {count} pages look filled in, but hold no signature: {pages}.",
            ),
            _("A signature field looks filled in, but holds no signature."),
        ),
        (_("The {type} counts only with a signature that can be verified."),),
        (_("Ask the signer to sign it again, then upload the file as it was signed."),),
        (
            ngettext(
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
        (_("The signature does not cover what was added or changed after it."),),
        (
            _("Upload the file as {signer} signed it."),
            _("Upload the file as it was signed."),
        ),
        (_("Compare the file with what was signed: what was added or changed?"),),
    ),
    "SIGNATURE_UNVERIFIED": FindingMessage(
        _("The digital signature was not verified"),
        (
            _("Page {claimed} says that it is digitally signed; the file holds no such signature."),
            _("The certificate of {signer} expired on {expired}; no time stamp shows earlier use."),
            ngettext(
                "We could not verify the digital signature on page {page}.",
                "We could not verify the digital signatures on {count} pages: {pages}.",
            ),
            _("We could not verify the digital signature."),
        ),
        (_("A digital signature counts only once it has been verified."),),
        (_("Upload the file as it was signed, if you sent a copy of it."),),
        (
            ngettext(
                "Look at the signature on page {page}, and at what is known of its certificate.",
                "Look at the signatures on pages {pages}, "
                "and at what is known of their certificates.",
            ),
            _("Look at the signature, and at what is known of its certificate."),
        ),
    ),
    "SIGNATURE_WEAK": FindingMessage(
        _("The digital signature can be forged"),
        (
            _("{signer} signed with {weakness}, which can be forged."),
            _("The digital signature was made in a way that can be forged."),
        ),
        (_("A digital signature counts only if nobody else can make it."),),
        (
            _("Ask {signer} to sign with a current certificate, then upload the file again."),
            _("Ask the signer to sign with a current certificate, then upload the file again."),
        ),
        (_("Find out why the signer used such a certificate."),),
    ),
    "SIGNATURE_CERTIFICATE_EXPIRED": FindingMessage(
        _("Signed with an expired certificate"),
        (
            _("{signer} signed on {signed} with a certificate of {valid_from} to {valid_until}."),
            _("The certificate was not valid on the day of the signature."),
        ),
        (_("A digital signature counts only if its certificate is valid when it is made."),),
        (
            _("Ask {signer} to sign with a current certificate, then upload the file again."),
            _("Ask the signer to sign with a current certificate, then upload the file again."),
        ),
        (
            _("Compare the day of the signature, {signed}, with the certificate's days."),
            _("Compare the day of the signature with the certificate's days."),
        ),
    ),
    "SIGNATURE_ISSUER_UNKNOWN": FindingMessage(
        _("Signed with a certificate we do not know"),
        (
            _(
                "{signer} signed with a certificate of {issuer}, "
                "which is not a trusted issuer here."
            ),
            _("The certificate of the digital signature is not of a trusted issuer."),
        ),
        (_("Anybody can make a certificate in any name."),),
        (
            _(
                "Do nothing if the certificate is right. "
                "If not, upload a file signed with another one."
            ),
        ),
        (
            _("Find out whether {signer} has a certificate of {issuer}."),
            _("Find out whether the signer has a certificate of this issuer."),
        ),
    ),
    "SIGNATURE_MISPLACED": FindingMessage(
        _("Signed, but not in the place for it"),
        (
            _("{signer} signed digitally, but not in the place for the signature on page {page}."),
            _("The file is signed digitally, but not in the place for the signature."),
        ),
        (
            _("The {type} has to be signed in {section}."),
            _("The {type} has to be signed in the place that it has for it."),
        ),
        (
            _("Ask {role} to sign in {section}, then upload the document again."),
            _("Ask the signer to sign in the place for it, then upload the document again."),
        ),
        (
            _("Look at where {signer} signed, and at the place for the signature on page {page}."),
            _("Look at where it is signed, and at the place for the signature."),
        ),
    ),
    "SIGNER_MISMATCH": FindingMessage(
        _("Signed by another person"),
        (
            _("{signer} signed this {type}; we expected {expected}."),
            _("{signer} signed this {type}, and is not named in it."),
            _("The digital signature of this {type} does not say who signed."),
        ),
        (_("The {type} counts only with the signature of the right person."),),
        (
            _("Ask {expected} to sign it, then upload it again."),
            _("Ask the right person to sign it, then upload it again."),
        ),
        (
            _("Compare {signer}, who signed, with {expected}."),
            _("Compare who signed with who has to sign."),
        ),
    ),
    "SIGNATURE_MISSING": FindingMessage(
        _("Not signed"),
        (_("Page {page} is not signed."), _("This {type} is not signed.")),
        (
            _("The {type} counts only once {role} has signed it."),
            _("The {type} counts only once it has been signed."),
        ),
        (
            _("Ask {role} to sign and date {section}, scan the whole document, upload it again."),
            _("Ask the signer to sign and date it, scan the whole document, upload it again."),
        ),
        (
            _("Look for the signature on page {page}."),
            _("Look for the signature."),
        ),
    ),
    "SIGNATURE_DATE_MISSING": FindingMessage(
        _("Signed, but not dated"),
        (_("The signature on page {page} has no date."), _("The signature has no date.")),
        (_("We need to know when it was signed."),),
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
        (_("This {type} ran out on {expires}."), _("This {type} has run out.")),
        (
            _("It is on file since {filed}; from now on the site needs one that still counts."),
            _("It has to be valid on the day it is filed."),
        ),
        (
            _("Upload the current one when there is one: study {study} files it until then."),
            _("Upload the current one, or the renewal letter if its renewal is pending."),
        ),
        (
            _("Compare the last day, {expires}, with the one that is printed on it."),
            _("Compare its last day with the one that is printed on it."),
        ),
    ),
    "STALE_DOCUMENT": FindingMessage(
        _("Too old"),
        (
            _("This {type} is of {dated}; it may be at most {months} months old."),
            _("This {type} is older than the study accepts."),
        ),
        (_("It has to describe the state of things on the day it is filed."),),
        (
            _("Upload a newer {type} when there is one: study {study} files it until then."),
            _("Upload a newer {type} with a current date."),
        ),
        (
            _("Compare its date, {dated}, with the one that is printed on it."),
            _("Compare its date with the one that is printed on it."),
        ),
    ),
    "DATE_IN_FUTURE": FindingMessage(
        _("A date lies in the future"),
        (
            _("The {field} on page {page} is {date}, which lies in the future."),
            _("The {field} is {date}, which lies in the future."),
            _("A date in this {type} lies in the future."),
        ),
        (_("We need to know when it really happened."),),
        (
            _("Ask the signer to correct the {field}, then upload the document again."),
            _("Ask the signer to correct the date, then upload the document again."),
        ),
        (
            _("Look at the {field} on page {page}: was {date} read correctly?"),
            _("Look at the date: was it read correctly?"),
        ),
    ),
    "DATE_INVALID": FindingMessage(
        _("A date does not exist"),
        (
            _("The {field} on page {page} reads {written}; there is no such day."),
            _("The {field} reads {written}; there is no such day."),
            _("A date in this {type} is a day that does not exist."),
        ),
        (_("Dates decide how long the document counts."),),
        (
            _("Ask the signer to correct the {field}, then upload the document again."),
            _("Ask the signer to correct the date, then upload the document again."),
        ),
        (
            _("Look at the {field} on page {page}: was {written} read correctly?"),
            _("Look at the date: was it read correctly?"),
        ),
    ),
    "DATE_OUT_OF_SEQUENCE": FindingMessage(
        _("Two dates are the wrong way round"),
        (
            _("The {later} ({later_date}) comes before the {earlier} ({earlier_date})."),
            _("Two dates in this {type} are the wrong way round."),
        ),
        (_("The order of the dates shows that each step was taken in time."),),
        (_("Check both dates, have the wrong one corrected, then upload the document again."),),
        (_("Look at both dates: were they read correctly?"),),
    ),
    "SITE_MISMATCH": FindingMessage(
        _("Names another site"),
        (
            _("This document names site {named}; it was sent for site {expected}."),
            _("This document names another site than the one it was sent for."),
        ),
        (_("Documents are filed under the site that is named on them."),),
        (_("Check the file; if the site on it is wrong, have it corrected and upload it again."),),
        (
            _("Compare site {named} on the document with site {expected}, for which it was sent."),
            _("Compare the site on the document with the one for which it was sent."),
        ),
    ),
    "PROTOCOL_MISMATCH": FindingMessage(
        _("Names another protocol"),
        (
            _("The {one} names protocol {expected}; the {other} names {named}."),
            _("This document names protocol {named}; the study's protocol is {expected}."),
            _("This document names another protocol than the study's."),
        ),
        (_("A document counts for the protocol that is named on it."),),
        (
            _("Check both; upload the {other} or the {one} that belongs to this study."),
            _("Check the file; if it belongs to another study, upload the right one here."),
        ),
        (
            _("Compare the {one} with the {other}."),
            _("Compare protocol {named} on the document with {expected}, the study's."),
            _("Compare the protocol on the document with the study's."),
        ),
    ),
    "PROTOCOL_VERSION_MISMATCH": FindingMessage(
        _("Names another version"),
        (
            _("The {one} approves “{approved}”; the {other} is version {named}."),
            _("The {one} names protocol version {expected}; the {other} names {named}."),
            _("This document names protocol version {named}; the current one is {expected}."),
            _("This document names another version of the protocol than the current one."),
        ),
        (
            _("Participants may be given “{approved}”, and no other version."),
            _("Approvals and signatures count for one version of the protocol."),
        ),
        (
            _("Check which version is current, and upload the {other} or the {one} for it."),
            _("Upload the {type} for the current version."),
        ),
        (
            _("Compare the {one} with the {other}."),
            _("Compare protocol version {named} on the document with {expected}."),
            _("Compare the protocol version on the document with the current one."),
        ),
    ),
    "PERSON_MISMATCH": FindingMessage(
        _("Names another person"),
        (
            _("The {one} names {absent}; the {other} lists {listed}."),
            _("The {one} names {expected}; the {other} names {named}."),
            _("This document names {named}; it was sent for {expected}."),
            _("This document names another person than the one it was sent for."),
        ),
        (
            _("What {absent} does at the site has to be delegated on record."),
            _("The documents of a site have to name the same people as the {one}."),
            _("Each person's documents are filed under their own name."),
        ),
        (
            _("Add {absent} to the {other} and upload it, or upload a corrected {one}."),
            _("Check which name is right, and upload a corrected {other} or {one}."),
            _("Check the file. Upload the right one, or correct the person."),
        ),
        (
            _("Compare the {one} with the {other}."),
            _("Compare {named} on the document with {expected}, for whom it was sent."),
            _("Compare the names."),
        ),
    ),
    "PERSON_NOT_READ": FindingMessage(
        _("Whose document it is was not read"),
        (
            _("We may have misread whose {type} this is: “{read}”. It was sent for {expected}."),
            _("We could not read whose {type} this is. It was sent for {expected}."),
            _("We may have misread whose {type} this is: “{read}”."),
            _("We could not read whose {type} this is."),
        ),
        (_("Each person's documents are filed under their own name."),),
        (_("Upload a sharper copy that shows the full name, or the right file."),),
        (
            _("Compare “{read}”, as it was read, with {expected}, for whom it was sent."),
            _("Look at the name on the document. It was sent for {expected}."),
            _("Look at the name on the document."),
        ),
    ),
    "LAB_MISMATCH": FindingMessage(
        _("Names another laboratory"),
        (
            _("The {one} names the laboratory {expected}; the {other} names {named}."),
            _("This document names the laboratory {named}; the packet names {expected}."),
            _("This document names another laboratory than the rest of the packet."),
        ),
        (_("Every laboratory of the site needs its own certificate and ranges."),),
        (
            _("Upload the {other} of the laboratory on the {one}, or a corrected {one}."),
            _("Check which laboratory is meant and upload the document that belongs to it."),
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
            _("The {one} names {expected}; the {other} names {named}."),
            _("This document names {named}; the packet names {expected}."),
            _("This document names another IRB than the rest of the packet."),
        ),
        (_("The IRB that approved the study has to be the one named on the other forms."),),
        (
            _("Check which IRB is responsible, and upload the {other} or the {one} that names it."),
            _("Check which IRB is responsible and upload the document that names it."),
        ),
        (
            _("Compare the {one} with the {other}."),
            _("Compare {named} and {expected}: is it the same IRB?"),
            _("Compare the IRBs."),
        ),
    ),
    "OCR_LOW_CONFIDENCE": FindingMessage(
        _("Some words could not be read with certainty"),
        (
            ngettext(
                "We could not read {what} on page {page} with certainty.",
                "We could not read {what} on {count} pages with certainty: {pages}.",
            ),
            ngettext(
                "Page {page} could not be read with certainty.",
                "{count} pages could not be read with certainty: {pages}.",
            ),
            _("We could not find {what} with certainty."),
            _("We could not read all of this {type} with certainty."),
        ),
        (_("We do not decide on words that we may have misread."),),
        (_("Upload a sharper scan at 300 dpi if you have one."),),
        (
            ngettext("Look at {what} on page {page}.", "Look at {what} on pages {pages}."),
            ngettext("Look at page {page}.", "Look at pages {pages}."),
            _("Look at what could not be read with certainty."),
        ),
    ),
    "EXPIRES_SOON": FindingMessage(
        _("Expires soon"),
        (
            _("This {type} runs out on {expires} (days left: {days})."),
            _("This {type} runs out soon."),
        ),
        (_("It is on file and counts until then."),),
        (_("Upload the renewed one before that day."),),
        (
            _("Compare the last day, {expires}, with the one that is printed on it."),
            _("Compare its last day with the one that is printed on it."),
        ),
    ),
    "FORM_EDITION_OUTDATED": FindingMessage(
        _("Older edition of the form"),
        (
            _("The OMB date printed on this form ({printed}) has passed."),
            _("The OMB date printed on this form has passed."),
        ),
        (_("FDA accepts forms with a passed OMB date: it is not the form's own expiry."),),
        (_("Do nothing: the form counts as it is."),),
        (_("Nothing has to be decided: the form counts as it is."),),
    ),
    "PACKET_INCOMPLETE": FindingMessage(
        _("Documents are still missing"),
        (
            _("The {one} names {absent}, whose {lacking} is not on file."),
            _("This packet still lacks: {missing}."),
            _("This packet still lacks documents."),
        ),
        (_("The site can start once every required document is on file."),),
        (
            _("Upload the {lacking} of {absent}, or a corrected {one} if the name is wrong."),
            _("Upload what is missing; what is already on file stays there."),
        ),
        (
            _("Compare the {one} with what is on file for {absent}."),
            _("Compare the site's documents with the list of those that are required."),
        ),
    ),
    "QA_REJECTED": FindingMessage(
        _("Returned by QA"),
        (_("QA returned this {type}: {note}"), _("QA returned this {type}.")),
        (_("A person looked at it and found something that the site has to correct."),),
        (_("Read the note, correct the document, then upload it again."),),
        (_("Read the note; the decision has its reason and its signature."),),
    ),
}

# For codes that the registry no longer holds: records outlive them.
UNKNOWN_CODE_MESSAGE = FindingMessage(
    _("A finding of an older version"),
    (_("A check of an older version found something in this {type}."),),
    (_("Its wording is no longer on record here."),),
    (_("Do nothing, unless the document came back. Then upload it again."),),
    (_("Compare the document with what its record says."),),
)
