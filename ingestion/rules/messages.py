"""The words that people read for each finding code: what happened, why it matters, what to do.

What to do is said to sites; staff read what to check instead. A site's sentence asks only for what
its page offers while the document is rejected, returned or in review: to replace the file or, of
the type and the person, to correct them. What the state itself asks for, as waiting for QA or
asking for a review, is said by the page (`web.documents.outcomes`), and tests hold both together.

The one place for this copy; `ingestion.rules.finding_texts` fills it in. Plain words; never
a blame, never "invalid"; what to do starts with a verb. A part may be worded in several
ways, the fullest first: the first one whose placeholders are all known is used, and the
last one of a part needs no fact but {type}, so that an old finding with few facts can
always be shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Copy:
    short: str  # for a line in a table or a terminal
    what: tuple[str, ...]  # wordings, the fullest first
    why: tuple[str, ...]
    do: tuple[str, ...]  # said to the site
    check: tuple[str, ...] = ("Compare the finding with the document.",)  # said to staff

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        return (self.what, self.why, self.do)

    @property
    def staff_parts(self) -> tuple[tuple[str, ...], ...]:
        return (self.what, self.why, self.check)


COPY: Mapping[str, Copy] = {
    "DOWNLOAD_FAILED": Copy(
        "The portal did not give us the file",
        (
            "We could not fetch this file from the portal: its answer was {status}.",
            "We could not fetch this file from the portal.",
        ),
        (
            "The portal did not give it (tries: {tries}); the document may well be in order.",
            "A document that does not arrive cannot be checked; it may well be in order.",
        ),
        ("Check that the file is still on the portal and try again, or upload the file here.",),
        ("Look at the answers of the portal in the audit trail of this document.",),
    ),
    "PORTAL_UNAVAILABLE": Copy(
        "The portal does not answer",
        ("The site's portal does not answer at the moment, so this {type} has not reached us.",),
        ("Nothing is wrong with the document; it stays in our queue.",),
        ("Wait until the portal is back, or upload the file here if it is urgent.",),
        ("Operations sees to the portal; the document goes on when it answers.",),
    ),
    "STORAGE_UNAVAILABLE": Copy(
        "Our storage did not answer",
        ("Our storage could not take this {type} in.",),
        ("The fault is on our side; nothing is wrong with the document.",),
        ("Leave it with us: we try again as soon as the storage is back.",),
        ("Operations sees to the storage and retries the document.",),
    ),
    "SCANNER_UNAVAILABLE": Copy(
        "Our virus scanner did not answer",
        ("Our virus scanner could not look at this {type}.",),
        ("The fault is on our side; as far as we know nothing is wrong with the document.",),
        ("Leave it with us: we go on with it as soon as the scanner is back.",),
        ("Operations sees to the scanner and retries the document.",),
    ),
    "CAPACITY": Copy(
        "Waiting for room on our side",
        ("We had no room to take this {type} in.",),
        ("The fault is on our side; nothing is wrong with the document.",),
        ("Leave it with us: we go on with it as soon as there is room.",),
        ("Operations sees to the workers and retries the document.",),
    ),
    "INTERNAL_ERROR": Copy(
        "A fault on our side",
        (
            "We could not finish checking this {type} (reference {reference}).",
            "We could not finish checking this {type}.",
        ),
        ("The fault is on our side and has been reported; nothing is wrong with the document.",),
        ("Leave it with us: we try again once the fault is mended.",),
        ("Operations sees to the fault and retries the document.",),
    ),
    "POISON": Copy(
        "Our checks stopped several times",
        (
            "Our checks stopped {attempts} times while they had this {type} in hand.",
            "Our checks stopped several times while they had this {type} in hand.",
        ),
        ("Our side has to find out why; it says nothing about the document.",),
        ("Leave it with us, or upload a fresh copy if you have one.",),
        ("Operations finds the cause in the workers' log and retries the document.",),
    ),
    "DUPLICATE_CONTENT": Copy(
        "Already on file",
        (
            "The same file is also on file for this site, as {also}.",
            "This {type} is already on file since {since}, as {twin}.",
            "This {type} is already on file, as {twin}.",
            "This {type} is already on file since {since}.",
            "This {type} is already on file.",
        ),
        (
            "The portal sent it under two names; this one is kept apart from {also}.",
            "It is the same file from the same site, and one copy is enough.",
        ),
        (
            "Do nothing if this file belongs under both names, {also} and this one.",
            "Do nothing: the copy on file counts.",
        ),
        (
            "Compare this document with {also}: does the file belong under both names?",
            "The document on file counts; nothing has to be decided.",
        ),
    ),
    "MALWARE_SUSPECTED": Copy(
        "The scanner raised an alarm",
        (
            "The virus scanner raised an alarm on this file ({signature}).",
            "The virus scanner raised an alarm on this file.",
        ),
        ("Nobody but our QA team can open it until it has been looked at.",),
        ("Scan your computer, then save or print the document to a new PDF and upload that copy.",),
        ("Do not open the file on your own computer before your IT security has seen it.",),
    ),
    "EMPTY_FILE": Copy(
        "The file is empty",
        ("The file is empty: it holds no data.",),
        ("There is nothing in it that could be checked or filed.",),
        ("Open the {type} on your side to see that it is complete, then upload it again.",),
        ("The file holds no data; there is nothing to look at.",),
    ),
    "FILE_TOO_LARGE": Copy(
        "The file is too large",
        (
            "The file is {size_mb} MB; the limit is {limit_mb} MB.",
            "The file has {pages} pages; the limit is {limit_pages}.",
            "The file is larger than we can take.",
        ),
        ("Very large files cannot be checked in time.",),
        ("Scan it in black and white at 300 dpi, or split it by section, then upload it again.",),
        ("Compare the size of the file with the limit.",),
    ),
    "UNSUPPORTED_TYPE": Copy(
        "Not a PDF or a scan",
        (
            "The file is {found}, not a PDF or a scanned image.",
            "The file is not a PDF or a scanned image.",
        ),
        ("Only PDF, JPEG, PNG and TIFF files can be read and archived.",),
        ("Save or print the document as a PDF, open that once to check it, then upload it.",),
        ("Look at what kind of file the site sent.",),
    ),
    "DYNAMIC_XFA_FORM": Copy(
        "A form that only Adobe Reader displays",
        ("The PDF holds a form that only Adobe Reader displays (dynamic XFA).",),
        ("Other programs show nothing of it, and a record has to open now and in many years.",),
        ("Open it in Adobe Reader, print it to PDF, and upload that copy.",),
        ("The form cannot be displayed here.",),
    ),
    "TYPE_MISMATCH": Copy(
        "Name and content of the file differ",
        (
            "The file is named {declared}, but its content is {found}.",
            "The ending of the file's name and its content do not belong together.",
        ),
        ("A record has to open as what its name says it is.",),
        ("Save the document as a PDF, open that once to check it, then upload it.",),
        ("Compare the ending of the file's name with its content.",),
    ),
    "CHECKSUM_MISMATCH": Copy(
        "The file changed on its way to us",
        ("The bytes that reached us are not the ones that were announced.",),
        ("The checksum proves that the file on record is the one that was sent.",),
        ("Upload the file again. Programs send the checksum of that very file with it.",),
        ("Compare the SHA-256 with the one that the site announced.",),
    ),
    "ACTIVE_CONTENT": Copy(
        "Holds scripts or attached files",
        ("The PDF contains {kinds}.", "The PDF contains scripts or attached files."),
        ("An archived record must not change when it is opened.",),
        ("Print it to PDF and upload that copy.",),
        ("Find out what the scripts or attachments are for before you file it.",),
    ),
    "ENCRYPTED_DOCUMENT": Copy(
        "Locked with a password",
        ("The PDF is locked with a password.",),
        ("We cannot check a file that we cannot open.",),
        ("Save a copy without the password and upload that.",),
        ("The file cannot be opened without its password.",),
    ),
    "CORRUPT_DOCUMENT": Copy(
        "The file is damaged",
        (
            "The file is damaged. The last page that can be read is page {last_page} of {total}.",
            "The file is damaged. The last page that can be read is page {last_page}.",
            "The file is damaged: it cannot be opened to its end.",
        ),
        ("A record has to open, now and in many years.",),
        (
            "Open the file on your side, check that no page is missing in it, and upload it again.",
            "Save or print it to a new PDF, open that once to check it, then upload it.",
        ),
        ("Look at how much of the file can still be opened.",),
    ),
    "PARSER_FAILURE": Copy(
        "We could not read the file",
        ("The file opens, but we could not read what is in it.",),
        ("A {type} that cannot be read cannot be checked.",),
        ("Print it to a new PDF and upload that copy.",),
        ("Look at whether the file opens and is whole.",),
    ),
    "ILLEGIBLE_SCAN": Copy(
        "The scan cannot be read",
        (
            "We could not read {count} of {total} pages.",
            "We could not read this scan.",
        ),
        (
            "The scan is about {dpi} dpi; we need 300.",
            "What cannot be read cannot be checked.",
        ),
        ("Scan the whole document again at 300 dpi in black and white, then upload it.",),
        ("Look at the pages: can a person read them?",),
    ),
    "PHI_SUSPECTED": Copy(
        "May name a study participant",
        (
            "Page {page} seems to hold details of a study participant.",
            "This {type} seems to hold details of a study participant.",
        ),
        ("Participants' details do not belong into a site's regulatory file.",),
        ("Check the page. If it holds such details, upload a copy without them.",),
        (
            "Look at page {page}: does it hold details of a study participant?",
            "Look for details of a study participant.",
        ),
    ),
    "MULTIPLE_DOCUMENTS": Copy(
        "More than one document in the file",
        (
            "This file seems to hold several documents: {documents}.",
            "This file has {pages} pages; a file with one {type} has at most {limit_pages}.",
            "This file seems to hold several documents.",
        ),
        ("Each document is checked and filed by itself, with all of its pages and no others.",),
        ("Upload each document as a file of its own.",),
        (
            "Look at where each document begins: {documents}.",
            "Look at whether all pages belong to one document.",
        ),
    ),
    "BLANK_OR_MISSING_PAGE": Copy(
        "A page is blank or missing",
        (
            "Pages are missing: {missing} ({present} of {total} present).",
            "Page {page} is blank.",
            "A page is blank or missing.",
        ),
        ("The whole document is the record, with all of its pages.",),
        (
            "Check your document. If a page is missing, upload all {total} pages in one PDF.",
            "Check your document. If a page is missing, upload all pages in one PDF.",
        ),
        (
            "Look at page {page}: is it blank, and may it be?",
            "Compare the pages with the numbers that are printed on them.",
        ),
    ),
    "DOC_TYPE_CONFLICT": Copy(
        "Looks like another type of document",
        (
            "This looks like {detected}; it was sent as {declared}. We read {evidence}.",
            "This looks like {detected}; it was sent as {declared}.",
            "This looks like another type of document than the one it was sent as.",
        ),
        ("The type decides which checks run and where the document is filed.",),
        ("Correct the type, or upload the right file.",),
        (
            "Look at what the document is: {detected}, or {declared}?",
            "Look at what type of document it is.",
        ),
    ),
    "DOC_TYPE_UNRECOGNIZED": Copy(
        "Type of document not recognised",
        (
            "We did not find on it what a document of the type {declared} shows.",
            "We could not tell which type of document this is.",
        ),
        ("The type decides which checks run and where the document is filed.",),
        ("Check the type and the file. Correct the type, or upload the right file.",),
        (
            "Look at what the document is. It was sent as {declared}.",
            "Look at what type of document it is.",
        ),
    ),
    "SCHEMA_MISMATCH": Copy(
        "A required entry is missing",
        (
            "Version {schema_version} of the submission form is not one that we accept.",
            "{box} is empty: it asks for the {field}.",
            "Nothing is ticked in {choice}: it asks for the {field}.",
            "The {field} on page {page} is not filled in.",
            "We found no {field} in this {type}.",
            "A required entry is missing from this {type}.",
        ),
        (
            "We accept the versions {supported}.",
            "The {type} counts only when its required entries are there.",
        ),
        (
            "Use version {latest} and send the document again.",
            "Fill in {box}, with “None” where there is nothing to name, and upload the form again.",
            "Tick what applies in {choice}, and upload the form again.",
            "Add the {field} and upload the document again.",
            "Add what is missing and upload the document again.",
        ),
        (
            "Look at {box}: is it filled in?",
            "Look at {choice}: is nothing ticked there?",
            "Look at page {page}: is the {field} there?",
            "Look for the {field} on the document.",
            "Look for the entry that is missing.",
        ),
    ),
    "SIGNATURE_BROKEN": Copy(
        "The digital signature does not match",
        (
            "The file was changed after {signer} signed it: the digital signature does not match.",
            "The file was changed after it was signed: the digital signature does not match.",
        ),
        ("A digital signature counts for the exact file that was signed.",),
        (
            "Upload the file as it was signed, or ask {signer} to sign it again.",
            "Upload the file as it was signed, or ask the signer to sign it again.",
        ),
        ("Find out how the file was changed after it was signed.",),
    ),
    "SIGNATURE_PARTIAL": Copy(
        "The signature covers part of the file",
        (
            "The digital signature of {signer} covers only a part of the file.",
            "The digital signature covers only a part of the file.",
        ),
        ("What a signature does not cover can be changed without a trace.",),
        (
            "Ask {signer} to sign the whole file again, then upload it as it was signed.",
            "Ask the signer to sign the whole file again, then upload it as it was signed.",
        ),
        ("Look at which part of the file the signature covers.",),
    ),
    "SIGNATURE_EMPTY": Copy(
        "The signature field holds no signature",
        (
            "The signature field on page {page} looks filled in, but holds no signature.",
            "A signature field looks filled in, but holds no signature.",
        ),
        ("The {type} counts only with a signature that can be verified.",),
        ("Ask the signer to sign it again, then upload the file as it was signed.",),
        (
            "Look for another signature on page {page}.",
            "Look for another signature.",
        ),
    ),
    "SIGNATURE_OUTDATED": Copy(
        "Changed after it was signed",
        (
            "The file was changed after {signer} signed it.",
            "The file was changed after it was signed.",
        ),
        ("The signature does not cover what was added or changed after it.",),
        (
            "Upload the file as {signer} signed it.",
            "Upload the file as it was signed.",
        ),
        ("Compare the file with what was signed: what was added or changed?",),
    ),
    "SIGNATURE_UNVERIFIED": Copy(
        "The digital signature was not verified",
        (
            "Page {claimed} says that it is digitally signed; the file holds no such signature.",
            "The certificate of {signer} expired on {expired}; no time stamp shows earlier use.",
            "We could not verify the digital signature on page {page}.",
            "We could not verify the digital signature.",
        ),
        ("A digital signature counts only once it has been verified.",),
        ("Upload the file as it was signed, if you sent a copy of it.",),
        (
            "Look at the signature on page {page}, and at what is known of its certificate.",
            "Look at the signature, and at what is known of its certificate.",
        ),
    ),
    "SIGNATURE_WEAK": Copy(
        "The digital signature can be forged",
        (
            "{signer} signed with {weakness}, which can be forged.",
            "The digital signature was made in a way that can be forged.",
        ),
        ("A digital signature counts only if nobody else can make it.",),
        (
            "Ask {signer} to sign with a current certificate, then upload the file again.",
            "Ask the signer to sign with a current certificate, then upload the file again.",
        ),
        ("Find out why the signer used such a certificate.",),
    ),
    "SIGNATURE_CERTIFICATE_EXPIRED": Copy(
        "Signed with an expired certificate",
        (
            "{signer} signed on {signed} with a certificate of {valid_from} to {valid_until}.",
            "The certificate was not valid on the day of the signature.",
        ),
        ("A digital signature counts only if its certificate is valid when it is made.",),
        (
            "Ask {signer} to sign with a current certificate, then upload the file again.",
            "Ask the signer to sign with a current certificate, then upload the file again.",
        ),
        (
            "Compare the day of the signature, {signed}, with the certificate's days.",
            "Compare the day of the signature with the certificate's days.",
        ),
    ),
    "SIGNATURE_ISSUER_UNKNOWN": Copy(
        "Signed with a certificate we do not know",
        (
            "{signer} signed with a certificate of {issuer}, which is not a trusted issuer here.",
            "The certificate of the digital signature is not of a trusted issuer.",
        ),
        ("Anybody can make a certificate in any name.",),
        ("Do nothing if the certificate is right. If not, upload a file signed with another one.",),
        (
            "Find out whether {signer} has a certificate of {issuer}.",
            "Find out whether the signer has a certificate of this issuer.",
        ),
    ),
    "SIGNATURE_MISPLACED": Copy(
        "Signed, but not in the place for it",
        (
            "{signer} signed digitally, but not in the place for the signature on page {page}.",
            "The file is signed digitally, but not in the place for the signature.",
        ),
        (
            "The {type} has to be signed in {section}.",
            "The {type} has to be signed in the place that it has for it.",
        ),
        (
            "Ask {role} to sign in {section}, then upload the document again.",
            "Ask the signer to sign in the place for it, then upload the document again.",
        ),
        (
            "Look at where {signer} signed, and at the place for the signature on page {page}.",
            "Look at where it is signed, and at the place for the signature.",
        ),
    ),
    "SIGNER_MISMATCH": Copy(
        "Signed by another person",
        (
            "{signer} signed this {type}; we expected {expected}.",
            "{signer} signed this {type}, and is not named in it.",
            "The digital signature of this {type} does not say who signed.",
        ),
        ("The {type} counts only with the signature of the right person.",),
        (
            "Ask {expected} to sign it, then upload it again.",
            "Ask the right person to sign it, then upload it again.",
        ),
        (
            "Compare {signer}, who signed, with {expected}.",
            "Compare who signed with who has to sign.",
        ),
    ),
    "SIGNATURE_MISSING": Copy(
        "Not signed",
        ("Page {page} is not signed.", "This {type} is not signed."),
        (
            "The {type} counts only once {role} has signed it.",
            "The {type} counts only once it has been signed.",
        ),
        (
            "Ask {role} to sign and date {section}, scan the whole document, upload it again.",
            "Ask the signer to sign and date it, scan the whole document, upload it again.",
        ),
        (
            "Look for the signature on page {page}.",
            "Look for the signature.",
        ),
    ),
    "SIGNATURE_DATE_MISSING": Copy(
        "Signed, but not dated",
        ("The signature on page {page} has no date.", "The signature has no date."),
        ("We need to know when it was signed.",),
        (
            "Ask {role} to add the date beside the signature, then upload the document again.",
            "Ask the signer to add the date beside the signature, then upload it again.",
        ),
        (
            "Look for a date beside the signature on page {page}.",
            "Look for a date beside the signature.",
        ),
    ),
    "EXPIRED_DOCUMENT": Copy(
        "Expired",
        ("This {type} ran out on {expires}.", "This {type} has run out."),
        (
            "It is on file since {filed}; from now on the site needs one that still counts.",
            "It has to be valid on the day it is filed.",
        ),
        (
            "Upload the current one when there is one: study {study} files it until then.",
            "Upload the current one, or the renewal letter if its renewal is pending.",
        ),
        (
            "Compare the last day, {expires}, with the one that is printed on it.",
            "Compare its last day with the one that is printed on it.",
        ),
    ),
    "STALE_DOCUMENT": Copy(
        "Too old",
        (
            "This {type} is of {dated}; it may be at most {months} months old.",
            "This {type} is older than the study accepts.",
        ),
        ("It has to describe the state of things on the day it is filed.",),
        (
            "Upload a newer {type} when there is one: study {study} files it until then.",
            "Upload a newer {type} with a current date.",
        ),
        (
            "Compare its date, {dated}, with the one that is printed on it.",
            "Compare its date with the one that is printed on it.",
        ),
    ),
    "DATE_IN_FUTURE": Copy(
        "A date lies in the future",
        (
            "The {field} on page {page} is {date}, which lies in the future.",
            "The {field} is {date}, which lies in the future.",
            "A date in this {type} lies in the future.",
        ),
        ("We need to know when it really happened.",),
        (
            "Ask the signer to correct the {field}, then upload the document again.",
            "Ask the signer to correct the date, then upload the document again.",
        ),
        (
            "Look at the {field} on page {page}: was {date} read correctly?",
            "Look at the date: was it read correctly?",
        ),
    ),
    "DATE_INVALID": Copy(
        "A date does not exist",
        (
            "The {field} on page {page} reads {written}; there is no such day.",
            "The {field} reads {written}; there is no such day.",
            "A date in this {type} is a day that does not exist.",
        ),
        ("Dates decide how long the document counts.",),
        (
            "Ask the signer to correct the {field}, then upload the document again.",
            "Ask the signer to correct the date, then upload the document again.",
        ),
        (
            "Look at the {field} on page {page}: was {written} read correctly?",
            "Look at the date: was it read correctly?",
        ),
    ),
    "DATE_OUT_OF_SEQUENCE": Copy(
        "Two dates are the wrong way round",
        (
            "The {later} ({later_date}) comes before the {earlier} ({earlier_date}).",
            "Two dates in this {type} are the wrong way round.",
        ),
        ("The order of the dates shows that each step was taken in time.",),
        ("Check both dates, have the wrong one corrected, then upload the document again.",),
        ("Look at both dates: were they read correctly?",),
    ),
    "SITE_MISMATCH": Copy(
        "Names another site",
        (
            "This document names site {named}; it was sent for site {expected}.",
            "This document names another site than the one it was sent for.",
        ),
        ("Documents are filed under the site that is named on them.",),
        ("Check the file; if the site on it is wrong, have it corrected and upload it again.",),
        (
            "Compare site {named} on the document with site {expected}, for which it was sent.",
            "Compare the site on the document with the one for which it was sent.",
        ),
    ),
    "PROTOCOL_MISMATCH": Copy(
        "Names another protocol",
        (
            "The {one} names protocol {expected}; the {other} names {named}.",
            "This document names protocol {named}; the study's protocol is {expected}.",
            "This document names another protocol than the study's.",
        ),
        ("A document counts for the protocol that is named on it.",),
        (
            "Check both; upload the {other} or the {one} that belongs to this study.",
            "Check the file; if it belongs to another study, upload the right one here.",
        ),
        (
            "Compare the {one} with the {other}.",
            "Compare protocol {named} on the document with {expected}, the study's.",
            "Compare the protocol on the document with the study's.",
        ),
    ),
    "PROTOCOL_VERSION_MISMATCH": Copy(
        "Names another version",
        (
            "The {one} approves “{approved}”; the {other} is version {named}.",
            "The {one} names protocol version {expected}; the {other} names {named}.",
            "This document names protocol version {named}; the current one is {expected}.",
            "This document names another version of the protocol than the current one.",
        ),
        (
            "Participants may be given “{approved}”, and no other version.",
            "Approvals and signatures count for one version of the protocol.",
        ),
        (
            "Check which version is current, and upload the {other} or the {one} for it.",
            "Upload the {type} for the current version.",
        ),
        (
            "Compare the {one} with the {other}.",
            "Compare protocol version {named} on the document with {expected}.",
            "Compare the protocol version on the document with the current one.",
        ),
    ),
    "PERSON_MISMATCH": Copy(
        "Names another person",
        (
            "The {one} names {absent}; the {other} lists {listed}.",
            "The {one} names {expected}; the {other} names {named}.",
            "This document names {named}; it was sent for {expected}.",
            "This document names another person than the one it was sent for.",
        ),
        (
            "What {absent} does at the site has to be delegated on record.",
            "The documents of a site have to name the same people as the {one}.",
            "Each person's documents are filed under their own name.",
        ),
        (
            "Add {absent} to the {other} and upload it, or upload a corrected {one}.",
            "Check which name is right, and upload a corrected {other} or {one}.",
            "Check the file. Upload the right one, or correct the person.",
        ),
        (
            "Compare the {one} with the {other}.",
            "Compare {named} on the document with {expected}, for whom it was sent.",
            "Compare the names.",
        ),
    ),
    "PERSON_NOT_READ": Copy(
        "Whose document it is was not read",
        (
            "We may have misread whose {type} this is: “{read}”. It was sent for {expected}.",
            "We could not read whose {type} this is. It was sent for {expected}.",
            "We may have misread whose {type} this is: “{read}”.",
            "We could not read whose {type} this is.",
        ),
        ("Each person's documents are filed under their own name.",),
        ("Upload a sharper copy that shows the full name, or the right file.",),
        (
            "Compare “{read}”, as it was read, with {expected}, for whom it was sent.",
            "Look at the name on the document. It was sent for {expected}.",
            "Look at the name on the document.",
        ),
    ),
    "LAB_MISMATCH": Copy(
        "Names another laboratory",
        (
            "The {one} names the laboratory {expected}; the {other} names {named}.",
            "This document names the laboratory {named}; the packet names {expected}.",
            "This document names another laboratory than the rest of the packet.",
        ),
        ("Every laboratory of the site needs its own certificate and ranges.",),
        (
            "Upload the {other} of the laboratory on the {one}, or a corrected {one}.",
            "Check which laboratory is meant and upload the document that belongs to it.",
        ),
        (
            "Compare the {one} with the {other}.",
            "Compare the laboratories {named} and {expected}.",
            "Compare the laboratories.",
        ),
    ),
    "IRB_MISMATCH": Copy(
        "Names another IRB",
        (
            "The {one} names {expected}; the {other} names {named}.",
            "This document names {named}; the packet names {expected}.",
            "This document names another IRB than the rest of the packet.",
        ),
        ("The IRB that approved the study has to be the one named on the other forms.",),
        (
            "Check which IRB is responsible, and upload the {other} or the {one} that names it.",
            "Check which IRB is responsible and upload the document that names it.",
        ),
        (
            "Compare the {one} with the {other}.",
            "Compare {named} and {expected}: is it the same IRB?",
            "Compare the IRBs.",
        ),
    ),
    "OCR_LOW_CONFIDENCE": Copy(
        "Some words could not be read for certain",
        (
            "We could not read {what} on page {page} for certain.",
            "We could not find {what} for certain.",
            "We could not read all of this {type} for certain.",
        ),
        ("We do not decide on words that we may have misread.",),
        ("Upload a sharper scan at 300 dpi if you have one.",),
        (
            "Look at {what} on page {page}.",
            "Look at what could not be read for certain.",
        ),
    ),
    "EXPIRES_SOON": Copy(
        "Expires soon",
        (
            "This {type} runs out on {expires} (days left: {days}).",
            "This {type} runs out soon.",
        ),
        ("It is on file and counts until then.",),
        ("Upload the renewed one before that day.",),
        (
            "Compare the last day, {expires}, with the one that is printed on it.",
            "Compare its last day with the one that is printed on it.",
        ),
    ),
    "FORM_EDITION_OUTDATED": Copy(
        "Older edition of the form",
        (
            "The OMB date printed on this form ({printed}) has passed.",
            "The OMB date printed on this form has passed.",
        ),
        ("FDA accepts forms with a passed OMB date: it is not the form's own expiry.",),
        ("Do nothing: the form counts as it is.",),
        ("Nothing has to be decided: the form counts as it is.",),
    ),
    "PACKET_INCOMPLETE": Copy(
        "Documents are still missing",
        (
            "The {one} names {absent}, whose {lacking} is not on file.",
            "This packet still lacks: {missing}.",
            "This packet still lacks documents.",
        ),
        ("The site can start once every required document is on file.",),
        (
            "Upload the {lacking} of {absent}, or a corrected {one} if the name is wrong.",
            "Upload what is missing; what is already on file stays there.",
        ),
        (
            "Compare the {one} with what is on file for {absent}.",
            "Compare the site's documents with the list of those that are required.",
        ),
    ),
    "QA_REJECTED": Copy(
        "Returned by QA",
        ("QA returned this {type}: {note}", "QA returned this {type}."),
        ("A person looked at it and found something that the site has to correct.",),
        ("Read the note, correct the document, then upload it again.",),
        ("Read the note; the decision has its reason and its signature.",),
    ),
}

# For the codes of a version that is no longer here.
UNKNOWN = Copy(
    "A finding of an older version",
    ("A check of an older version found something in this {type}.",),
    ("Its wording is no longer on record here.",),
    ("Do nothing, unless the document came back. Then upload it again.",),
    ("Compare the document with what its record says.",),
)
