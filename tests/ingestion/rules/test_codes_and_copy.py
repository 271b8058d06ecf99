import ast
import re
from pathlib import Path

import pytest

import ingestion
from ingestion.rules.codes import CODES, Disposition, weight
from ingestion.rules.document_types import TYPES
from ingestion.rules.finding_texts import placeholders, reason, sentences
from ingestion.rules.messages import COPY, Copy

PROGRAM = Path(ingestion.__file__).parent

DOMAIN = {
    "DOWNLOAD_FAILED",
    "PORTAL_UNAVAILABLE",
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
    "OCR_LOW_CONFIDENCE",
    "ILLEGIBLE_SCAN",
    "MULTIPLE_DOCUMENTS",
    "BLANK_OR_MISSING_PAGE",
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
    "PROTOCOL_MISMATCH",
    "PROTOCOL_VERSION_MISMATCH",
    "SITE_MISMATCH",
    "PERSON_MISMATCH",
    "PERSON_NOT_READ",
    "LAB_MISMATCH",
    "IRB_MISMATCH",
    "PHI_SUSPECTED",
    "PACKET_INCOMPLETE",
    "QA_REJECTED",
}
OURS = {"SCANNER_UNAVAILABLE", "CAPACITY", "INTERNAL_ERROR", "POISON"}
HELD = {"PORTAL_UNAVAILABLE", "STORAGE_UNAVAILABLE", *OURS}
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

every_code = pytest.mark.parametrize("code", CODES)


def test_the_registry_holds_the_whole_taxonomy():
    assert set(CODES) == DOMAIN | HELD


def test_every_code_is_given_by_some_stage():
    """Its name stands in the program outside of the registry and the copy."""
    files = [path for path in PROGRAM.rglob("*.py") if path.name not in {"codes.py", "copy.py"}]
    said = {
        node.value
        for path in files
        if not {"samples", "migrations", "web", "admin"} & set(path.parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(CODES) - said == set()


def test_every_code_has_its_sentences_and_no_sentence_lacks_a_code():
    assert set(COPY) == set(CODES)


@every_code
def test_every_wording_is_a_plain_sentence(code):
    for wording in (text for part in (*COPY[code].parts, COPY[code].check) for text in part):
        assert wording[-1] in ".}?"
        assert not BLAME.search(wording)
        assert len(wording) < 140


@every_code
def test_the_last_wording_of_a_part_needs_nothing_but_the_type(code):
    parts = (*COPY[code].parts, COPY[code].check)
    assert all(placeholders(part[-1]) <= {"type"} for part in parts)


@every_code
def test_what_to_do_starts_with_a_verb(code):
    for wording in COPY[code].do:
        assert wording.split()[0].casefold().strip(":") in VERBS


@every_code
def test_the_short_reason_fits_a_line_of_a_table(code):
    assert 4 < len(reason(code)) <= 45
    assert not reason(code).endswith(".")


def test_what_is_held_is_nobodys_fault_but_ours_or_the_portals():
    held = {code for code, entry in CODES.items() if entry.disposition is Disposition.HOLD}
    assert held == HELD


@pytest.mark.parametrize("code", sorted(HELD - {"POISON"}))
def test_a_held_document_is_said_to_have_nothing_wrong_with_it(code):
    assert "othing is wrong with the document" in sentences(code, {}).why


def test_only_what_may_be_dangerous_is_quarantined():
    withheld = {code for code, entry in CODES.items() if entry.quarantine}
    assert withheld == {"MALWARE_SUSPECTED", "PHI_SUSPECTED", "ACTIVE_CONTENT"}
    assert all(CODES[code].disposition is Disposition.REVIEW for code in withheld)


def test_mismatches_and_missing_pages_go_to_a_person():
    for code in (*(code for code in CODES if code.endswith("_MISMATCH")), "BLANK_OR_MISSING_PAGE"):
        if code not in {"TYPE_MISMATCH", "CHECKSUM_MISMATCH", "SCHEMA_MISMATCH"}:
            assert CODES[code].disposition is Disposition.REVIEW


def test_a_passed_omb_date_is_never_more_than_a_remark():
    assert CODES["FORM_EDITION_OUTDATED"].disposition is Disposition.WARN


def test_what_rejects_weighs_more_than_what_asks_for_a_look():
    assert weight("STALE_DOCUMENT") < weight("ACTIVE_CONTENT") < weight("EXPIRES_SOON")


def test_dates_are_shown_as_people_write_them():
    said = sentences("EXPIRED_DOCUMENT", {"expires": "2026-03-12"}, type_name="Medical licence")
    assert said.what == "This medical licence ran out on 12 March 2026."


def test_a_number_that_looks_like_a_date_stays_a_number():
    said = sentences("SITE_MISMATCH", {"named": "20260312", "expected": 20260313})
    assert said.what == "This document names site 20260312; it was sent for site 20260313."


@every_code
def test_old_findings_without_facts_can_always_be_shown(code):
    for for_staff in (False, True):
        said = sentences(code, {}, for_staff=for_staff)
        assert all("{" not in text for text in (said.what, said.why, said.do))


def test_a_code_that_is_no_longer_known_can_be_shown():
    assert sentences("NO_LONGER_A_CODE", {"page": 2}, type_name="CV").what.endswith("this CV.")


def test_page_0_is_the_whole_document_and_not_a_page():
    assert sentences("SIGNATURE_MISSING", {"page": 0}).what == "This document is not signed."


def test_every_type_reads_well_within_a_sentence():
    for kind in TYPES.values():
        said = sentences("EXPIRED_DOCUMENT", {}, type_name=kind.name)
        assert said.what == f"This {kind.noun} has run out."


@every_code
def test_staff_read_what_to_check_and_no_advice_that_is_meant_for_sites(code):
    facts = {"page": 2, "named": "A", "expected": "B", "also": "cv"}
    site, staff = sentences(code, facts), sentences(code, facts, for_staff=True)
    assert (site.what, site.why) == (staff.what, staff.why)
    assert staff.do != site.do
    assert COPY[code].check != Copy("", (), (), ()).check, "each code has a sentence of its own"
    assert not re.search(r"\bupload|\bscan |\bleave it with us|\bwait", staff.do, re.IGNORECASE)
