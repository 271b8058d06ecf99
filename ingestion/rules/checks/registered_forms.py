"""Checks registered forms: their editions, and boxes that no field of the type has."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from audit.translation import gettext_noop as _
from ingestion.reading.forms.catalogue import read_registered_forms
from ingestion.reading.results import DocumentReading
from ingestion.rules.checks.check_input import CheckInput, make_entry_facts
from ingestion.rules.checks.signatures import DocumentSignature, SignatureState
from ingestion.rules.document_types import DocumentType
from ingestion.rules.findings import Facts, RuleFinding
from ingestion.rules.forms.boxes import (
    BoxState,
    FilledBox,
    find_boxes,
    find_editions,
    find_pages,
    is_choice_valid,
)
from ingestion.rules.forms.values import read_signature_date

# The line at the foot of an official form: its number, and its edition in brackets.
_EDITION = r"{name} ?\( ?(\d{{1,2}}/\d{{2}}) ?\)"


def apply_signature_boxes(
    reading: DocumentReading, kind: DocumentType, signature: DocumentSignature
) -> DocumentSignature:
    """Return the signature with what the boxes for it and for its date contain.

    The date that is typed in its box is the date of the signature. Ink in one of the boxes is left
    to a person if nothing was read by the captions.
    """
    boxes = [] if signature.digital else find_boxes(reading, kind.slug)
    for box in boxes:
        if box.blank.kind == "signature" and box.state is not BoxState.EMPTY:
            if signature.state is SignatureState.EMPTY:
                signature = replace(signature, state=SignatureState.UNSEEN)
        elif box.blank.kind == "date" and box.blank.field == "signature_date":
            if found := read_signature_date(box, kind):
                signature = replace(signature, date=found, may_be_dated=False)
            elif box.state is not BoxState.EMPTY and not signature.date:
                signature = replace(signature, may_be_dated=True)
    return signature


def check_form_pages(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield FORM_PAGES_MIXED for each page that belongs to another edition than the first one."""
    pages = list(find_editions(case.reading))
    for page, form in pages[1:]:
        first_page, first = pages[0]
        if form.name == first.name and form.edition != first.edition:
            facts: Facts = {
                "page": page.number,
                "form": form.name,
                "edition": form.edition_name,
                "first_page": first_page.number,
                "first_edition": first.edition_name,
            }
            yield RuleFinding("FORM_PAGES_MIXED", page.number, facts)


def check_form_registration(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield FORM_NOT_REGISTERED, a remark, for a form whose print matches no registered edition.

    Its boxes are read by their captions.
    """
    if any(find_pages(case.reading)):
        return
    names = {
        form.name
        for form in read_registered_forms().values()
        if form.document_type == case.kind.slug and form.edition
    }
    for name in sorted(names):
        printed = re.compile(_EDITION.format(name=re.escape(name)), re.IGNORECASE)
        for page in case.reading.pages:
            if found := printed.search(page.text):
                facts: Facts = {"form": name, "printed_edition": found[1]}
                yield RuleFinding("FORM_NOT_REGISTERED", page.number, facts)
                return


def check_other_boxes(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield a finding for each required box of a form that is no entry of its type.

    The entries of the type are examined in `presence`, and so are signatures by their captions. A
    signature that was found beside an empty box is left to a person.
    """
    boxes = find_boxes(case.reading, case.kind.slug)
    entries = {*case.kind.required, *case.kind.expected}
    groups: dict[tuple[int, str], list[FilledBox]] = {}
    for box in boxes:
        if box.blank.is_required and box.blank.field not in entries:
            groups.setdefault((box.page.number, box.blank.noun or box.blank.field), []).append(box)
    for (_page, noun), group in groups.items():
        kind = group[0].blank.kind
        if kind == "signature":
            yield from _check_signature(case, group[0])
        elif kind == "tick":
            yield from _check_ticks(group, noun, boxes)
        elif kind == "text":
            yield from _check_text(group[0], noun)


def _check_signature(case: CheckInput, box: FilledBox) -> Iterator[RuleFinding]:
    signature = case.signature
    is_signed = signature is not None and signature.state is SignatureState.SIGNED
    if is_signed and signature and not signature.digital and box.state is BoxState.EMPTY:
        yield _unread(box, _("signature"))


def _check_ticks(
    group: Sequence[FilledBox], noun: str, boxes: Sequence[FilledBox]
) -> Iterator[RuleFinding]:
    """Yield a finding unless as many of the answers are ticked as the form asks for."""
    first = group[0]
    states = [box.state for box in group]
    others = [
        box.state
        for box in boxes
        if first.blank.unless and box.page is first.page and box.blank.noun == first.blank.unless
    ]
    if all(state is BoxState.UNTICKED for state in states):
        if BoxState.UNCLEAR in others:
            yield _unread(first, noun)
        elif BoxState.TICKED not in others:
            page, number = first.page.number, first.blank.number
            choice: Facts = {"unticked": noun}
            if number:
                choice = {"choice": _("box {number}"), "number": number}
            facts: Facts = {**choice, "field": noun, "page": page}
            yield RuleFinding("SCHEMA_MISMATCH", page, facts)
    elif BoxState.UNCLEAR in states or not is_choice_valid(group) or _contradicts(group, others):
        yield _unread(first, noun)


def _contradicts(group: Sequence[FilledBox], others: Sequence[BoxState]) -> bool:
    """Return whether one question is answered with yes, and another square says that none is."""
    is_yes = any(
        box.state is BoxState.TICKED and box.blank.option.casefold() == "yes" for box in group
    )
    return is_yes and BoxState.TICKED in others


def _check_text(box: FilledBox, noun: str) -> Iterator[RuleFinding]:
    page = box.page.number
    if box.state is BoxState.EMPTY:
        facts: dict[str, str | int] = {"field": noun, "page": page}
        if box.blank.number:
            facts |= {"box": _("box {number}"), "number": box.blank.number}
        yield RuleFinding("SCHEMA_MISMATCH", page, facts)
    elif box.state in {BoxState.UNCLEAR, BoxState.STRUCK_OUT}:
        yield _unread(box, noun)


def _unread(box: FilledBox, noun: str) -> RuleFinding:
    is_struck_out = box.state is BoxState.STRUCK_OUT
    entry = make_entry_facts(noun, box.blank.number, is_struck_out=is_struck_out)
    return RuleFinding("OCR_LOW_CONFIDENCE", box.page.number, {**entry, "page": box.page.number})


CHECKS = (
    check_form_pages,
    check_form_registration,
    check_other_boxes,
)
CHECKS_OF_ALL_PAGES = (check_other_boxes,)
