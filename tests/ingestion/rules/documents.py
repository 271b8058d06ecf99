"""One sound document of several types; a test replaces the words it is about."""

from datetime import date

from ingestion.reading.results import Box, DigitalSignature, SignatureResult
from tests.ingestion.rules.pages import make_page, make_reading

FORM_1572 = (
    "DEPARTMENT OF HEALTH AND HUMAN SERVICES     Form Approved: OMB No. 0910-0014",
    "FOOD AND DRUG ADMINISTRATION                Expiration Date: March 31, 2022",
    "STATEMENT OF INVESTIGATOR",
    "(TITLE 21, CODE OF FEDERAL REGULATIONS (CFR) PART 312)",
    "1. NAME AND ADDRESS OF INVESTIGATOR",
    "Margaret Whitfield, MD",
    "2. EDUCATION, TRAINING, AND EXPERIENCE. ONE OF THE FOLLOWING IS PROVIDED.",
    "X CURRICULUM VITAE          OTHER STATEMENT OF QUALIFICATIONS",
    "3. NAME AND ADDRESS OF ANY MEDICAL SCHOOL, HOSPITAL, OR OTHER RESEARCH FACILITY",
    "WHERE THE CLINICAL INVESTIGATION(S) WILL BE CONDUCTED",
    "Cedar Ridge Medical Center, Columbus",
    "4. NAME AND ADDRESS OF ANY CLINICAL LABORATORY FACILITIES TO BE USED IN THE STUDY",
    "Cedar Ridge Core Laboratory, Columbus",
    "5. NAME AND ADDRESS OF THE INSTITUTIONAL REVIEW BOARD (IRB) THAT IS",
    "RESPONSIBLE FOR REVIEW AND APPROVAL OF THE STUDY(IES)",
    "Cedar Ridge IRB, Columbus",
    '6. NAMES OF SUBINVESTIGATORS (If not applicable, enter "None")',
    "Daniel Okafor, MD",
    "7. NAME AND CODE NUMBER, IF ANY, OF THE PROTOCOL(S) IN THE IND FOR THE STUDY(IES)",
    "TO BE CONDUCTED BY THE INVESTIGATOR",
    "SLX-301, A Phase 3 Study",
    "8. PROVIDE THE FOLLOWING CLINICAL PROTOCOL INFORMATION",
    "X FOR PHASE 2 OR 3 INVESTIGATIONS, AN OUTLINE OF THE STUDY PROTOCOL",
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
BIOSKETCH = (
    "OMB No. 0925-0001 and 0925-0002",
    "BIOGRAPHICAL SKETCH",
    "NAME: Margaret Whitfield, MD",
    "eRA COMMONS USER NAME: mwhitfield",
    "POSITION TITLE: Professor of Medicine",
    "EDUCATION/TRAINING",
    "Doctor of Medicine, Ashbourne University, 1998",
    "A. Personal Statement",
    "C. Contributions to Science",
    "",
    "",
    "Signature:                          Date: 27 Oct 2026",
)
LICENCE = (
    "Ohio Board of Medical Examiners",
    "MEDICAL LICENSE",
    "Name of Licensee: Margaret Whitfield, MD",
    "License Number: OH-35.990142",
    "Issue Date: 16 January 2026",
    "Expiration Date: 16 January 2028",
)
GCP = (
    "CERTIFICATE OF COMPLETION",
    "This is to certify that",
    "Margaret Whitfield, MD",
    "has completed the course",
    "Good Clinical Practice (GCP), based on ICH E6",
    "Completion Date: 17 March 2026",
)
HUMAN_SUBJECTS = (
    "COLLABORATIVE INSTITUTIONAL TRAINING INITIATIVE (CITI PROGRAM)",
    "COMPLETION REPORT - PART 1 OF 2",
    "Name: Margaret Whitfield (ID: 990142)",
    "Institution Affiliation: Cedar Ridge Medical Center (ID: 990)",
    "Curriculum Group: Human Research",
    "Course Learner Group: Biomedical Research Investigators",
    "Stage: Stage 1 - Basic Course",
    "Record ID: 9901420",
    "Completion Date: 17-Mar-2026",
    "Expiration Date: 16-Mar-2029",
    "Minimum Passing: 80",
    "REQUIRED AND ELECTIVE MODULES ONLY",
    "Belmont Report and Its Principles (ID: 1127)",
)
SOCIAL_BEHAVIORAL = (
    "www.citiprogram.org",
    "This is to certify that:",
    "Margaret Whitfield",
    "Has completed the following CITI Program course:",
    "GCP - Social and Behavioral Research Best Practices for Clinical Research",
    "(Curriculum Group)",
    "GCP - Social and Behavioral Research Best Practices for Clinical Research",
    "(Course Learner Group)",
    "1 - Basic Course",
    "(Stage)",
    "Under requirements set by:",
    "Cedar Ridge Medical Center",
    "Completion Date 17-Mar-2026",
    "Expiration Date 16-Mar-2029",
    "Record ID 9901420",
)
DATA_ONLY = (
    "www.citiprogram.org",
    "This is to certify that:",
    "Margaret Whitfield",
    "Has completed the following CITI Program course:",
    "Human Research",
    "(Curriculum Group)",
    "Data or Specimens Only Research",
    "(Course Learner Group)",
    "1 - Basic Course",
    "(Stage)",
    "Completion Date 17-Mar-2026",
    "Expiration Date 16-Mar-2029",
)
CONDUCT = (
    "COLLABORATIVE INSTITUTIONAL TRAINING INITIATIVE (CITI PROGRAM)",
    "COMPLETION CERTIFICATE",
    "Name: Margaret Whitfield",
    "Curriculum Group: Responsible Conduct of Research (RCR)",
    "Course Learner Group: Biomedical Responsible Conduct of Research Course",
    "Stage: RCR",
    "Completion Date: 17-Mar-2026",
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
    "Name of investigator: Margaret Whitfield, MD",
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
AMENDMENT_PAGE = (
    "PROTOCOL AMENDMENT SIGNATURE PAGE",
    "Protocol number: SLX-301",
    "Amendment number: 2",
    "Protocol version: 3.0",
    "Site number: 0203",
    "Principal Investigator: Margaret Whitfield, MD",
    "I have read this protocol amendment and agree to conduct the study as amended.",
    "",
    "",
    "Signature of Principal Investigator    Date: 29 Oct 2026",
)
BROCHURE = (
    "INVESTIGATOR'S BROCHURE",
    "ACKNOWLEDGEMENT OF RECEIPT",
    "Protocol number: SLX-301",
    "Edition number: 6.0",
    "Site number: 0203",
    "I acknowledge receipt of the Investigator's Brochure and will keep it confidential.",
    "",
    "",
    "Signature of Principal Investigator    Date: 29 Oct 2026",
)
CONFIDENTIALITY = (
    "MUTUAL CONFIDENTIALITY AGREEMENT",
    "Effective Date: 3 February 2026",
    "between Selanex Therapeutics, Inc. and Margaret Whitfield, MD (the Recipient)",
    "Study: SLX-301",
    "1. Confidential Information means all that the Disclosing Party makes known.",
    "2. The Recipient shall not disclose it, and shall hold it in confidence for ten years.",
    "3. The parties may enter into a clinical trial agreement at a later time.",
    "",
    "",
    "",
    "By:                                 Date: 3 Feb 2026",
)
TRIAL_AGREEMENT = (
    "CLINICAL TRIAL AGREEMENT",
    "Effective Date: 12 March 2026",
    "Protocol Number: SLX-301",
    "Site number: 0203",
    "3. Payment Schedule. The budget is Exhibit B.",
    "5. Confidential Information. The Institution shall not disclose it.",
    "7. Indemnification. The Sponsor shall indemnify and hold harmless the Institution.",
    "8. Subject injury. 9. Publication rights. 12. Governing law.",
    "",
    "",
    "",
    "By:                                 Date: 12 Mar 2026",
)
ROSTER = (
    "Cedar Ridge Institutional Review Board",
    "DHHS Registration # IRB99000101    Federalwide Assurance # FWA99000201",
    "MEMBERSHIP ROSTER",
    "Effective Date: 1 July 2026",
    "Name               Degree    Affiliation    Scientific status",
    "Harold Simmons     PhD       Affiliated     Scientific, Chair",
    "Ruth Alder         JD        Unaffiliated   Non-scientific",
    "Samuel Ito         MD        Affiliated     Scientific, alternate member",
    "The Board issues a notice of its decisions. Its quorum is half of its members.",
)
CONSENT = (
    "Cedar Ridge Medical Center",
    "INFORMED CONSENT FORM",
    "Protocol Number: SLX-301",
    "Site number: 0203",
    "Principal Investigator: Margaret Whitfield, MD",
    "Version: 3.0     Version Date: 12 Aug 2026",
    "IRB Approval Date: 14 Aug 2026     Expiration Date: 12 Aug 2027",
    "You are being asked to take part in a research study. Taking part is voluntary.",
    "You may stop at any time. An Institutional Review Board has approved this study.",
    "What are the risks? Side effects are listed below.",
    "",
    "Printed name of participant: ______________________",
    "Signature of participant: ______________    Date: __________",
)
TRAINING = (
    "SITE TRAINING LOG",
    "Protocol number: SLX-301     Site number: 0203",
    "Topic: Protocol training, Good Clinical Practice (GCP), EDC training",
    "Trainer: Lena Hoff, Selanex Therapeutics, Inc.",
    "Training date: 20 Oct 2026",
    "",
    "",
    "Attendee                     Signature",
    "",
    "Daniel Okafor, MD",
    "Lauren Beck, RN",
)
INSURANCE = (
    "CERTIFICATE OF CLINICAL TRIAL INSURANCE",
    "Insurer: Harbour Mutual Insurance Company",
    "Policyholder: Selanex Therapeutics, Inc.",
    "Policy number: HM-7720-26",
    "Protocol number: SLX-301",
    "Effective Date: 1 January 2026",
    "Expiration Date: 31 December 2027",
    "Limit of liability: USD 10,000,000",
)
COMPLETE = {
    "form-fda-1572": (FORM_1572, "SIGNATURE OF INVESTIGATOR"),
    "irb-approval": (IRB_APPROVAL, "Signature of IRB Chair"),
    "cv": (CV, "Signature:"),
    "nih-biosketch": (BIOSKETCH, "Signature:"),
    "medical-licence": (LICENCE, ""),
    "gcp-certificate": (GCP, ""),
    "human-subjects-certificate": (HUMAN_SUBJECTS, ""),
    "social-behavioral-certificate": (SOCIAL_BEHAVIORAL, ""),
    "data-specimens-certificate": (DATA_ONLY, ""),
    "rcr-certificate": (CONDUCT, ""),
    "lab-certification": (CLIA, ""),
    "financial-disclosure": (DISCLOSURE, "Signature of Investigator"),
    "protocol-signature-page": (PROTOCOL_PAGE, "Signature of Principal Investigator"),
    "protocol-amendment-signature-page": (AMENDMENT_PAGE, "Signature of Principal Investigator"),
    "brochure-acceptance": (BROCHURE, "Signature of Principal Investigator"),
    "confidentiality-agreement": (CONFIDENTIALITY, "By:"),
    "clinical-trial-agreement": (TRIAL_AGREEMENT, "By:"),
    "irb-roster": (ROSTER, ""),
    "informed-consent-form": (CONSENT, ""),
    "training-log": (TRAINING, "Signature"),
    "insurance-certificate": (INSURANCE, ""),
}


def make_signature(result=SignatureResult.TRUSTED, **more):
    """Return a digital signature of the CV's person, above its caption on the complete CV."""
    details = {
        "page": 1,
        "box": Box(60.0, 125.0, 200.0, 150.0),
        "signer": "Margaret Whitfield",
        "issuer": "Selanex Signing CA",
        "signed_on": date(2026, 10, 27),
        "valid_from": date(2026, 1, 1),
        "valid_until": date(2027, 12, 31),
    }
    return DigitalSignature(result, **(details | more))


def make_document(slug, replace=None, *, signed=True, flags=(), fields=None, signatures=(), **page):
    """Return a reading of a complete document. `replace` maps its words to others."""
    lines, caption = COMPLETE[slug]
    for old, new in (replace or {}).items():
        assert any(old in line for line in lines), old
        lines = [line.replace(old, new) for line in lines]
    sheet = make_page(*lines, signed=caption if signed else "", **page)
    return make_reading(sheet, flags=flags, fields=fields, signatures=signatures)
