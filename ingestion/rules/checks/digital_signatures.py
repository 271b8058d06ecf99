"""What the digital signatures of a file are worth to it: each is validated, and none is believed.

`reading.digital_signatures` says what came of validating each. Damage to any of them concerns the
file, whatever its type; who vouches for the signer, and who that is, concerns only documents that
have to be signed.
"""

from collections.abc import Iterator

from ingestion.reading.results import DigitalSignature, DocumentReading, SignatureResult
from ingestion.rules import fuzzy_phrases
from ingestion.rules.checks.check_input import CheckInput
from ingestion.rules.checks.signatures import expected_signer
from ingestion.rules.fields import names
from ingestion.rules.findings import Facts, RuleFinding

_DAMAGE = {
    SignatureResult.EMPTY: "SIGNATURE_EMPTY",
    SignatureResult.UNCHECKED: "SIGNATURE_UNVERIFIED",
    SignatureResult.BROKEN: "SIGNATURE_BROKEN",
    SignatureResult.PARTIAL: "SIGNATURE_PARTIAL",
    SignatureResult.CHANGED: "SIGNATURE_OUTDATED",
}
_DOUBTS = {
    SignatureResult.WEAK: "SIGNATURE_WEAK",
    SignatureResult.OUT_OF_DATE: "SIGNATURE_CERTIFICATE_EXPIRED",
    SignatureResult.UNKNOWN_ISSUER: "SIGNATURE_ISSUER_UNKNOWN",
}


def damaged_signatures(reading: DocumentReading) -> Iterator[RuleFinding]:
    """Yield a finding for signatures that are broken, partial, empty, outdated or unverified.

    Several of the same person on the same page give one.
    """
    found = {
        (code, each.page, each.signer): RuleFinding(code, each.page, _facts(each))
        for each in reversed(reading.signatures)
        if (code := _DAMAGE.get(each.result))
    }
    yield from reversed(found.values())


def doubtful_signatures(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield a finding for each that can be forged or has no trusted issuer, if one is required."""
    rule = case.kind.signature
    if not rule or not rule.required:
        return
    for each in case.reading.signatures:
        if code := _DOUBTS.get(each.result):
            yield RuleFinding(code, each.page, _facts(each))
        elif each.result is SignatureResult.TRUSTED and _has_expired(each, case):
            until = each.valid_until.isoformat() if each.valid_until else ""
            facts = {**_facts(each), "expired": until}
            yield RuleFinding("SIGNATURE_UNVERIFIED", each.page, facts)


def unsound_place(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield a finding for a signature in another place, or made before the form was filled in."""
    signature = case.signature
    rule, digital = case.kind.signature, signature and signature.digital
    if not rule or not rule.required or not signature or not digital:
        return
    if digital.result in _DAMAGE:
        return
    if signature.is_misplaced:
        facts = {**_facts(digital), "role": rule.role, "section": rule.section}
        yield RuleFinding("SIGNATURE_MISPLACED", signature.page, {**facts, "page": signature.page})
    elif not digital.is_last:
        yield RuleFinding("SIGNATURE_OUTDATED", digital.page, _facts(digital))


def signer_mismatch(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield a finding for the signature of another person than the one who has to sign.

    Where the document names nobody who has to, the signer has to be named in it.
    """
    rule, digital = case.kind.signature, case.signature and case.signature.digital
    if not rule or not rule.required or not digital or digital.result in _DAMAGE:
        return
    expected = expected_signer(case.kind, case.fields, case.person)
    is_theirs = _is_signed_by(digital, expected) if expected else _is_named(digital, case.reading)
    if not is_theirs:
        facts = {**_facts(digital), "expected": expected}
        yield RuleFinding("SIGNER_MISMATCH", digital.page, facts)


def _is_signed_by(digital: DigitalSignature, expected: str) -> bool:
    """Return whether the names agree. A name of one word is shared by too many people."""
    return len(digital.signer.replace(".", " ").split()) > 1 and names.is_same_person(
        digital.signer, expected
    )


def _is_named(digital: DigitalSignature, reading: DocumentReading) -> bool:
    signer = digital.signer
    return len(signer.split()) > 1 and fuzzy_phrases.holds(reading.text, signer)


def _has_expired(digital: DigitalSignature, case: CheckInput) -> bool:
    """Return whether its certificate has expired since, and no time stamp shows earlier use."""
    until = digital.valid_until
    return until is not None and until < case.today and not digital.is_timestamped


def _facts(digital: DigitalSignature) -> Facts:
    """Return what is known about a signature, for sentences."""
    facts: Facts = {
        "signer": digital.signer,
        "issuer": digital.issuer,
        "page": digital.page,
        "weakness": digital.detail if digital.result is SignatureResult.WEAK else "",
        "detail": digital.detail if digital.result is SignatureResult.UNCHECKED else "",
        "signed": digital.signed_on.isoformat() if digital.signed_on else "",
        "valid_from": digital.valid_from.isoformat() if digital.valid_from else "",
        "valid_until": digital.valid_until.isoformat() if digital.valid_until else "",
    }
    return {name: value for name, value in facts.items() if value}
