"""The validation of digital signatures: sound ones, and files that were changed after signing.

Each is read and checked as a protocol signature page, in this process.
"""

import io
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pikepdf
import pytest
from pyhanko.pdf_utils import generic
from pyhanko.sign.fields import MDPPerm, SigFieldSpec, append_signature_field
from reportlab.pdfgen.canvas import Canvas

from ingestion.core.errors import ReadingFault
from ingestion.core.states import DocumentState
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.pdf.digital_signatures import MAX_SIGNATURES
from ingestion.reading.pdf.trusted_issuers import TrustedIssuersError, read_issuers
from ingestion.reading.processes.pool import Reader
from ingestion.reading.results import Box, SignatureResult
from ingestion.rules.checks.check_input import SenderFacts, SiteFacts
from ingestion.rules.checks.verdict import check
from ingestion.rules.finding_texts import format_sentences
from samples.documents import make_sample
from samples.faults import DocumentFault
from samples.people_and_sites import get_sample_site
from tests.ingestion.reading import hostile
from tests.ingestion.reading.documents import (
    encrypt,
    make_pdf,
    make_scan,
    read,
    render,
    rewrite,
    save,
)
from tests.ingestion.reading.signing import (
    BYTE_RANGE,
    ELSEWHERE,
    PLACE,
    PROTOCOL_PAGE,
    add_false_signature,
    fill_in,
    make_authority,
    make_form_page,
    make_person,
    make_protocol_page,
    sign,
    sign_other_ranges,
    signature_gap,
    update,
    write_trusted_issuers,
)
from tests.marks import slower

SITE = SiteFacts("0203", protocol_number="SLX-301", protocol_version="3.0")
EMPTY, UNCHECKED, BROKEN, PARTIAL, CHANGED, WEAK, OUT_OF_DATE, UNKNOWN, TRUSTED = SignatureResult


@pytest.fixture
def limits(tmp_path):
    return ReadingLimits(trusted_issuers=write_trusted_issuers(tmp_path, make_authority()))


@pytest.fixture
def read_and_check(tmp_path, limits):
    """Return a function from a file to its reading and the verdict on it."""

    def read_and_check(content, *, slug="protocol-signature-page", today=None, limits=limits):
        reading = read(save(tmp_path, content), limits)
        day = today or datetime.now(UTC).date()
        return reading, check(reading, SenderFacts("v2.1", slug), site=SITE, today=day)

    return read_and_check


def results(reading):
    return [each.result for each in reading.signatures]


def codes(verdict):
    return sorted({finding.code for finding in verdict.findings})


# Sound signatures.


def by_the_investigator():
    return sign(make_protocol_page())


def through_an_intermediate_authority():
    return sign(
        make_protocol_page(), make_person(issuer="Selanex Staff CA", above="Selanex Signing CA")
    )


def in_an_encrypted_file():
    return sign(encrypt(make_protocol_page(), user=""))


def twice_each_in_its_place():
    return sign(
        sign(make_protocol_page()), make_person("Lena Hoff"), field="Sponsor", box=ELSEWHERE
    )


def stamps(**more):
    return make_person("Time Stamps", kind="rsa-2048", purpose="TIME_STAMPING", **more)


def with_a_time_stamp_on_it():
    return sign(make_protocol_page(), stamped_by=stamps())


def with_compressed_objects():
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(make_protocol_page())) as pdf:
        pdf.save(output, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    return sign(output.getvalue())


def certified_and_left_alone():
    return sign(make_protocol_page(), certify=True, docmdp_permissions=MDPPerm.NO_CHANGES)


def certified_blank_then_filled_and_signed():
    """Return a form as sponsors send it out: certified, with a place that may be signed."""
    blank = update(make_form_page(), add_place)
    sponsor = make_person("Selanex Therapeutics")
    certified = sign(blank, sponsor, field="Form", box=None, certify=True)
    return sign(fill_in(certified, "Cedar Ridge Core Laboratory"), is_there=True)


def add_place(writer):
    append_signature_field(writer, SigFieldSpec("Signature1", box=PLACE))


def with_a_line_end_behind_it():
    return sign(make_protocol_page()) + b"\r\n"


def with_an_rsa_key():
    return sign(make_protocol_page(), make_person(kind="rsa-2048"))


def in_another_order_of_names():
    return sign(make_protocol_page(), make_person("WHITFIELD.MARGARET.A.1234567890"))


SOUND = [
    by_the_investigator,
    with_an_rsa_key,
    through_an_intermediate_authority,
    in_an_encrypted_file,
    twice_each_in_its_place,
    with_a_time_stamp_on_it,
    with_compressed_objects,
    certified_and_left_alone,
    certified_blank_then_filled_and_signed,
    with_a_line_end_behind_it,
    in_another_order_of_names,
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", SOUND, ids=lambda make: make.__name__)
def test_a_sound_signature_of_the_right_person_files_the_document(read_and_check, make):
    reading, verdict = read_and_check(make())
    assert set(results(reading)) == {TRUSTED}
    assert (verdict.state, codes(verdict)) == (DocumentState.ARCHIVED, [])
    assert verdict.dated == datetime.now(UTC).date()
    assert verdict.signature.digital.signer


# Damaged or doubtful signatures.


def one_byte_changed():
    content = sign(make_protocol_page())
    return content.replace(b"612 792", b"612 793", 1)


def one_byte_of_the_signature_changed():
    return with_another_last_digit(sign(make_protocol_page()))


def with_another_last_digit(content):
    """Change the last digits of the signature, which belong to the number that the key made."""
    start, end = signature_gap(content)
    digits = content[start + 1 : end - 1].rstrip(b"0")
    other = digits[:-2] + (b"11" if digits[-2:] != b"11" else b"22")
    return content[: start + 1] + other.ljust(end - start - 2, b"0") + content[end - 1 :]


def a_page_appended():
    def append(writer):
        first = writer.root["/Pages"]["/Kids"][0]
        copied = generic.DictionaryObject(
            {name: first.raw_get(name) for name in first if name != "/Annots"}
        )
        pages = writer.root["/Pages"]
        pages["/Kids"].append(writer.add_object(copied))
        pages["/Count"] = generic.NumberObject(2)
        writer.update_container(pages["/Kids"])
        writer.update_container(pages)

    return update(sign(make_protocol_page()), append)


def another_file_appended():
    return sign(make_protocol_page()) + make_pdf(lines=PROTOCOL_PAGE)


def contents_replaced():
    """Return a shadow attack: the page has other contents than those that were signed."""

    def change(writer):
        sheet = writer.root["/Pages"]["/Kids"][0]
        text = b"BT /F1 12 Tf 72 700 Td (PROTOCOL SIGNATURE PAGE of another protocol) Tj ET"
        sheet["/Contents"] = writer.add_object(generic.StreamObject(stream_data=text))
        writer.update_container(sheet)

    return update(sign(make_protocol_page()), change)


def contents_hidden_by_what_was_signed():
    """Return a shadow attack: a cover over a part of the page is removed after signing."""

    def hide(pdf):
        cover = pdf.make_stream(b"1 g 60 300 500 100 re f")
        pdf.pages[0].Contents = pikepdf.Array([pdf.pages[0].Contents, cover])

    def uncover(writer):
        cover = writer.root["/Pages"]["/Kids"][0]["/Contents"].raw_get(1)
        writer.objects[(cover.generation, cover.idnum)] = generic.StreamObject(stream_data=b"")

    return update(sign(rewrite(make_protocol_page(), hide)), uncover)


def hidden_and_replaced():
    """Return a shadow attack: the file has two documents, and a new catalogue shows the other."""

    def prepare(pdf):
        other = pikepdf.open(io.BytesIO(make_pdf(lines=("PROTOCOL SIGNATURE PAGE", "Protocol: X"))))
        copied = pdf.copy_foreign(other.pages[0].obj)
        pdf.Root.Hidden = pdf.make_indirect(
            pikepdf.Dictionary(Type=pikepdf.Name.Pages, Kids=[copied], Count=1)
        )

    def switch(writer):
        writer.root["/Pages"] = writer.root.raw_get("/Hidden")
        writer.update_root()

    return update(sign(rewrite(make_protocol_page(), prepare)), switch)


def a_font_replaced():
    """Return a shadow attack: the same character codes show other letters."""

    def change(writer):
        fonts = writer.root["/Pages"]["/Kids"][0]["/Resources"]["/Font"]
        name = next(iter(fonts))
        font = fonts[name]
        font["/BaseFont"] = generic.NameObject("/ZapfDingbats")
        writer.update_container(font)

    return update(sign(make_protocol_page()), change)


def a_field_filled_in_later():
    return fill_in(sign(make_form_page("Cedar Ridge Core Laboratory")), "Another Laboratory")


def the_look_of_a_field_replaced():
    def change(writer):
        field = writer.root["/AcroForm"]["/Fields"][0].get_object()
        appearance = generic.StreamObject(stream_data=b"0 g 0 0 50 20 re f")
        appearance["/Subtype"] = generic.NameObject("/Form")
        appearance["/BBox"] = generic.ArrayObject(map(generic.NumberObject, (0, 0, 230, 20)))
        field["/AP"] = generic.DictionaryObject({"/N": writer.add_object(appearance)})
        writer.update_container(field)

    return update(sign(make_form_page("Laboratory")), change)


def a_note_added():
    def add(writer):
        note = generic.DictionaryObject({
            generic.NameObject("/Type"): generic.NameObject("/Annot"),
            generic.NameObject("/Subtype"): generic.NameObject("/FreeText"),
            generic.NameObject("/Rect"): generic.ArrayObject(
                map(generic.NumberObject, (72, 500, 300, 520))
            ),
            generic.NameObject("/Contents"): generic.pdf_string("Protocol version: 4.0"),
        })  # fmt: skip
        sheet = writer.root["/Pages"]["/Kids"][0]
        sheet["/Annots"].append(writer.add_object(note))
        writer.update_container(sheet["/Annots"])

    return update(sign(make_protocol_page()), add)


def an_unsigned_field_laid_over_it():
    def add(writer):
        append_signature_field(writer, SigFieldSpec("Over", box=(60, 540, 560, 720)))

    return update(sign(make_protocol_page()), add)


def a_signed_field_laid_over_it():
    return sign(
        sign(make_protocol_page()), make_person("Lena Hoff"), field="Over", box=(0, 0, 612, 792)
    )


def certified_against_changes_and_filled():
    certified = sign(make_form_page(), certify=True, docmdp_permissions=MDPPerm.NO_CHANGES)
    return fill_in(certified, "A Laboratory")


def certified_by_its_signer_and_filled_later():
    certified = sign(make_form_page(), certify=True, docmdp_permissions=MDPPerm.FILL_FORMS)
    return fill_in(certified, "A Laboratory")


def two_of_which_one_is_broken():
    return with_another_last_digit(twice_each_in_its_place())


def covering_a_part_by_its_byte_range():
    return sign_other_ranges(
        sign(make_protocol_page()),
        lambda start, size, next_start, rest: (start, size, next_start, rest - 100),
    )


def with_a_wider_gap_than_the_signature_needs():
    return sign_other_ranges(
        sign(make_protocol_page()),
        lambda start, size, next_start, rest: (start, size - 200, next_start, rest),
    )


def not_covering_its_beginning():
    return sign_other_ranges(
        sign(make_protocol_page()),
        lambda start, size, next_start, rest: (9, size - 9, next_start, rest),
    )


def with_a_byte_range_of_another_file():
    content = sign(make_protocol_page())
    at = BYTE_RANGE.search(content)
    other = b"/ByteRange [0 10 20 30".ljust(len(at[0]) - 1) + b"]"
    return content[: at.start()] + other + content[at.end() :]


def with_room_beside_it():
    """Return a signature as a literal string, which leaves half of its gap free for other bytes."""
    content = sign(make_protocol_page())
    start, end = signature_gap(content)
    value = bytes.fromhex(content[start + 1 : end - 1].decode())
    written = re.sub(rb"[()\\]", rb"\\\g<0>", value).replace(b"\r", b"\\r")
    assert len(written) < end - start - 100
    return content[:start] + (b"(" + written + b")").ljust(end - start) + content[end:]


def with_an_empty_value():
    return add_false_signature(b"<<>>")


def with_an_empty_value_that_says_it_is_a_signature():
    return add_false_signature(
        b"<</Type /Sig /Filter /Adobe.PPKLite /Contents <0000> /ByteRange [0 1 2 3]>>"
    )


def with_a_value_that_is_text():
    return add_false_signature(b"(/s/ Margaret Whitfield)")


def with_a_look_and_an_empty_value():
    stamp = b"/AP <</N null>> /MK <</CA (Digitally signed by Margaret Whitfield)>>"
    return add_false_signature(b"<</Name (Margaret Whitfield) /M (D:20261120)>>", more=stamp)


def with_contents_that_mean_nothing():
    return add_false_signature(
        b"<</Type /Sig /Filter /Adobe.PPKLite /SubFilter /adbe.pkcs7.detached"
        b" /Contents <deadbeefdeadbeef> /ByteRange [0 100 200 300]>>"
    )


def with_huge_contents():
    return add_false_signature(
        b"<</Type /Sig /Filter /Adobe.PPKLite /SubFilter /adbe.pkcs7.detached"
        b" /Contents <%b> /ByteRange [0 100 200 300]>>" % (b"30" * 2_000_000)
    )


def of_an_unknown_kind():
    return add_false_signature(
        b"<</Type /Sig /Filter /Our.Own /SubFilter /our.own /Contents <01> /ByteRange [0 1 2 3]>>"
    )


def of_the_signature_of_another_file():
    """Return a page that nobody signed, with the sound value of another signature."""
    with pikepdf.open(io.BytesIO(sign(make_protocol_page()))) as pdf:
        value = pdf.Root.AcroForm.Fields[0].V.unparse(resolved=True)
    return add_false_signature(value)


def of_a_person_who_is_not_expected():
    return sign(make_protocol_page(), make_person("Mallory Intruder"))


def of_a_person_with_the_same_surname():
    return sign(make_protocol_page(), make_person("Robert Whitfield"))


def of_a_first_name_alone():
    return sign(make_protocol_page(), make_person("Margaret"))


def of_nobody_by_name():
    """Return a file that names a signer, while the certificate names none."""
    return sign(make_protocol_page(), make_person(""), name="Margaret Whitfield", box=None)


def with_an_expired_certificate():
    return sign(make_protocol_page(), make_person(days=(-800, -30)))


def with_a_certificate_that_is_not_valid_yet():
    return sign(make_protocol_page(), make_person(days=(30, 400)))


def with_a_short_key():
    return sign(make_protocol_page(), make_person(kind="rsa-1024"))


def with_a_short_curve():
    return sign(make_protocol_page(), make_person(kind="p-192"))


def with_a_digest_of_sha1():
    return sign(make_protocol_page(), md_algorithm="sha1")


def with_a_digest_of_md5():
    return sign(make_protocol_page(), make_person(kind="rsa-2048"), md_algorithm="md5")


def self_signed():
    return sign(make_protocol_page(), make_person(issuer=""))


def of_an_unknown_issuer():
    return sign(make_protocol_page(), make_person(issuer="Some Other CA"))


def of_an_issuer_with_a_short_key():
    return sign(
        make_protocol_page(),
        make_person(issuer="Weak CA", weak_issuer=True, above="Selanex Signing CA"),
    )


def of_an_issuer_that_only_has_its_name():
    """Return a signature whose issuer has the name of the trusted one and another key."""
    return sign(make_protocol_page(), make_person(issuer="Selanex Signing CA", weak_issuer=True))


def with_the_certificate_of_a_server():
    return sign(make_protocol_page(), make_person(purpose="SERVER_AUTH"))


def with_two_tables_of_its_objects():
    """Return a hybrid file, in which old and new readers find different objects."""
    return updated_hybrid(sign(make_protocol_page()))


def updated_hybrid(content: bytes) -> bytes:
    """Return the file with an update whose table refers to a stream of further objects."""
    start = int(re.findall(rb"startxref\s+(\d+)", content)[-1])
    size = int(re.findall(rb"/Size (\d+)", content)[-1])
    root = re.findall(rb"/Root (\d+ \d+ R)", content)[-1]
    with_stream = content + b"\n"
    at = len(with_stream)
    with_stream += (
        b"%d 0 obj\n<</Type /XRef /Size %d /W [1 4 1] /Index [0 1] /Length 6 /Root %b>>\nstream\n"
        % (size, size + 1, root)
    )
    with_stream += b"\0\0\0\0\0\xff\nendstream\nendobj\n"
    table = len(with_stream)
    return with_stream + (
        b"xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size %d /Root %b /Prev %d /XRefStm %d>>\n"
        b"startxref\n%d\n%%%%EOF\n" % (size + 1, root, start, at, table)
    )


def on_another_page():
    """Return a document whose first page is signed, while the signature line is on the second."""
    output = io.BytesIO()
    canvas = Canvas(output, (612, 792))
    for row, line in enumerate(PROTOCOL_PAGE):
        canvas.drawString(72, 700 - 24 * row, line)
    canvas.drawString(72, 60, "Page 1 of 2")
    canvas.showPage()
    canvas.drawString(72, 700, "I agree to conduct the study as described in the protocol.")
    canvas.drawString(72, 192, "Signature of Investigator")
    canvas.drawString(72, 60, "Page 2 of 2")
    canvas.save()
    return sign(output.getvalue(), on_page=0, box=ELSEWHERE)


def elsewhere_on_the_page():
    return sign(make_protocol_page(), box=ELSEWHERE)


def that_nobody_sees():
    return sign(make_protocol_page(), box=None)


def shown_at_two_places():
    def show_again(pdf):
        field = pdf.Root.AcroForm.Fields[0]
        pdf.pages[0].Annots.append(field)

    return rewrite(add_false_signature(b"<</Contents <30> /ByteRange [0 1 2 3]>>"), show_again)


def with_ink_and_a_broken_signature():
    lines = (*PROTOCOL_PAGE, "Date: 23 November 2026")
    content = sign(make_pdf(lines=lines, signed=True), box=ELSEWHERE)
    return content.replace(b"612 792", b"612 793", 1)


REJECT, REVIEW = DocumentState.REJECTED, DocumentState.IN_REVIEW
UNSOUND = {
    one_byte_changed: ({BROKEN}, REJECT, {"SIGNATURE_BROKEN"}),
    one_byte_of_the_signature_changed: ({BROKEN}, REJECT, {"SIGNATURE_BROKEN"}),
    a_page_appended: ({CHANGED}, REVIEW, {"SIGNATURE_OUTDATED"}),
    another_file_appended: (None, REJECT, None),
    contents_replaced: ({CHANGED}, None, {"SIGNATURE_OUTDATED"}),
    contents_hidden_by_what_was_signed: ({CHANGED}, REVIEW, {"SIGNATURE_OUTDATED"}),
    hidden_and_replaced: ({CHANGED}, None, {"SIGNATURE_OUTDATED"}),
    a_font_replaced: ({CHANGED}, None, {"SIGNATURE_OUTDATED"}),
    a_field_filled_in_later: ({CHANGED}, REVIEW, {"SIGNATURE_OUTDATED"}),
    the_look_of_a_field_replaced: ({CHANGED}, REVIEW, {"SIGNATURE_OUTDATED"}),
    a_note_added: ({CHANGED}, None, {"SIGNATURE_OUTDATED"}),
    an_unsigned_field_laid_over_it: ({CHANGED}, REVIEW, {"SIGNATURE_OUTDATED"}),
    a_signed_field_laid_over_it: ({CHANGED, TRUSTED}, REVIEW, {"SIGNATURE_OUTDATED"}),
    certified_against_changes_and_filled: ({CHANGED}, REVIEW, {"SIGNATURE_OUTDATED"}),
    certified_by_its_signer_and_filled_later: ({TRUSTED}, REVIEW, {"SIGNATURE_OUTDATED"}),
    two_of_which_one_is_broken: ({TRUSTED, BROKEN}, REJECT, {"SIGNATURE_BROKEN"}),
    covering_a_part_by_its_byte_range: ({PARTIAL}, REJECT, {"SIGNATURE_PARTIAL"}),
    with_a_wider_gap_than_the_signature_needs: ({PARTIAL}, REJECT, {"SIGNATURE_PARTIAL"}),
    not_covering_its_beginning: ({PARTIAL}, REJECT, {"SIGNATURE_PARTIAL"}),
    with_a_byte_range_of_another_file: ({BROKEN}, REJECT, {"SIGNATURE_BROKEN"}),
    with_room_beside_it: ({PARTIAL}, REJECT, {"SIGNATURE_PARTIAL"}),
    with_an_empty_value: ({EMPTY}, REJECT, {"SIGNATURE_EMPTY", "SIGNATURE_MISSING"}),
    with_an_empty_value_that_says_it_is_a_signature: (
        {EMPTY}, REJECT, {"SIGNATURE_EMPTY", "SIGNATURE_MISSING"},
    ),
    with_a_value_that_is_text: ({EMPTY}, REJECT, {"SIGNATURE_EMPTY", "SIGNATURE_MISSING"}),
    with_a_look_and_an_empty_value: ({EMPTY}, REJECT, {"SIGNATURE_EMPTY", "SIGNATURE_MISSING"}),
    with_contents_that_mean_nothing: ({UNCHECKED}, REVIEW, {"SIGNATURE_UNVERIFIED"}),
    with_huge_contents: ({UNCHECKED}, REVIEW, {"SIGNATURE_UNVERIFIED"}),
    of_an_unknown_kind: ({UNCHECKED}, REVIEW, {"SIGNATURE_UNVERIFIED"}),
    of_the_signature_of_another_file: ({BROKEN}, REJECT, {"SIGNATURE_BROKEN"}),
    of_a_person_who_is_not_expected: ({TRUSTED}, REVIEW, {"SIGNER_MISMATCH"}),
    of_a_person_with_the_same_surname: ({TRUSTED}, REVIEW, {"SIGNER_MISMATCH"}),
    of_a_first_name_alone: ({TRUSTED}, REVIEW, {"SIGNER_MISMATCH"}),
    of_nobody_by_name: ({TRUSTED}, REVIEW, {"SIGNER_MISMATCH"}),
    with_an_expired_certificate: ({OUT_OF_DATE}, REJECT, {"SIGNATURE_CERTIFICATE_EXPIRED"}),
    with_a_certificate_that_is_not_valid_yet: (
        {OUT_OF_DATE}, REJECT, {"SIGNATURE_CERTIFICATE_EXPIRED"},
    ),
    with_a_short_key: ({WEAK}, REJECT, {"SIGNATURE_WEAK"}),
    with_a_short_curve: ({WEAK}, REJECT, {"SIGNATURE_WEAK"}),
    with_a_digest_of_sha1: ({WEAK}, REJECT, {"SIGNATURE_WEAK"}),
    with_a_digest_of_md5: ({WEAK}, REJECT, {"SIGNATURE_WEAK"}),
    self_signed: ({UNKNOWN}, REVIEW, {"SIGNATURE_ISSUER_UNKNOWN"}),
    of_an_unknown_issuer: ({UNKNOWN}, REVIEW, {"SIGNATURE_ISSUER_UNKNOWN"}),
    of_an_issuer_with_a_short_key: ({UNKNOWN}, REVIEW, {"SIGNATURE_ISSUER_UNKNOWN"}),
    of_an_issuer_that_only_has_its_name: ({UNKNOWN}, REVIEW, {"SIGNATURE_ISSUER_UNKNOWN"}),
    with_the_certificate_of_a_server: ({UNKNOWN}, REVIEW, {"SIGNATURE_ISSUER_UNKNOWN"}),
    with_two_tables_of_its_objects: ({UNCHECKED}, REVIEW, {"SIGNATURE_UNVERIFIED"}),
    on_another_page: ({TRUSTED}, REJECT, {"SIGNATURE_MISSING"}),
    elsewhere_on_the_page: ({TRUSTED}, REVIEW, {"SIGNATURE_MISPLACED"}),
    that_nobody_sees: ({TRUSTED}, REVIEW, {"SIGNATURE_MISPLACED"}),
    shown_at_two_places: ({UNCHECKED}, REVIEW, {"SIGNATURE_UNVERIFIED"}),
    with_ink_and_a_broken_signature: ({BROKEN}, REJECT, {"SIGNATURE_BROKEN"}),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "make",
    [slower(make) if make is with_huge_contents else make for make in UNSOUND],
    ids=lambda make: make.__name__,
)
def test_an_unsound_signature_is_found_and_its_document_is_not_filed(read_and_check, make):
    expected, state, found = UNSOUND[make]
    reading, verdict = read_and_check(make())
    assert verdict.state in {REJECT, REVIEW}
    if expected is not None:
        assert set(results(reading)) <= expected
    if state is not None:
        assert verdict.state is state
    if found is not None:
        assert found <= set(codes(verdict))


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (with_a_short_key, "an RSA key of 1024 bits"),
        (with_a_short_curve, "an elliptic curve of 192 bits"),
        (with_a_digest_of_md5, "the digest MD5"),
    ],
)
def test_a_weak_signature_is_described_by_its_method(read_and_check, make, method):
    _, verdict = read_and_check(make())
    finding = next(each for each in verdict.findings if each.code == "SIGNATURE_WEAK")
    what = format_sentences(finding.code, finding.facts).what
    assert what.endswith(f" signed with {method}. Such a signature can be forged.")


def test_a_time_stamp_keeps_a_signature_valid_after_its_certificate_expires(read_and_check):
    later = datetime.now(UTC).date() + timedelta(days=400)
    _, plain = read_and_check(by_the_investigator(), today=later)
    assert (plain.state, codes(plain)) == (REVIEW, ["SIGNATURE_UNVERIFIED"])
    finding = plain.primary
    texts = format_sentences(finding.code, finding.facts, type_name="Signed protocol page")
    assert texts.what.startswith("The certificate of Margaret Whitfield expired on ")
    reading, stamped = read_and_check(with_a_time_stamp_on_it(), today=later)
    assert reading.signatures[0].is_timestamped
    assert codes(stamped) == []


def test_a_time_stamp_of_an_unknown_authority_proves_nothing(read_and_check):
    later = datetime.now(UTC).date() + timedelta(days=400)
    reading, verdict = read_and_check(
        sign(make_protocol_page(), stamped_by=stamps(issuer="")), today=later
    )
    assert not reading.signatures[0].is_timestamped
    assert codes(verdict) == ["SIGNATURE_UNVERIFIED"]


@pytest.mark.slow
def test_without_trusted_issuers_every_signature_goes_to_review(read_and_check):
    for make in SOUND:
        reading, verdict = read_and_check(make(), limits=ReadingLimits())
        assert set(results(reading)) == {UNKNOWN}, make.__name__
        assert verdict.state is REVIEW
        assert set(codes(verdict)) == {"SIGNATURE_ISSUER_UNKNOWN"}


def test_a_self_signed_certificate_that_is_trusted_itself_is_accepted(read_and_check, tmp_path):
    trusted = ReadingLimits(trusted_issuers=write_trusted_issuers(tmp_path, make_person(issuer="")))
    reading, verdict = read_and_check(self_signed(), limits=trusted)
    assert results(reading) == [TRUSTED]
    assert verdict.state is DocumentState.ARCHIVED


@pytest.mark.parametrize("trigger", ["/V", "/AP"])
def test_an_empty_signature_field_is_not_a_signature(read_and_check, trigger):
    more = b"/AP <</N null>>" if trigger == "/AP" else b""
    reading, verdict = read_and_check(add_false_signature(b"", more=more))
    assert reading.signatures == ()
    assert codes(verdict) == ["SIGNATURE_MISSING"]


def test_a_field_that_inherits_its_type_is_validated(read_and_check):
    def inherit(pdf):
        field = pdf.Root.AcroForm.Fields[0]
        del field.FT
        parent = pdf.make_indirect(
            pikepdf.Dictionary(FT=pikepdf.Name.Sig, T="parent", Kids=pikepdf.Array([field]))
        )
        field.Parent = parent
        pdf.Root.AcroForm.Fields = pikepdf.Array([parent])

    reading, verdict = read_and_check(rewrite(add_false_signature(b"<<>>"), inherit))
    assert [(each.result, each.field) for each in reading.signatures] == [
        (EMPTY, "parent.Signature1")
    ]
    assert "SIGNATURE_EMPTY" in codes(verdict)


def test_text_in_a_signature_field_is_not_read_as_a_form_value(tmp_path):
    reading = read(save(tmp_path, add_false_signature(b"(/s/ Margaret Whitfield)")))
    assert reading.fields == {}


def test_the_signer_is_named_by_the_certificate_and_not_by_the_file(read_and_check):
    _, verdict = read_and_check(of_nobody_by_name())
    texts = format_sentences(verdict.primary.code, verdict.primary.facts)
    assert "Whitfield" not in texts.what


@pytest.mark.parametrize("slug", ["protocol-signature-page", "form-fda-1572", "cv"])
def test_text_about_a_digital_signature_is_not_a_signature(read_and_check, slug):
    heads = {
        "protocol-signature-page": PROTOCOL_PAGE,
        "form-fda-1572": ("STATEMENT OF INVESTIGATOR", "FORM FDA 1572", "OMB No. 0910-0014"),
        "cv": ("CURRICULUM VITAE", "Name: Margaret Whitfield, MD", "EDUCATION", "EMPLOYMENT"),
    }
    lines = (*heads[slug], "Digitally signed by Margaret Whitfield", "Date: 23 November 2026")
    _, verdict = read_and_check(make_pdf(lines=lines), slug=slug)
    found = next(each for each in verdict.findings if each.code == "SIGNATURE_UNVERIFIED")
    assert format_sentences(found.code, found.facts).what == (
        "Page 1 says that it is digitally signed, but the file has no signature."
    )


def test_a_document_that_needs_no_signature_may_have_one_of_an_unknown_issuer(read_and_check):
    lines = ("MEDICAL LICENSE", "Board of Medical Examiners", "License Number: OH-35.990142")
    sealed = sign(make_pdf(lines=lines), make_person("A Board", issuer=""))
    reading, verdict = read_and_check(sealed, slug="medical-licence")
    assert results(reading) == [UNKNOWN]
    assert not [code for code in codes(verdict) if code.startswith("SIGN")]
    broken = sealed.replace(b"612 792", b"612 793", 1)
    assert "SIGNATURE_BROKEN" in codes(read_and_check(broken, slug="medical-licence")[1])


def many_fields(count, value):
    def add(pdf):
        value_at = pdf.make_indirect(pikepdf.Object.parse(value))
        fields = [
            pdf.make_indirect(pikepdf.Dictionary(FT=pikepdf.Name.Sig, T=f"s{number}", V=value_at))
            for number in range(count)
        ]
        pdf.Root.AcroForm = pikepdf.Dictionary(Fields=pikepdf.Array(fields))

    return rewrite(make_protocol_page(), add)


def test_a_bounded_number_of_hundreds_of_signatures_is_validated(read_and_check):
    value = b"<</Type /Sig /SubFilter /adbe.pkcs7.detached /Contents <3001> /ByteRange [0 9 9 9]>>"
    reading, verdict = read_and_check(many_fields(600, value))
    assert results(reading) == [UNCHECKED] * 600
    details = [each.detail for each in reading.signatures]
    assert details.count("the file has too many signatures") >= 600 - MAX_SIGNATURES
    assert verdict.state is REVIEW
    assert codes(verdict) == [finding.code for finding in verdict.findings]


@pytest.fixture
def signed_file(tmp_path):
    return save(tmp_path, sign(make_protocol_page()))


async def test_a_missing_file_of_trusted_issuers_is_a_reading_fault(tmp_path, signed_file):
    missing = ReadingLimits(processes=1, trusted_issuers=tmp_path / "nowhere.pem")
    async with Reader(missing) as reader:
        with pytest.raises(ReadingFault, match=r"nowhere\.pem"):
            await reader.read(signed_file, "0" * 64)


@pytest.mark.parametrize(
    "content", [b"", b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n"]
)
def test_a_file_of_trusted_issuers_without_certificates_is_refused(tmp_path, content):
    path = tmp_path / "issuers.pem"
    path.write_bytes(content)
    with pytest.raises(TrustedIssuersError, match=r"issuers\.pem"):
        read_issuers(path)


async def test_a_parser_process_validates_signatures(signed_file, limits):
    async with Reader(replace(limits, processes=1)) as reader:
        reading = await reader.read(signed_file, "0" * 64)
    assert results(reading) == [TRUSTED]


@pytest.mark.slow
async def test_signatures_of_a_file_that_takes_too_long_to_draw_are_unchecked(tmp_path, limits):
    endless = hostile.fields_of_fields()
    signature = b"<</FT /Sig /T (last) /V <</Contents <01> /ByteRange [0 1 2 3]>>"
    path = save(tmp_path, endless.replace(b"<</FT /Tx /T (last) /V (typed)", signature))
    async with Reader(replace(limits, processes=1, first_look_seconds=1)) as reader:
        reading = await reader.read(path, "0" * 64)
    assert [each.detail for each in reading.signatures] == ["it took too long"]


SAMPLES = [
    "protocol-signature-page",
    "form-fda-1572",
    "cv",
    "financial-disclosure",
    "delegation-log",
    "irb-approval",
    "lab-normal-ranges",
]
HERE = get_sample_site("1001")
SENT_BY = SiteFacts("1001", HERE.study.protocol_number)
TODAY = datetime.now(UTC).date()


@pytest.fixture(params=SAMPLES)
def unsigned_sample(request, tmp_path):
    """Return an unsigned document, the place of its signature, and the person that it names."""
    slug = request.param
    content = make_sample(slug, today=TODAY, site=HERE, fault=DocumentFault.UNSIGNED)
    verdict = check_sample(tmp_path, content, slug)
    assert "SIGNATURE_MISSING" in codes(verdict)
    named = {value.name: value.value for value in verdict.fields}
    area, number = verdict.signature.area, verdict.signature.page
    with pikepdf.open(io.BytesIO(content)) as pdf:
        high = float(pdf.pages[number - 1].mediabox[3])
    place = (int(area.left) + 14, int(high - area.bottom) + 30, int(area.left) + 200)
    who = named.get("person") or named.get("investigator", "")
    return slug, content, number - 1, (*place, place[1] + 40), who.split(",")[0]


def check_sample(folder, content, slug, limits=None):
    reading = read(save(folder, content), limits or ReadingLimits())
    return check(reading, SenderFacts("v2.1", slug), site=SENT_BY, today=TODAY)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "value", [b"<<>>", slower(b"(/s/ Margaret Whitfield)"), slower(b"[1 2 3]")]
)
def test_an_empty_signature_field_does_not_sign_a_sample_document(unsigned_sample, tmp_path, value):
    slug, content, number, place, _ = unsigned_sample
    forged = add_false_signature(value, content=content, at=place, on_page=number)
    verdict = check_sample(tmp_path, forged, slug)
    assert verdict.state is REJECT
    assert "SIGNATURE_MISSING" in codes(verdict)


@pytest.mark.sampled(3)
def test_a_sample_document_is_signed_digitally_by_the_person_it_names(
    unsigned_sample, tmp_path, limits
):
    slug, content, number, place, who = unsigned_sample
    mine = sign(content, make_person(who or "Nobody Named"), on_page=number, box=place)
    verdict = check_sample(tmp_path, mine, slug, limits)
    remarks = {"FORM_EDITION_OUTDATED", "FORM_NOT_REGISTERED", "EXPIRES_SOON"}
    if slug in {"irb-approval", "lab-normal-ranges"}:  # signed by a chair, a director
        assert verdict.signature.digital
        return
    assert set(codes(verdict)) <= remarks
    theirs = sign(content, make_person("Mallory Intruder"), on_page=number, box=place)
    assert "SIGNER_MISMATCH" in codes(check_sample(tmp_path, theirs, slug, limits))


@pytest.mark.slow
def test_a_scan_can_be_signed_digitally(read_and_check):
    scan = make_scan(render(make_protocol_page(), dpi=200))
    reading, verdict = read_and_check(sign(scan))
    assert reading.used_ocr
    assert results(reading) == [TRUSTED]
    assert (verdict.state, codes(verdict)) == (DocumentState.ARCHIVED, [])
    assert "SIGNATURE_EMPTY" in codes(read_and_check(add_false_signature(b"<<>>", content=scan))[1])


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_signature_on_a_rotated_page_has_the_box_where_it_is_shown(read_and_check, turn):
    def turned(pdf):
        pdf.pages[0].Rotate = turn

    reading, _ = read_and_check(sign(rewrite(make_protocol_page(), turned)))
    [found] = reading.signatures
    wide, high = reading.pages[0].width, reading.pages[0].height
    assert found.result is TRUSTED
    assert 0 <= found.box.left < found.box.right <= wide
    assert 0 <= found.box.top < found.box.bottom <= high
    label = next(word.box for word in reading.pages[0].words if word.text == "Signature")
    near = Box(label.left - 60, label.top - 60, label.right + 60, label.bottom + 60)
    assert found.box.intersects(near)
