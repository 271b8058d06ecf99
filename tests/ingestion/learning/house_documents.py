"""Documents in the words of a fictional hospital network, which the built-in model does not know.

Each type has a few sentences of its own and sentences that all types share. A document has some of
both in another order, and names of its own, so that no two documents are alike.
"""

import io
import random

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

from tests.ingestion.rules.pages import make_page, make_reading

HEADINGS = {
    "delegation-log": ("Sheet of entrusted tasks", "Who carries out which task"),
    "note-to-file": ("Memo for the binder", "Binder memo"),
}
SENTENCES = {
    "delegation-log": (
        "The colleagues below were entrusted with the tasks beside their initials.",
        "Task letters: A taking blood, B handing out kits, C entering results.",
        "Colleague, task letters, initials, first day, last day",
        "The lead physician entrusts these tasks with the initials in the last column.",
        "A colleague begins a task only after the lead physician initialled the row.",
    ),
    "note-to-file": (
        "This memo explains why a paper in the binder looks unusual.",
        "The undersigned noticed the matter and writes it down for the binder.",
        "Reason of the memo, what happened, what we changed afterwards",
        "Please keep this memo beside the paper that it explains.",
        "Nothing else in the binder is affected by this memo.",
    ),
}
SHARED = (
    "Internal paper of the hospital network. Keep it in the binder of the trial.",
    "Questions are answered by the trial office on the second floor.",
    "The trial office received this paper and checked that it is legible.",
    "Paper size A4. Do not staple.",
    "Trial office, second floor, mornings only.",
)
SURNAMES = ("Okafor", "Lindqvist", "Haruki", "Moreau", "Castellanos", "Brandt", "Iyer", "Novak")


def house_lines(kind, seed):
    """Return the lines of one document. The same type and seed give the same lines."""
    draw = random.Random(f"{kind} {seed}")
    own = draw.sample(SENTENCES[kind], 3)
    body = [*own, *draw.sample(SHARED, 2), f"Signed by {draw.choice(SURNAMES)} {seed}"]
    draw.shuffle(body)
    return [draw.choice(HEADINGS[kind]), "", *body]


def house_reading(kind, seed):
    return make_reading(make_page(*house_lines(kind, seed)))


def house_pdf(kind, seed):
    """Return one document as a PDF."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4, invariant=True)
    for number, line in enumerate(house_lines(kind, seed)):
        page.drawString(60, 780 - 18 * number, line)
    page.save()
    return out.getvalue()
