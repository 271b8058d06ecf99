"""The checks of registered forms: their editions, and boxes that no field of the type has."""

from collections.abc import Iterator, Sequence

from ingestion.reading.forms.catalogue import registered_forms
from ingestion.rules.checks.check_input import CheckInput
from ingestion.rules.checks.signatures import SignatureState
from ingestion.rules.findings import Facts, RuleFinding
from ingestion.rules.forms.boxes import (
    BoxState,
    FilledBox,
    find_boxes,
    find_pages,
)


def check_form_pages(case: CheckInput) -> Iterator[RuleFinding]:
    """Yield FORM_PAGES_MIXED for each page that belongs to another edition than the first one."""
    pages = [(page, registered_forms()[found.form]) for page, found in find_pages(case.reading)]
    for page, form in pages[1:]:
        first_page, first = pages[0]
        if form.name == first.name and form.key != first.key:
            facts: Facts = {
                "page": page.number,
                "form": form.name,
                "edition": form.edition_name,
                "first_page": first_page.number,
                "first_edition": first.edition_name,
            }
            yield RuleFinding("FORM_PAGES_MIXED", page.number, facts)


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
    for (page, noun), group in groups.items():
        kind, states = group[0].blank.kind, [box.state for box in group]
        if kind == "signature":
            yield from _check_signature(case, group[0])
        elif kind == "tick":
            yield from _check_ticks(group, noun, states, page)
        elif kind == "text" and states[0] is BoxState.UNCLEAR:
            yield _unread(group[0], noun)


def _check_signature(case: CheckInput, box: FilledBox) -> Iterator[RuleFinding]:
    signature = case.signature
    is_signed = signature is not None and signature.state is SignatureState.SIGNED
    if is_signed and signature and not signature.digital and box.state is BoxState.EMPTY:
        yield _unread(box, "signature")


def _check_ticks(
    group: Sequence[FilledBox], noun: str, states: Sequence[BoxState], page: int
) -> Iterator[RuleFinding]:
    """Yield a finding unless exactly one of the answers to a question is ticked."""
    name = group[0].name or "the form"
    if all(state is BoxState.UNTICKED for state in states):
        yield RuleFinding("SCHEMA_MISMATCH", page, {"choice": name, "field": noun, "page": page})
    elif list(states).count(BoxState.TICKED) != 1 or BoxState.UNCLEAR in states:
        yield _unread(group[0], noun)


def _unread(box: FilledBox, noun: str) -> RuleFinding:
    what = f"{box.name} ({noun})" if box.name else f"the {noun}"
    return RuleFinding(
        "OCR_LOW_CONFIDENCE", box.page.number, {"what": what, "page": box.page.number}
    )


CHECKS = (
    check_form_pages,
    check_other_boxes,
)
