import ast
import re
import subprocess
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import ingestion
from audit import translation
from audit.management.commands import makemessages
from ingestion.core.errors import TransientError
from ingestion.rules.checks.check_input import make_entry_facts
from ingestion.rules.codes import (
    CODES,
    Disposition,
    FindingCategory,
    FindingCode,
    FindingOwner,
    select_codes,
    sort_key,
)
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import (
    add_article,
    describe_attributes,
    format_grouped_sentences,
    format_sentences,
    get_short_text,
    list_placeholders,
)
from ingestion.rules.findings import RuleFinding
from ingestion.rules.messages import MESSAGES, PageWording

PROGRAM = Path(ingestion.__file__).parent

RULES = sorted(path.relative_to(PROGRAM) for path in (PROGRAM / "rules").glob("*/*.py"))
READERS = sorted(path.relative_to(PROGRAM) for path in (PROGRAM / "reading" / "pdf").glob("*.py"))

DOMAIN = {
    "DOWNLOAD_FAILED",
    "PORTAL_UNAVAILABLE",
    "PORTAL_NOT_APPROVED",
    "PORTAL_MISCONFIGURED",
    "STORAGE_UNAVAILABLE",
    "DUPLICATE_CONTENT",
    "EMPTY_FILE",
    "FILE_TOO_LARGE",
    "UNSUPPORTED_TYPE",
    "DYNAMIC_XFA_FORM",
    "TYPE_MISMATCH",
    "CHECKSUM_MISMATCH",
    "MALWARE_SUSPECTED",
    "ACTIVE_CONTENT",
    "ENCRYPTED_DOCUMENT",
    "CORRUPT_DOCUMENT",
    "PARSER_FAILURE",
    "CONVERSION_FAILED",
    "CONTAINER_REFUSED",
    "ENTRY_IN_DOUBT",
    "OCR_LOW_CONFIDENCE",
    "ILLEGIBLE_SCAN",
    "MULTIPLE_DOCUMENTS",
    "BLANK_OR_MISSING_PAGE",
    "FORM_PAGES_MIXED",
    "SCHEMA_MISMATCH",
    "DOC_TYPE_UNRECOGNIZED",
    "DOC_TYPE_CONFLICT",
    "SIGNATURE_BROKEN",
    "SIGNATURE_PARTIAL",
    "SIGNATURE_EMPTY",
    "SIGNATURE_OUTDATED",
    "SIGNATURE_UNVERIFIED",
    "SIGNATURE_WEAK",
    "SIGNATURE_CERTIFICATE_EXPIRED",
    "SIGNATURE_ISSUER_UNKNOWN",
    "SIGNATURE_MISPLACED",
    "SIGNER_MISMATCH",
    "SIGNATURE_MISSING",
    "SIGNATURE_DATE_MISSING",
    "DATE_INVALID",
    "DATE_IN_FUTURE",
    "DATE_OUT_OF_SEQUENCE",
    "EXPIRED_DOCUMENT",
    "STALE_DOCUMENT",
    "EXPIRES_SOON",
    "FORM_EDITION_OUTDATED",
    "FORM_NOT_REGISTERED",
    "PROTOCOL_MISMATCH",
    "PROTOCOL_VERSION_MISMATCH",
    "SITE_MISMATCH",
    "PERSON_MISMATCH",
    "VERSION_MISMATCH",
    "LANGUAGE_DIFFERS",
    "PERSON_NOT_READ",
    "LAB_MISMATCH",
    "VALUE_IN_DOUBT",
    "VALUE_NEARLY_MATCHES",
    "IRB_MISMATCH",
    "PHI_SUSPECTED",
    "NOT_FINAL",
    "UNFILLED_TEMPLATE",
    "BLANK_FORM",
    "STAMPED_VOID",
    "STAMPED_SUPERSEDED",
    "STAMPED_DRAFT",
    "STAMPED_COPY",
    "STAMPED_RECEIVED",
    "TEXT_COVERED",
    "TEXT_STRUCK_OUT",
    "TEXT_CORRECTED",
    "PACKET_INCOMPLETE",
    "QA_REJECTED",
}
OURS = {
    "SCANNER_UNAVAILABLE",
    "CONVERTER_UNAVAILABLE",
    "CAPACITY",
    "LANGUAGE_NOT_INSTALLED",
    "INTERNAL_ERROR",
    "POISON",
}
HELD = {
    "PORTAL_UNAVAILABLE",
    "PORTAL_NOT_APPROVED",
    "PORTAL_MISCONFIGURED",
    "STORAGE_UNAVAILABLE",
    *OURS,
}
BLAME = re.compile(
    r"\b(invalid|you failed|your fault|your mistake|wrongly|please)\b", re.IGNORECASE
)
VERBS = {
    "add",
    "ask",
    "change",
    "check",
    "choose",
    "correct",
    "do",
    "fill",
    "leave",
    "open",
    "print",
    "read",
    "save",
    "scan",
    "send",
    "tick",
    "upload",
    "use",
    "wait",
}


def texts(wording):
    """Return the texts of a wording; a wording about pages has two."""
    return (wording.one, wording.many) if isinstance(wording, PageWording) else (wording,)


def test_the_registry_contains_the_whole_taxonomy():
    assert set(CODES) == DOMAIN | HELD


def test_a_code_without_an_attribute_cannot_be_defined():
    attributes = {"category", "severity", "disposition", "owner", "is_retryable"}
    required = {each.name for each in fields(FindingCode) if each.default is MISSING}
    assert required == {"code"} | attributes


def test_the_owner_of_a_code_can_do_what_its_disposition_requires():
    owners = {
        Disposition.HOLD: {FindingOwner.OPERATIONS, FindingOwner.PORTAL},
        Disposition.REJECT: {FindingOwner.SITE, FindingOwner.PORTAL},
        Disposition.REVIEW: {FindingOwner.QA, FindingOwner.SPONSOR},
    }
    for code, entry in CODES.items():
        assert entry.owner in owners.get(entry.disposition, set(FindingOwner)), code
    assert {entry.owner for entry in CODES.values()} == set(FindingOwner)


def test_the_codes_that_can_be_retried_are_those_of_held_documents_and_downloads():
    downloads = {error.code for error in TransientError.__subclasses__()} | {TransientError.code}
    assert set(select_codes(retryable=True)) == HELD | downloads


def test_faults_outside_of_the_document_have_a_category_of_their_own():
    outside = {FindingCategory.INFRASTRUCTURE, FindingCategory.TRANSPORT}
    assert {code for code in CODES if CODES[code].category in outside} == HELD | {"DOWNLOAD_FAILED"}


def test_codes_are_selected_by_all_given_attributes():
    assert select_codes() == list(CODES)
    chosen = select_codes(owner="qa", severity="minor")
    assert chosen == ["VALUE_IN_DOUBT", "OCR_LOW_CONFIDENCE"]
    assert select_codes(category="privacy", owner="site") == []


def test_the_page_about_finding_codes_lists_all_codes_as_they_are():
    program = PROGRAM.parent / "scripts" / "finding-codes"
    done = subprocess.run([program, "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_attribute_has_a_label():
    for code in CODES:
        known = describe_attributes(code)
        assert all((known.category, known.severity, known.owner, known.retry)), code
    assert describe_attributes("NO_LONGER_A_CODE") is None


def test_every_code_is_used_in_the_product():
    """The code occurs in the product outside of the registry and the messages."""
    files = [path for path in PROGRAM.rglob("*.py") if path.name not in {"codes.py", "messages.py"}]
    result = {
        node.value
        for path in files
        if not {"samples", "migrations", "web", "admin"} & set(path.parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(CODES) - result == set()


def test_codes_and_messages_correspond():
    assert set(MESSAGES) == set(CODES)


def test_every_wording_is_a_plain_sentence():
    for code in CODES:
        parts = (*MESSAGES[code].parts, MESSAGES[code].check)
        for wording in (text for part in parts for each in part for text in texts(each)):
            assert wording[-1] in ".}?", code
            assert not BLAME.search(wording), code
            assert len(wording) < 140, code


def test_the_last_wording_of_a_part_needs_nothing_but_the_type():
    for code in CODES:
        parts = (*MESSAGES[code].parts, MESSAGES[code].check)
        assert all(list_placeholders(part[-1]) <= {"type"} for part in parts), code


def test_the_advice_for_sites_starts_with_a_verb():
    for code in CODES:
        for wording in (text for each in MESSAGES[code].do for text in texts(each)):
            assert wording.split()[0].casefold().strip(":") in VERBS, code


def test_the_short_reason_fits_a_line_of_a_table():
    for code in CODES:
        assert 4 < len(get_short_text(code)) <= 45, code
        assert not get_short_text(code).endswith("."), code


def test_documents_are_held_only_for_problems_of_ours_or_of_the_portal():
    held = {code for code, entry in CODES.items() if entry.disposition is Disposition.HOLD}
    assert held == HELD


@pytest.mark.parametrize("code", sorted(HELD - {"POISON"}))
def test_the_message_of_a_held_document_says_that_nothing_is_wrong_with_it(code):
    assert "othing is wrong with the document" in format_sentences(code, {}).why


def test_only_dangerous_or_private_content_is_quarantined():
    withheld = {code for code, entry in CODES.items() if entry.quarantine}
    assert withheld == {"MALWARE_SUSPECTED", "PHI_SUSPECTED", "ACTIVE_CONTENT"}
    assert all(CODES[code].disposition is Disposition.REVIEW for code in withheld)


def test_documents_with_mismatches_or_missing_pages_are_reviewed():
    for code in (*(code for code in CODES if code.endswith("_MISMATCH")), "BLANK_OR_MISSING_PAGE"):
        if code not in {"TYPE_MISMATCH", "CHECKSUM_MISMATCH", "SCHEMA_MISMATCH"}:
            assert CODES[code].disposition is Disposition.REVIEW


def test_a_passed_omb_date_is_only_a_remark():
    assert CODES["FORM_EDITION_OUTDATED"].disposition is Disposition.WARN


def test_rejections_sort_before_reviews_and_warnings():
    assert sort_key("STALE_DOCUMENT") < sort_key("ACTIVE_CONTENT") < sort_key("EXPIRES_SOON")


def test_dates_in_sentences_have_month_names():
    result = format_sentences(
        "EXPIRED_DOCUMENT", {"expires": "2026-03-12"}, type_name="Medical licence"
    )
    assert result.what == "This medical licence expired on 12 March 2026."


def test_a_number_that_looks_like_a_date_stays_a_number():
    result = format_sentences("SITE_MISMATCH", {"named": "20260312", "expected": 20260313})
    assert result.what == "This document names site 20260312, but it was sent for site 20260313."


def test_old_findings_without_facts_can_always_be_shown():
    for code in CODES:
        for for_staff in (False, True):
            result = format_sentences(code, {}, for_staff=for_staff)
            assert all("{" not in text for text in (result.what, result.why, result.do)), code


def test_a_code_that_is_no_longer_known_has_a_message():
    assert format_sentences("NO_LONGER_A_CODE", {"page": 2}, type_name="CV").what.endswith(
        "this CV."
    )


def test_page_0_stands_for_the_whole_document():
    assert format_sentences("SIGNATURE_MISSING", {"page": 0}).what == "This document is not signed."


def test_every_type_has_a_noun_within_sentences():
    for kind in TYPES.values():
        result = format_sentences("EXPIRED_DOCUMENT", {}, type_name=kind.name)
        assert result.what == f"This {kind.noun} has expired."


def test_staff_read_what_to_check_and_no_advice_for_sites():
    for code in CODES:
        facts = {"page": 2, "named": "A", "expected": "B", "also": "cv"}
        site, staff = format_sentences(code, facts), format_sentences(code, facts, for_staff=True)
        assert (site.what, site.why) == (staff.what, staff.why), code
        assert staff.do != site.do, code
        assert "Compare the finding with the document." not in MESSAGES[code].check, (
            f"{code}: say what"
        )
        assert not re.search(
            r"\bupload|\bscan |\bleave it with us|\bwait", staff.do, re.IGNORECASE
        ), code


FACTS = {
    name
    for message in MESSAGES.values()
    for part in (*message.parts, message.check)
    for wording in part
    for name in list_placeholders(wording)
}


def found_on(*pages, **facts):
    return [RuleFinding("PHI_SUSPECTED", page, {**facts, "page": page}) for page in pages]


@pytest.mark.parametrize(
    ("pages", "what", "do"),
    [
        ([3], "Page 3 seems to contain", "Check page 3. If it contains"),
        ([3, 7], "2 pages seem to contain", "Check pages 3, 7. If they contain"),
        ([7, 4, 3, 5, 9], "5 pages seem to contain", "Check pages 3-5, 7, 9. If they contain"),
    ],
)
def test_a_sentence_is_about_one_page_or_lists_several(pages, what, do):
    result = format_grouped_sentences("PHI_SUSPECTED", found_on(*pages))
    listed = ": 3, 7" if len(pages) == 2 else ": 3-5, 7, 9" if len(pages) > 2 else ""
    assert result.what == f"{what} details of a study participant{listed}."
    assert result.do == f"{do} such details, upload a copy without them."


def test_staff_read_which_pages_to_look_at():
    result = format_grouped_sentences("PHI_SUSPECTED", found_on(3, 7), for_staff=True)
    assert result.do == (
        "Look at the marked places on pages 3, 7. Do they name a study participant?"
    )


def test_a_sentence_that_names_no_page_is_followed_by_the_pages_of_its_findings():
    found = [
        RuleFinding("SITE_MISMATCH", page, {"named": "0417", "expected": "0203"}) for page in (2, 5)
    ]
    result = "This document names site 0417, but it was sent for site 0203."
    assert format_grouped_sentences("SITE_MISMATCH", found[:1]).what == f"{result} See page 2."
    assert format_grouped_sentences("SITE_MISMATCH", found).what == f"{result} See pages 2, 5."


def test_a_site_need_not_scan_again_because_of_a_signature_or_a_value_that_qa_confirms():
    signature = {"what": "the signature", "unseen": "the signature"}
    value = {"field": "approval date", "read": "2026-05-03"}
    assert format_sentences("OCR_LOW_CONFIDENCE", signature).do == (
        "Do nothing if the signature is on the document. If not, upload the signed document."
    )
    assert format_sentences("VALUE_IN_DOUBT", value).do.startswith("Do nothing if the approval")


def test_findings_with_different_facts_are_not_merged():
    found = [
        RuleFinding("SCHEMA_MISMATCH", 1, {"box": f"box {box}", "field": field, "page": 1})
        for box, field in ((3, "research facilities"), (4, "clinical laboratories"))
    ]
    result = format_grouped_sentences("SCHEMA_MISMATCH", found, type_name="Form FDA 1572")
    assert "Box 3 is empty" in result.what
    assert "Box 4 is empty" in result.what
    assert result.what.count("See page 1.") == 1
    assert result.why == "The Form FDA 1572 is accepted only with all required entries."
    assert result.do == (
        "Fill in box 3. Fill in box 4. If there is nothing to name, write “None”. "
        "Upload the form again."
    )


def test_old_findings_without_facts_can_always_be_grouped():
    for code in CODES:
        for page in (0, 2):
            result = format_grouped_sentences(
                code, [RuleFinding(code, page), RuleFinding(code, page + 1)]
            )
            assert all("{" not in text for text in (result.what, result.why, result.do)), code


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("IRB approval", "an IRB approval"),
        ("CV", "a CV"),
        ("Form FDA 1572", "a Form FDA 1572"),
        ("RCR certificate", "an RCR certificate"),
        ("GCP certificate", "a GCP certificate"),
        (
            "acceptance of the investigator's brochure",
            "an acceptance of the investigator's brochure",
        ),
    ],
)
def test_nouns_have_the_article_of_their_first_sound(noun, expected):
    assert add_article(noun) == expected


def test_a_conflict_of_types_names_both_types_within_its_sentence():
    facts = {"detected": "IRB approval", "declared": "Medical licence"}
    result = format_sentences("DOC_TYPE_CONFLICT", facts).what
    assert result == "This is an IRB approval, not a medical licence."
    result = format_sentences("DOC_TYPE_UNRECOGNIZED", {"declared": "CV"}).what
    assert result == "This does not look like a CV."
    facts = {"resembled": "participant information sheet", "declared": "Informed consent form"}
    result = format_sentences("DOC_TYPE_UNRECOGNIZED", facts)
    assert result.what == "This is a participant information sheet, not an informed consent form."
    assert result.do.startswith("Upload an informed consent form.")


@pytest.mark.parametrize(
    ("detected", "sentence"),
    [
        (
            "irb-changes-requested",
            "This is an ethics committee's request for changes, not an IRB approval.",
        ),
        ("irb-disapproval", "This is an ethics committee's disapproval, not an IRB approval."),
        (
            "rcr-certificate",
            (
                "This is a certificate of a course on the responsible conduct of research, "
                "not an IRB approval."
            ),
        ),
    ],
)
def test_a_conflict_says_what_the_document_is(detected, sentence):
    facts = {"detected": TYPES[detected].name, "declared": TYPES["irb-approval"].name}
    result = format_sentences("DOC_TYPE_CONFLICT", facts)
    assert (result.what, result.why) == (sentence, "It cannot take the place of an IRB approval.")


def test_messages_are_translated_when_they_are_shown(monkeypatch):
    monkeypatch.setattr(
        translation,
        "_translation",
        translation._Translation(str.upper, lambda one, many, count: f"{count} {{pages}}"),
    )
    assert get_short_text("PHI_SUSPECTED") == "MAY NAME A STUDY PARTICIPANT"
    assert format_grouped_sentences("PHI_SUSPECTED", found_on(3, 7)).what == "2 3, 7"


def test_makemessages_finds_wordings_about_pages():
    assert "--keyword=page_wording:1,2" in makemessages.Command.xgettext_options


def test_words_and_months_among_the_facts_are_translated(monkeypatch):
    words = {
        "the signature": "die Unterschrift",
        "May": "Mai",
        "{others} and {last}": "{others} und {last}",
        "scripts": "Skripte",
        "the digest {digest}": "der Prüfsumme {digest}",
    }
    monkeypatch.setattr(translation._translation, "gettext", lambda text: words.get(text, text))
    assert (
        "die Unterschrift" in format_sentences("OCR_LOW_CONFIDENCE", {"what": "the signature"}).what
    )
    assert "2 Mai 2026" in format_sentences("EXPIRED_DOCUMENT", {"expires": "2026-05-02"}).what
    kinds = {"kinds": "javascript launch embedded-file"}
    listed = "Skripte, a command that starts a program und attached files"
    assert listed in format_sentences("ACTIVE_CONTENT", kinds).what
    weak = {"signer": "Ana Ruiz", "weakness": "the digest {digest}", "digest": "MD5"}
    assert (
        "Ana Ruiz signed with der Prüfsumme MD5." in format_sentences("SIGNATURE_WEAK", weak).what
    )


QUOTED = [
    ("TEXT_STRUCK_OUT", "struck", "Received"),
    ("TEXT_STRUCK_OUT", "struck", "2026-03-12"),
    ("STAMPED_DRAFT", "stamp", "Received"),
    ("NOT_FINAL", "phrase", "Received"),
    ("UNFILLED_TEMPLATE", "placeholder", "Received"),
    ("PERSON_MISMATCH", "named", "May"),
    ("PERSON_MISMATCH", "expected", "May"),
    ("PERSON_NOT_READ", "read", "May"),
    ("VALUE_NEARLY_MATCHES", "registered", "May"),
    ("VALUE_IN_DOUBT", "second", "May"),
    ("SIGNATURE_ISSUER_UNKNOWN", "signer", "May"),
    ("SIGNATURE_ISSUER_UNKNOWN", "issuer", "Received"),
    ("TYPE_MISMATCH", "declared", "Received"),
    ("DATE_INVALID", "written", "May"),
    ("DATE_INVALID", "written", "2026-02-30"),
    ("QA_REJECTED", "note", "Expired"),
]


@pytest.mark.parametrize(("code", "name", "value"), QUOTED)
def test_a_quotation_is_never_changed(monkeypatch, code, name, value):
    words = {"Received": "Eingegangen", "May": "Mai", "Expired": "Abgelaufen", "March": "März"}
    monkeypatch.setattr(translation._translation, "gettext", lambda text: words.get(text, text))
    wording = next(each for each in MESSAGES[code].what if name in list_placeholders(each))
    facts = {**dict.fromkeys(list_placeholders(wording), "X"), "page": 1, name: value}
    assert value in format_sentences(code, facts).what


def test_document_types_have_the_names_of_a_catalogue(monkeypatch):
    words = {
        "IRB approval": "Ethikvotum",
        "medical licence": "Approbation",
        "an {noun}": "{noun}",
        "a {noun}": "{noun}",
    }
    monkeypatch.setattr(translation._translation, "gettext", lambda text: words.get(text, text))
    facts = {"detected": "IRB approval", "declared": "Medical licence"}
    what = format_sentences("DOC_TYPE_CONFLICT", facts).what
    assert what == "This is Ethikvotum, not Approbation."
    assert format_sentences("EXPIRED_DOCUMENT", {}, type_name="Medical licence").what == (
        "This Approbation has expired."
    )
    documents = {"documents": "irb-approval:1-1 medical-licence:2-3"}
    what = format_sentences("MULTIPLE_DOCUMENTS", documents).what
    assert "Ethikvotum on page 1; Approbation on pages 2 to 3" in what


def test_a_phrase_among_the_facts_is_translated_before_it_is_filled_in(monkeypatch):
    words = {
        "the struck-out entry in {box} ({field})": "den gestrichenen Eintrag ({field}, {box})",
        "box {number}": "Feld {number}",
    }
    monkeypatch.setattr(translation._translation, "gettext", lambda text: words.get(text, text))
    facts = {**make_entry_facts("laboratory", "5", is_struck_out=True), "page": 1}
    what = "We could not read den gestrichenen Eintrag (laboratory, Feld 5) on page 1"
    assert format_sentences("OCR_LOW_CONFIDENCE", facts).what == f"{what} with certainty."


def test_a_phrase_that_an_earlier_release_stored_is_shown_as_it_is():
    facts = {"what": "the struck-out entry in box 5 (laboratory)", "page": 1}
    what = "We could not read the struck-out entry in box 5 (laboratory) on page 1 with certainty."
    assert format_sentences("OCR_LOW_CONFIDENCE", facts).what == what


def test_a_fact_from_the_file_is_no_phrase():
    facts = {"placeholder": "{page}", "page": 3}
    what = format_sentences("UNFILLED_TEMPLATE", facts).what
    assert what == "This is a template: page 3 still says “{page}”."


def test_active_content_that_an_earlier_release_stored_is_shown_as_it_is():
    what = format_sentences("ACTIVE_CONTENT", {"kinds": "scripts and attached files"}).what
    assert what == "The file contains scripts and attached files."


def test_every_word_that_a_rule_stores_as_a_fact_is_marked_for_translation():
    """A fact is a single value, or a phrase within `_()` that names other facts in braces."""
    for path in (*RULES, *READERS):
        for node in ast.walk(ast.parse((PROGRAM / path).read_text())):
            if not isinstance(node, ast.Dict):
                continue
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in FACTS:
                    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
                    is_unmarked = isinstance(value, ast.JoinedStr) or (is_text and value.value)
                    assert not is_unmarked, f"{path}:{value.lineno}: {ast.unparse(value)}"


@pytest.mark.parametrize("path", ["reading/pdf/file_type.py", "reading/pdf/signature_policy.py"])
def test_every_description_that_a_reader_returns_is_marked_for_translation(path):
    """Descriptions begin with an article: "a web page", "the digest {digest}"."""
    tree = ast.parse((PROGRAM / path).read_text())
    marked = {
        id(part)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "_"
        for part in call.args
    }
    # The reasons of pyHanko's policy are for programs.
    unread = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.keyword)}
    descriptions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and re.match(r"(an?|the) ", str(node.value))
    ]
    assert any(id(node) in marked for node in descriptions)
    unmarked = [node.value for node in descriptions if id(node) not in marked | unread]
    assert unmarked == []


def test_documents_that_an_earlier_release_named_are_shown_as_it_named_them():
    facts = {"documents": "CV on page 1; IRB approval on page 2"}
    assert (
        "CV on page 1; IRB approval on page 2."
        in format_sentences("MULTIPLE_DOCUMENTS", facts).what
    )


def test_a_sentence_lists_at_most_twelve_documents():
    facts = {"documents": " ".join(f"cv:{page}-{page}" for page in range(1, 15))}
    sentence = format_sentences("MULTIPLE_DOCUMENTS", facts).what
    assert sentence.endswith("CV on page 11; CV on page 12; and 2 more.")
