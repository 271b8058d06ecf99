"""Decides which keys and digests a signature may have, and which later changes it permits.

`digital_signatures` applies these policies of pyHanko. They are stricter than pyHanko's own.
"""

from collections.abc import Iterator
from datetime import datetime

from asn1crypto import algos, keys, x509
from pyhanko.sign.diff_analysis import (
    CatalogModificationRule,
    DocInfoRule,
    DSSCompareRule,
    FieldComparisonContext,
    FormUpdate,
    FormUpdatingRule,
    MetadataUpdateRule,
    ModificationLevel,
    ObjectStreamRule,
    SigFieldCreationRule,
    SigFieldModificationRule,
    StandardDiffPolicy,
    SuspiciousModification,
    XrefStreamRule,
)
from pyhanko_certvalidator.policy_decl import (
    AlgorithmUsageConstraint,
    DisallowWeakAlgorithmsPolicy,
)

from audit.translation import gettext_noop as _

MIN_RSA_BITS, MIN_CURVE_BITS = 2_048, 224  # NIST SP 800-131A rev. 2, section 3
WEAK_DIGESTS = frozenset({"md2", "md5", "sha1"})
LETTER_PAGE_AREA = 612 * 792  # square points
# Of a letter page, that a signature field may cover. A larger one that is added later hides text.
MAX_WIDGET_SHARE = 0.25


def find_weakness(certificate: x509.Certificate, digest: str) -> str:
    """Return in words what can be forged, or "" if nothing is known to be weak.

    {bits} stands for the size of the key, and {digest} for the name of the digest.
    """
    key = certificate.public_key
    if key.algorithm in {"rsa", "rsassa_pss"} and key.bit_size < MIN_RSA_BITS:
        return _("an RSA key of {bits} bits")
    if key.algorithm == "dsa":
        return _("a DSA key")
    if key.algorithm == "ec" and key.bit_size < MIN_CURVE_BITS:
        return _("an elliptic curve of {bits} bits")
    return _("the digest {digest}") if digest in WEAK_DIGESTS else ""


class _StrengthPolicy(DisallowWeakAlgorithmsPolicy):
    """The required strength of all certificates in a chain.

    pyHanko's own policy does not reject short elliptic curves.
    """

    def signature_algorithm_allowed(
        self,
        algo: algos.SignedDigestAlgorithm,
        moment: datetime | None,
        public_key: keys.PublicKeyInfo | None,
    ) -> AlgorithmUsageConstraint:
        curve = public_key if public_key and public_key.algorithm == "ec" else None
        if curve is not None and curve.bit_size < MIN_CURVE_BITS:
            return AlgorithmUsageConstraint(allowed=False, failure_reason="a small curve")
        return super().signature_algorithm_allowed(algo, moment, public_key)


class _NewFieldsAreSigned(SigFieldCreationRule):
    """A signature field that is added later must be signed and must not cover the page."""

    def apply(
        self, context: FieldComparisonContext
    ) -> Iterator[tuple[ModificationLevel, FormUpdate]]:
        for name, spec in context.field_specs.items():
            field = spec.new_field
            if spec.old_field_ref is not None or field is None or spec.field_type != "/Sig":
                continue
            kids = [kid.get_object() for kid in field.get("/Kids", ())]
            rectangles = [each["/Rect"] for each in (field, *kids) if "/Rect" in each]
            areas = [abs(float(x2 - x1) * float(y2 - y1)) for x1, y1, x2, y2 in rectangles]
            if "/V" not in field and any(areas):
                raise SuspiciousModification(f"field {name} was added and is not signed")
            if any(area > MAX_WIDGET_SHARE * LETTER_PAGE_AREA for area in areas):
                raise SuspiciousModification(f"field {name} was added and covers the page")
        yield from super().apply(context)


STRENGTH_POLICY = _StrengthPolicy(WEAK_DIGESTS, rsa_key_size_threshold=MIN_RSA_BITS)  # type: ignore[no-untyped-call]
# After a signature, only further signatures and what preserves them may be added. pyHanko's own
# policy also permits to fill in form values, which the signer has not seen.
SIGNATURES_ONLY_POLICY = StandardDiffPolicy(
    global_rules=[
        CatalogModificationRule(),
        *(
            rule.as_qualified(ModificationLevel.LTA_UPDATES)
            for rule in (
                DocInfoRule(),
                XrefStreamRule(),
                ObjectStreamRule(),
                DSSCompareRule(),
                MetadataUpdateRule(),
            )
        ),
    ],
    form_rule=FormUpdatingRule(
        field_rules=[_NewFieldsAreSigned(), SigFieldModificationRule()]  # type: ignore[no-untyped-call]
    ),
)
