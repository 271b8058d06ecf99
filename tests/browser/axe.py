"""Runs axe-core on the current state of a page. The pages themselves do not load it."""

from pathlib import Path

from playwright.sync_api import Page

# https://www.deque.com/axe/core-documentation/api-documentation/#axecore-tags
WCAG_22_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_SCRIPT = Path(__file__).parents[1] / "vendor" / "axe-core" / "axe.min.js"
_RUN = """async tags => {
  const only = {type: 'tag', values: tags}, options = {runOnly: only, resultTypes: ['violations']};
  const found = await axe.run(document, {...options, elementRef: false, preload: false});
  const said = node => node.failureSummary.split('\\n').slice(1).join(';');
  return found.violations.flatMap(rule =>
    rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 200)} ${said(node)}`));
}"""


def faults(page: Page) -> list[str]:
    """Return the violations of WCAG 2.2 A and AA: the rule, the element, and the problem."""
    if not page.evaluate("'axe' in window"):
        # Over the DevTools protocol: our content security policy does not stand in the way.
        page.evaluate(_SCRIPT.read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(_RUN, WCAG_22_AA)
    return found
