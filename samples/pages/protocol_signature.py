"""The protocol signature page: the investigator has read this version and will follow it."""

from samples import blocks, marks
from samples.document_facts import Dossier, short
from samples.paper import Story, sheet_for, typeset

_STATEMENTS = (
    (
        "I have read this protocol, including its appendices and the current Investigator's"
        " Brochure, and I agree that it contains all details necessary for me and my staff to"
        " conduct this study as described."
    ),
    (
        "I agree to conduct the study in accordance with this protocol, with ICH E6 Good Clinical"
        " Practice, and with the regulations that apply at my site. I will not deviate from the"
        " protocol without prior agreement of the sponsor and review by the IRB/IEC, except to"
        " eliminate an immediate hazard to a participant."
    ),
    (
        "I will provide copies of the protocol to all persons who assist me, discuss it with them,"
        " and ensure that they are informed of their obligations. I will keep its contents"
        " confidential."
    ),
)


def page(dossier: Dossier) -> bytes:
    study = dossier.site.study
    footer = f"{study.protocol_number} Protocol Signature Page, Version {study.version}"
    sheet = sheet_for(dossier.site, "Protocol Signature Page", footer=footer)
    return typeset(sheet, lambda: _story(dossier))


def _story(dossier: Dossier) -> Story:
    return [
        blocks.text(dossier.site.study.sponsor, blocks.CENTRED),
        blocks.text("PROTOCOL SIGNATURE PAGE", blocks.TITLE),
        blocks.text("Investigator Agreement", blocks.CENTRED),
        blocks.gap(10),
        _identification(dossier),
        blocks.gap(14),
        *(blocks.text(statement) for statement in _STATEMENTS),
        blocks.PushDown(200),
        _signature(dossier),
        blocks.gap(14),
        blocks.text("Return the signed page to the sponsor; keep a copy on site.", blocks.SMALL),
    ]


def _identification(dossier: Dossier) -> object:
    site, study = dossier.site, dossier.site.study
    rows = [
        ("Protocol title:", study.title),
        ("Protocol number:", study.protocol_number),
        ("Protocol version:", f"Version {study.version}, dated {short(dossier.dates.protocol)}"),
        ("Investigational product:", study.product),
        ("Sponsor:", f"{study.sponsor}, {study.sponsor_address}"),
        ("Site number:", site.site_id),
        ("Site name and address:", f"{site.hospital}, {site.department}, {site.address}"),
        ("Principal Investigator:", site.investigator.printed),
    ]
    return blocks.particulars(rows)


def _signature(dossier: Dossier) -> object:
    return marks.SignatureLine(
        "Signature of Principal Investigator",
        dossier.site.investigator.printed,
        short(dossier.dates.signature),
        seed=dossier.seed if dossier.signed else None,
    )
