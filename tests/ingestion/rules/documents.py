"""One sound document of several types; a test replaces the words it is about."""

from tests.ingestion.rules.pages import make_page, make_reading

FORM_1572 = (
    "DEPARTMENT OF HEALTH AND HUMAN SERVICES     Form Approved: OMB No. 0910-0014",
    "FOOD AND DRUG ADMINISTRATION                Expiration Date: March 31, 2022",
    "STATEMENT OF INVESTIGATOR",
    "(TITLE 21, CODE OF FEDERAL REGULATIONS (CFR) PART 312)",
    "1. NAME AND ADDRESS OF INVESTIGATOR",
    "Margaret Whitfield, MD",
    "7. NAME AND CODE NUMBER, IF ANY, OF THE PROTOCOL(S) IN THE IND FOR THE STUDY(IES)",
    "TO BE CONDUCTED BY THE INVESTIGATOR",
    "SLX-301, A Phase 3 Study",
    "I agree to personally conduct or supervise the described investigation(s).",
    "",
    "",
    "10. DATE (mm/dd/yyyy)                       11. SIGNATURE OF INVESTIGATOR",
    "10/08/2026",
    "",
    "FORM FDA 1572 (3/19)",
)
IRB_APPROVAL = (
    "Cedar Ridge Institutional Review Board",
    "DHHS Registration # IRB99000101    Federalwide Assurance # FWA99000201",
    "NOTICE OF INITIAL APPROVAL",
    "Site number: 0203",
    "Protocol Number: SLX-301",
    "Protocol Version: 3.0",
    "Approval Date: 14 Aug 2026",
    "Expiration Date: 12 Aug 2027",
    "Convened review at the meeting of 12 Aug 2026.",
    "",
    "",
    "Signature of IRB Chair              Date: 14 Aug 2026",
)
CV = (
    "CURRICULUM VITAE",
    "Name: Margaret Whitfield, MD",
    "EDUCATION",
    "Doctor of Medicine, Ashbourne University",
    "PUBLICATIONS",
    "",
    "",
    "Signature:                          Date: 27 Oct 2026",
)
LICENCE = (
    "Ohio Board of Medical Examiners",
    "MEDICAL LICENSE",
    "License Number: OH-35.990142",
    "Issue Date: 16 January 2026",
    "Expiration Date: 16 January 2028",
)
GCP = (
    "CERTIFICATE OF COMPLETION",
    "Good Clinical Practice (GCP), based on ICH E6",
    "Completion Date: 17 March 2026",
)
CLIA = (
    "CLINICAL LABORATORY IMPROVEMENT AMENDMENTS",
    "CERTIFICATE OF ACCREDITATION",
    "LABORATORY NAME: Cedar Ridge Core Laboratory",
    "CLIA ID NUMBER: 36D9900101",
    "EFFECTIVE DATE: 07/04/2026",
    "EXPIRATION DATE: 07/03/2028",
)
DISCLOSURE = (
    "FINANCIAL DISCLOSURE FORM",
    "Clinical Investigator - 21 CFR Part 54",
    "Protocol number: SLX-301",
    "Site number: 0203",
    "The answers cover you, your spouse and dependent children.",
    "A proprietary interest in the tested product.",
    "",
    "",
    "Signature of Investigator           Date: 30 Oct 2026",
)
PROTOCOL_PAGE = (
    "PROTOCOL SIGNATURE PAGE",
    "Protocol number: SLX-301",
    "Protocol version: 3.0",
    "Site number: 0203",
    "I have read this protocol and agree to conduct the study as described.",
    "",
    "",
    "Signature of Principal Investigator    Date: 29 Oct 2026",
)
SOUND = {
    "form-fda-1572": (FORM_1572, "SIGNATURE OF INVESTIGATOR"),
    "irb-approval": (IRB_APPROVAL, "Signature of IRB Chair"),
    "cv": (CV, "Signature:"),
    "medical-licence": (LICENCE, ""),
    "gcp-certificate": (GCP, ""),
    "lab-certification": (CLIA, ""),
    "financial-disclosure": (DISCLOSURE, "Signature of Investigator"),
    "protocol-signature-page": (PROTOCOL_PAGE, "Signature of Principal Investigator"),
}


def make_document(slug, replace=None, *, signed=True, flags=(), fields=None, **page):
    """`replace` maps words of the sound document to others."""
    lines, caption = SOUND[slug]
    for old, new in (replace or {}).items():
        assert any(old in line for line in lines), old
        lines = [line.replace(old, new) for line in lines]
    sheet = make_page(*lines, signed=caption if signed else "", **page)
    return make_reading(sheet, flags=flags, fields=fields)
