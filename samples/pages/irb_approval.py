"""The letter by which an ethics board approves the study at the site."""

from samples import blocks, marks
from samples.document_facts import Dossier, short
from samples.paper import Story, sheet_for, typeset


def page(dossier: Dossier) -> bytes:
    sheet = sheet_for(
        dossier.site,
        "IRB Notice of Approval",
        footer=f"{dossier.site.board.name} - Approval letter",
    )
    return typeset(sheet, lambda: _story(dossier))


def _story(dossier: Dossier) -> Story:
    board, dates = dossier.site.board, dossier.dates
    return [
        *_letterhead(dossier),
        blocks.text("NOTICE OF INITIAL APPROVAL", blocks.TITLE),
        _reference(dossier),
        blocks.gap(8),
        blocks.text(f"Dear {dossier.site.investigator.printed}:"),
        blocks.text(
            f"The {board.name}, acting as Institutional Review Board (IRB) for this research, has"
            " approved the study named above. Convened review at the meeting of"
            f" {dossier.day(dates.board_meeting)}; a quorum was present throughout. The Board found"
            " that the research satisfies the criteria for approval at 21 CFR 56.111."
        ),
        blocks.text("Documents reviewed and approved:", blocks.HEADING),
        _documents(dossier),
        blocks.gap(6),
        blocks.text(
            "Approval is for one year. No research activity may continue past the expiration date"
            " without continuing review. Report unanticipated problems, deviations and changes to"
            " the Board before they are put into effect, except to remove an immediate hazard. The"
            " Board operates in compliance with 21 CFR Parts 50 and 56.",
            blocks.SMALL,
        ),
        blocks.PushDown(86),
        _signature(dossier),
    ]


def _letterhead(dossier: Dossier) -> Story:
    board, site = dossier.site.board, dossier.site
    numbers = (
        f"DHHS Registration # {board.registration} | Federalwide Assurance # {board.assurance}"
    )
    return [
        blocks.text(board.name, blocks.TITLE),
        blocks.text(f"{site.hospital}, {site.address}", blocks.CENTRED),
        blocks.text(numbers, blocks.CENTRED),
    ]


def _reference(dossier: Dossier) -> object:
    site, study, dates = dossier.site, dossier.site.study, dossier.dates
    rows = [
        ("IRB ID #:", f"{dates.board_meeting.year}{int(site.site_id):05}"),
        ("To:", f"{site.investigator.printed}, {site.department}"),
        ("Site number:", site.site_id),
        ("Protocol Number:", study.protocol_number),
        ("Protocol Version/Date:", f"Version {study.version}, {short(dates.protocol)}"),
        ("Protocol Title:", study.title),
        ("Sponsor:", study.sponsor),
        ("Type of Application:", "New Project"),
        ("Full Board:", f"Meeting Date {dossier.day(dates.board_meeting)}"),
        ("Approval Date:", dossier.day(dates.approval)),
        ("Expiration Date:", dossier.day(dates.approval_ends)),
    ]
    return blocks.particulars(rows)


def _documents(dossier: Dossier) -> object:
    study, dates = dossier.site.study, dossier.dates
    rows = [
        ("Document", "Version", "Date"),
        (f"Protocol {study.protocol_number}", study.version, short(dates.protocol)),
        ("Investigator's Brochure", "6.0", short(dates.protocol)),
        (f"Informed Consent Form, site {dossier.site.site_id}", "3.0", short(dates.board_meeting)),
    ]
    cells = [[blocks.text(cell, blocks.PLAIN) for cell in row] for row in rows]
    return blocks.grid(cells, widths=(270, 80, 120))


def _signature(dossier: Dossier) -> object:
    chair = dossier.site.board.chair
    return marks.SignatureLine(
        "Signature of IRB Chair",
        chair.printed,
        short(dossier.dates.approval),
        seed=dossier.seed if dossier.signed else None,
    )
