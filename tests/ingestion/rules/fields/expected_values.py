"""Lists the text of each field of each generated document, by type and site.

Dates are ISO days; documents write them in other forms. Pages are counted from 1.
"""

AMERICAN, GERMAN = "1001", "1009"

AMERICAN_TITLE = (
    "A Phase 3, Randomized, Double-Blind, Placebo-Controlled Study to Evaluate the Efficacy and "
    "Safety of Selaxumab in Adults with Moderately to Severely Active Ulcerative Colitis"
)
GERMAN_TITLE = (
    "A Phase 2, Randomized, Open-Label Study of Two Dose Levels of Selaxumab in Adults with "
    "Crohn's Disease and Inadequate Response to Conventional Therapy"
)

FIELDS = {
    ("protocol-signature-page", AMERICAN): {
        "protocol_number": ("SLX-301", 1),
        "protocol_version": ("3.0", 1),
        "site_number": ("1001", 1),
        "investigator": ("Margaret Whitfield, MD", 1),
        "signature_date": ("2026-10-29", 1),
    },
    ("protocol-signature-page", GERMAN): {
        "protocol_number": ("SLX-202", 1),
        "protocol_version": ("2.1", 1),
        "site_number": ("1009", 1),
        "investigator": ("Stefan Albrecht, Prof. Dr. med.", 1),
        "signature_date": ("2026-11-10", 1),
    },
    ("irb-approval", AMERICAN): {
        "protocol_number": ("SLX-301", 1),
        "protocol_version": ("3.0", 1),
        "site_number": ("1001", 1),
        "investigator": ("Margaret Whitfield, MD", 1),
        "approval_date": ("2026-08-14", 1),
        "expiry_date": ("2027-08-12", 1),
        "title": (AMERICAN_TITLE, 1),
        "irb_name": ("Cedar Ridge Institutional Review Board", 1),
        "irb_registration": ("IRB99000101", 1),
        "fwa_number": ("FWA99000201", 1),
        "signature_date": ("2026-08-14", 1),
    },
    ("irb-approval", GERMAN): {
        "protocol_number": ("SLX-202", 1),
        "protocol_version": ("2.1", 1),
        "site_number": ("1009", 1),
        "investigator": ("Stefan Albrecht, Prof. Dr. med.", 1),
        "approval_date": ("2026-07-12", 1),
        "expiry_date": ("2027-07-08", 1),
        "title": (GERMAN_TITLE, 1),
        "irb_name": ("Ethics Committee of the Klinikum Lindenhof", 1),
        "irb_registration": ("IRB99000109", 1),
        "fwa_number": ("FWA99000209", 1),
        "signature_date": ("2026-07-12", 1),
    },
    ("form-fda-1572", AMERICAN): {
        "protocol_number": ("SLX-301", 1),
        "investigator": ("Margaret Whitfield, MD", 1),
        "site_number": ("1001", 1),
        "form_edition": ("3/19", 1),
        "omb_expiry": ("2022-03-31", 1),
        "signature_date": ("2026-10-08", 2),
    },
    ("form-fda-1572", GERMAN): {
        "protocol_number": ("SLX-202", 1),
        "investigator": ("Stefan Albrecht, Prof. Dr. med.", 1),
        "site_number": ("1009", 1),
        "form_edition": ("3/19", 1),
        "omb_expiry": ("2022-03-31", 1),
        "signature_date": ("2026-10-19", 2),
    },
    ("cv", AMERICAN): {
        "person": ("Margaret Whitfield, MD", 1),
        "site_number": ("1001", 1),
        "document_date": ("2026-10-27", 2),
        "signature_date": ("2026-10-27", 2),
    },
    ("cv", GERMAN): {
        "person": ("Stefan Albrecht, Prof. Dr. med.", 1),
        "site_number": ("1009", 1),
        "document_date": ("2026-11-02", 2),
        "signature_date": ("2026-11-02", 2),
    },
    ("medical-licence", AMERICAN): {
        "person": ("Margaret Whitfield, MD", 1),
        "licence_number": ("OH-35.990142", 1),
        "effective_date": ("2026-01-16", 1),
        "expiry_date": ("2028-01-16", 1),
        "site_number": ("1001", 1),
    },
    ("medical-licence", GERMAN): {
        "person": ("Stefan Albrecht, Prof. Dr. med.", 1),
        "licence_number": ("RL 990877", 1),
        "effective_date": ("2025-08-16", 1),
        "expiry_date": ("2027-08-16", 1),
        "site_number": ("1009", 1),
    },
    ("gcp-certificate", AMERICAN): {
        "person": ("Margaret Whitfield, MD", 1),
        "course": ("Good Clinical Practice (GCP)", 1),
        "certificate_number": ("MRTC-80014433", 1),
        "completion_date": ("2026-03-17", 1),
        "expiry_date": ("2029-03-17", 1),
        "site_number": ("1001", 1),
    },
    ("gcp-certificate", GERMAN): {
        "person": ("Stefan Albrecht, Prof. Dr. med.", 1),
        "course": ("Good Clinical Practice (GCP)", 1),
        "certificate_number": ("MRTC-48501931", 1),
        "completion_date": ("2025-10-01", 1),
        "expiry_date": ("2028-10-01", 1),
        "site_number": ("1009", 1),
    },
    ("lab-certification", AMERICAN): {
        "lab_name": ("Cedar Ridge Core Laboratory, Cedar Ridge Medical Center", 1),
        "lab_director": ("Elaine Porter, MD", 1),
        "clia_number": ("36D9900101", 1),
        "effective_date": ("2026-07-04", 1),
        "expiry_date": ("2028-07-03", 1),
        "site_number": ("1001", 1),
    },
    ("lab-certification", GERMAN): {
        "lab_name": ("Zentrallabor Lindenhof, Klinikum Lindenhof", 1),
        "lab_director": ("Bernd Richter, Dr. med.", 1),
        "clia_number": ("99D9900109", 1),
        "effective_date": ("2026-05-26", 1),
        "expiry_date": ("2028-05-25", 1),
        "site_number": ("1009", 1),
    },
    ("lab-normal-ranges", AMERICAN): {
        "lab_name": ("Cedar Ridge Core Laboratory (CLIA 36D9900101)", 1),
        "version": ("4", 1),
        "effective_date": ("2026-09-14", 1),
        "site_number": ("1001", 1),
        "signature_date": ("2026-11-11", 1),
    },
    ("lab-normal-ranges", GERMAN): {
        "lab_name": ("Zentrallabor Lindenhof (CLIA 99D9900109)", 1),
        "version": ("4", 1),
        "effective_date": ("2026-09-11", 1),
        "site_number": ("1009", 1),
        "signature_date": ("2026-10-20", 1),
    },
    ("financial-disclosure", AMERICAN): {
        "protocol_number": ("SLX-301", 1),
        "site_number": ("1001", 1),
        "investigator": ("Margaret Whitfield, MD", 1),
        "signature_date": ("2026-10-30", 1),
    },
    ("financial-disclosure", GERMAN): {
        "protocol_number": ("SLX-202", 1),
        "site_number": ("1009", 1),
        "investigator": ("Stefan Albrecht, Prof. Dr. med.", 1),
        "signature_date": ("2026-10-27", 1),
    },
    ("delegation-log", AMERICAN): {
        "protocol_number": ("SLX-301", 1),
        "site_number": ("1001", 1),
        "investigator": ("Margaret Whitfield, MD", 1),
        "signature_date": ("2026-10-26", 1),
    },
    ("delegation-log", GERMAN): {
        "protocol_number": ("SLX-202", 1),
        "site_number": ("1009", 1),
        "investigator": ("Stefan Albrecht, Prof. Dr. med.", 1),
        "signature_date": ("2026-10-25", 1),
    },
}

# Values with several entries. They are split at the line ends of a document, which differ between a
# printed document and a form: `test_list_fields` reads them in each rendition.
LISTS = {
    ("irb-approval", AMERICAN): {
        "approved_documents": (
            (
                "Document Version Date; Protocol SLX-301 3.0 03 May 2025; Investigator's Brochure"
                " 6.0 03 May 2025; Informed Consent Form, site 1001 3.0 13 Aug 2026"
            ),
            1,
        ),
    },
    ("irb-approval", GERMAN): {
        "approved_documents": (
            (
                "Document Version Date; Protocol SLX-202 2.1 27 Mar 2025; Investigator's Brochure"
                " 6.0 27 Mar 2025; Informed Consent Form, site 1009 3.0 09 Jul 2026"
            ),
            1,
        ),
    },
    ("form-fda-1572", AMERICAN): {
        "facilities": (
            (
                "Cedar Ridge Medical Center, Division of Gastroenterology; "
                "1820 Cedar Ridge Parkway, Columbus, OH 43215, United States"
            ),
            1,
        ),
        "labs": (
            (
                "Cedar Ridge Core Laboratory, CLIA 36D9900101; "
                "1820 Cedar Ridge Parkway, Columbus, OH 43215, United States"
            ),
            1,
        ),
        "irb": (
            (
                "Cedar Ridge Institutional Review Board (IRB99000101); "
                "1820 Cedar Ridge Parkway, Columbus, OH 43215, United States"
            ),
            1,
        ),
        "subinvestigators": ("Daniel Okafor, MD; Priya Raman, MD PhD", 1),
        "protocols": (
            (
                "SLX-301, IND 990301. Site number: 1001; A Phase 3, Randomized, Double-Blind, "
                "Placebo-Controlled Study to Evaluate the Efficacy and Safety of Selaxumab in; "
                "Adults with Moderately to Severely Active Ulcerative Colitis"
            ),
            1,
        ),
    },
    ("form-fda-1572", GERMAN): {
        "facilities": (
            (
                "Klinikum Lindenhof, Medizinische Klinik II, Gastroenterologie; "
                "Lindenhofallee 22, 50931 Köln, Germany"
            ),
            1,
        ),
        "labs": (
            "Zentrallabor Lindenhof, CLIA 99D9900109; Lindenhofallee 22, 50931 Köln, Germany",
            1,
        ),
        "irb": (
            (
                "Ethics Committee of the Klinikum Lindenhof (IRB99000109); "
                "Lindenhofallee 22, 50931 Köln, Germany"
            ),
            1,
        ),
        "subinvestigators": ("Jörg Brandt, Dr. med.; Katrin Vogel, Dr. med.", 1),
        "protocols": (
            (
                "SLX-202, IND 990202. Site number: 1009; A Phase 2, Randomized, Open-Label Study "
                "of Two Dose Levels of Selaxumab in Adults with Crohn's Disease and; "
                "Inadequate Response to Conventional Therapy"
            ),
            1,
        ),
    },
    ("delegation-log", AMERICAN): {
        "persons": (
            (
                "Margaret Whitfield, MD; Daniel Okafor, MD; Priya Raman, MD PhD; "
                "Lauren Beck, RN CCRC; Thomas Nguyen, PharmD"
            ),
            1,
        ),
    },
    ("delegation-log", GERMAN): {
        "persons": (
            (
                "Stefan Albrecht, Prof. Dr. med.; Jörg Brandt, Dr. med.; Katrin Vogel, Dr. med.; "
                "Sabine Keller, Study Nurse; Matthias Lang, Apotheker"
            ),
            1,
        ),
    },
}
