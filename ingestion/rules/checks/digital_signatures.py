"""Checks the digital signatures of a file. No signature is trusted without validation.

`reading.digital_signatures` validates each signature. Damage to any of them concerns the file,
whatever its type. The issuer of the certificate and the name of the signer concern only documents
that have to be signed.
"""

from collections.abc import Iterator

from ingestion.reading.results import DigitalSignature, DocumentReading, SignatureResult
from ingestion.rules import fuzzy_phrases
from ingestion.rules.checks.check_input import CheckInput
from ingestion.rules.checks.signatures import find_expected_signer
from ingestion.rules.fields.persons import names
from ingestion.rules.findings import Facts, RuleFinding

_DAMAGE_CODES = {
    SignatureResult.EMPTY: "SIGNATURE_EMPTY",
    SignatureResult.UNCHECKED: "SIGNATURE_UNVERIFIED",
    SignatureResult.BROKEN: "SIGNATURE_BROKEN",
    SignatureResult.PARTIAL: "SIGNATURE_PARTIAL",
    SignatureResult.CHANGED: "SIGNATURE_OUTDATED",
}
_CERTIFICATE_CODES = {
    SignatureResult.WEAK: "SIGNATURE_WEAK",
    SignatureResult.OUT_OF_DATE: "SIGNATURE_CERTIFICATE_EXPIRED",
    SignatureResult.UNKNOWN_ISSUER: "SIGNATURE_ISSUER_UNKNOWN",
}


def check_signature_damage(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield a finding for signatures that are broken, partial, empty, outdated or unverified.

    Several signatures of the same person on the same page give one finding.
    """
    found = {
        (code, each.page, each.signer): RuleFinding(code, each.page, _signature_facts(each))
        for each in reversed(reading.signatures)
        if (code := _DAMAGE_CODES.get(each.result))
    }
    yield from reversed(found.values())


def check_certificates(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield a finding for each signature with a doubtful certificate, if a signature is required.

    The certificate may be forgeable, expired or from an issuer that is not trusted.
    """
    rule = case.kind.signature
    if not rule or not rule.required:
        return
    for each in case.reading.signatures:
        if code := _CERTIFICATE_CODES.get(each.result):
            yield RuleFinding(code, each.page, _signature_facts(each))
        elif (
            each.result is SignatureResult.TRUSTED
            and each.valid_until is not None
            and each.valid_until < case.today
            # A time stamp shows that the signature is older than the end of the certificate.
            and not each.is_timestamped
        ):
            facts = {**_signature_facts(each), "expired": each.valid_until.isoformat()}
            yield RuleFinding("SIGNATURE_UNVERIFIED", each.page, facts)


def check_signature_place(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield a finding for a signature in the wrong place, or made before the form was complete."""
    signature = case.signature
    rule, digital = case.kind.signature, signature and signature.digital
    if not rule or not rule.required or not signature or not digital:
        return
    if digital.result in _DAMAGE_CODES:
        return
    if signature.is_misplaced:
        facts = {**_signature_facts(digital), "role": rule.role, "section": rule.section}
        yield RuleFinding("SIGNATURE_MISPLACED", signature.page, {**facts, "page": signature.page})
    elif not digital.is_last:
        yield RuleFinding("SIGNATURE_OUTDATED", digital.page, _signature_facts(digital))


def check_signer(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield SIGNER_MISMATCH if another person signed than the one who has to sign.

    If the document does not name a person who has to sign, it must contain the signer's name. A
    name of one word is not enough, because too many people share it.
    """
    rule, digital = case.kind.signature, case.signature and case.signature.digital
    if not rule or not rule.required or not digital or digital.result in _DAMAGE_CODES:
        return
    expected = find_expected_signer(case.kind, case.fields, case.person)
    signer = digital.signer
    if expected:
        is_full_name = len(signer.replace(".", " ").split()) > 1
        is_match = is_full_name and names.is_same_person(signer, expected)
    else:
        is_full_name = len(signer.split()) > 1
        is_match = is_full_name and fuzzy_phrases.contains_phrase(case.reading.text, signer)
    if not is_match:
        facts = {**_signature_facts(digital), "expected": expected}
        yield RuleFinding("SIGNER_MISMATCH", digital.page, facts)


def _signature_facts(digital: DigitalSignature) -> Facts:
    """Return the known facts about a signature, for its sentences."""
    facts: Facts = {
        "signer": digital.signer,
        "issuer": digital.issuer,
        "page": digital.page,
        "signed": digital.signed_on.isoformat() if digital.signed_on else "",
        "valid_from": digital.valid_from.isoformat() if digital.valid_from else "",
        "valid_until": digital.valid_until.isoformat() if digital.valid_until else "",
    }
    if digital.result is SignatureResult.WEAK:
        weak: Facts = {name: getattr(digital, name) for name in ("weakness", "bits", "digest")}
        facts = {**facts, **weak}
    return {name: value for name, value in facts.items() if value}


CHECKS = (
    check_certificates,
    check_signature_place,
    check_signer,
)
CHECKS_OF_ANY_FILE = (check_signature_damage,)
CHECKS_OF_ALL_PAGES = (check_signature_place, check_signer)
