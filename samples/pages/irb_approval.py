"""Draws the letter with which an institutional review board approves the study at the site."""

from samples import blocks, marks
from samples.document_facts import DocumentFacts, format_short_date
from samples.paper import Story, get_page_format, typeset


def draw_irb_approval(facts: DocumentFacts) -> bytes:
    """Return the approval letter of the site's IRB as a PDF."""
    sheet = get_page_format(
        facts.site,
        "IRB Notice of Approval",
        footer=f"{facts.site.board.name} - Approval letter",
    )
    return typeset(sheet, lambda: _story(facts))


def _story(facts: DocumentFacts) -> Story:
    site, board, dates = facts.site, facts.site.board, facts.dates
    registration = (
        f"DHHS Registration # {board.registration} | Federalwide Assurance # {board.assurance}"
    )
    return [
        blocks.make_paragraph(board.name, blocks.TITLE),
        blocks.make_paragraph(f"{site.hospital}, {site.address}", blocks.CENTRED),
        blocks.make_paragraph(registration, blocks.CENTRED),
        blocks.make_paragraph("NOTICE OF INITIAL APPROVAL", blocks.TITLE),
        _reference(facts),
        blocks.make_vertical_space(8),
        blocks.make_paragraph(f"Dear {site.investigator.printed}:"),
        blocks.make_paragraph(
            f"The {board.name}, acting as Institutional Review Board (IRB) for this research, has"
            " approved the study named above. Convened review at the meeting of"
            f" {facts.day(dates.board_meeting)}; a quorum was present throughout. The Board found"
            " that the research satisfies the criteria for approval at 21 CFR 56.111."
        ),
        blocks.make_paragraph("Documents reviewed and approved:", blocks.HEADING),
        _documents_table(facts),
        blocks.make_vertical_space(6),
        blocks.make_paragraph(
            "Approval is for one year. No research activity may continue past the expiration date"
            " without continuing review. Report unanticipated problems, deviations and changes to"
            " the Board before they are put into effect, except to remove an immediate hazard. The"
            " Board operates in compliance with 21 CFR Parts 50 and 56.",
            blocks.SMALL,
        ),
        blocks.FillRemainingHeight(86),
        marks.SignatureLine(
            "Signature of IRB Chair",
            board.chair.printed,
            format_short_date(dates.approval),
            seed=facts.signature_seed,
        ),
    ]


def _reference(facts: DocumentFacts) -> object:
    site, study, dates = facts.site, facts.site.study, facts.dates
    rows = [
        ("IRB ID #:", f"{dates.board_meeting.year}{int(site.site_id):05}"),
        ("To:", f"{site.investigator.printed}, {site.department}"),
        ("Site number:", site.site_id),
        ("Protocol Number:", study.protocol_number),
        ("Protocol Version/Date:", f"Version {study.version}, {format_short_date(dates.protocol)}"),
        ("Protocol Title:", study.title),
        ("Sponsor:", study.sponsor),
        ("Type of Application:", "New Project"),
        ("Full Board:", f"Meeting Date {facts.day(dates.board_meeting)}"),
        ("Approval Date:", facts.day(dates.approval)),
        ("Expiration Date:", facts.day(dates.approval_ends)),
    ]
    return blocks.make_captioned_lines(rows)


def _documents_table(facts: DocumentFacts) -> object:
    study, dates = facts.site.study, facts.dates
    rows = [
        ("Document", "Version", "Date"),
        (f"Protocol {study.protocol_number}", study.version, format_short_date(dates.protocol)),
        ("Investigator's Brochure", "6.0", format_short_date(dates.protocol)),
        (
            f"Informed Consent Form, site {facts.site.site_id}",
            "3.0",
            format_short_date(dates.board_meeting),
        ),
    ]
    cells = [[blocks.make_paragraph(cell, blocks.PLAIN) for cell in row] for row in rows]
    return blocks.make_ruled_table(cells, widths=(270, 80, 120))
