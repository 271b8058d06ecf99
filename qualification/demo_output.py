"""Print the results of the demo in a terminal."""

from collections.abc import Iterable, Mapping

from django.db.models import Count
from rich.console import Console
from rich.table import Table

from ingestion.core.states import DocumentState
from ingestion.models import Batch, Document, Finding
from ingestion.rules.finding_texts import format_sentences
from samples.portal import SamplePortal

# Short labels, so that the table fits 80 columns.
STATE_LABELS = {
    DocumentState.ARCHIVED: "Filed",
    DocumentState.DEDUPED: "On file",
    DocumentState.IN_REVIEW: "Review",
    DocumentState.REJECTED: "Rejected",
    DocumentState.HELD: "Held",
}


def format_states(states: Mapping[str, int]) -> str:
    """Return the number of documents in each state, as in "3 filed, 1 rejected"."""
    return ", ".join(f"{n} {DocumentState(name).word.lower()}" for name, n in states.items())


def print_sites(console: Console, batches: Iterable[Batch]) -> None:
    """Print a table with a row for each site and a column for each state."""
    rows = (
        Document.objects.filter(batch__in=list(batches))
        .order_by("site__site_id")
        .values_list("site__site_id", "site__name", "site__country", "state")
        .annotate(n=Count("pk"))
    )
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for site_id, name, country, state, n in rows:
        counts.setdefault((site_id, f"{name}, {country}"), {})[state] = n
    table = Table(title="Outcomes", title_justify="left")
    table.add_column("Site", no_wrap=True)
    table.add_column("", overflow="ellipsis", no_wrap=True, max_width=22)
    for label in STATE_LABELS.values():
        table.add_column(label, justify="right", min_width=len(label))
    for (site_id, name), states in counts.items():
        table.add_row(site_id, name, *(str(states.get(state, "")) for state in STATE_LABELS))
    table.add_section()
    totals = [sum(states.get(state, 0) for states in counts.values()) for state in STATE_LABELS]
    table.add_row("All", "", *map(str, totals))
    console.print(table)


def print_reasons(console: Console, batch: Batch) -> None:
    """Print each document that is not filed, with the reason that its site sees."""
    table = Table(title="Documents that are not filed", title_justify="left", show_lines=True)
    table.add_column("Site", no_wrap=True)
    table.add_column("Document")
    table.add_column("State")
    table.add_column("Reason, and what to do", overflow="fold", ratio=1)
    findings = (
        Finding.objects.filter(document__batch=batch, is_primary=True)
        .exclude(document__state=DocumentState.ARCHIVED)
        .select_related("document__site")
        .order_by("document__state", "document__site__site_id")
    )
    for finding in findings:
        document = finding.document
        text = format_sentences(finding.code, finding.facts, type_name=document.type_name)
        state = DocumentState(document.state)
        reason = f"{text.what} {text.do} [dim]{finding.code}[/dim]"
        table.add_row(document.site.site_id, document.type_name, state.word, reason)
    console.print(table)


def print_portal(console: Console, portal: SamplePortal) -> None:
    """Print the requests that the portal counted, and how many exceeded its limits."""
    with_fault = sum(1 for request in portal.requests if request.fault)
    console.print(
        f"The portal received {len(portal.requests)} requests, {with_fault} of them with an "
        f"injected fault. {portal.violations.total()} requests exceeded its rate limits.",
        soft_wrap=True,
    )
