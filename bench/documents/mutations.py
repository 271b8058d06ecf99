"""Makes damaged files from sound ones, in every format that sites send. The seed decides all."""

import io
import random
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import EmailMessage

import pikepdf
import pypdfium2
from PIL import Image

from bench.documents.generated import make_documents
from bench.documents.scans import make_scans

SOUND_DOCUMENTS, SOUND_SCANS = 20, 4
MAX_BLOCK = 4_000  # bytes that are removed, repeated or overwritten
HUGE = b"99999999999"
DPI = 100  # of the pictures

Mutation = Callable[[bytes, random.Random], bytes]


def make_sound_files(seed: str) -> Mapping[str, bytes]:
    """Return sound files of each format, by name."""
    documents = [each.content for each in make_documents(SOUND_DOCUMENTS, seed)]
    files = {f"document-{n}.pdf": content for n, content in enumerate(documents)}
    for kind in ("office", "noisy"):
        for n, scan in enumerate(make_scans(kind, SOUND_SCANS, seed)):
            files[f"{kind}-{n}.pdf"] = scan.content
    pages = [_render(content) for content in documents[:3]]
    for suffix, form in (("png", "PNG"), ("jpg", "JPEG"), ("webp", "WEBP"), ("tiff", "TIFF")):
        for n, page in enumerate(pages):
            files[f"picture-{n}.{suffix}"] = _save(page, form)
    many = io.BytesIO()
    pages[0].save(many, "TIFF", save_all=True, append_images=pages[1:], compression="tiff_lzw")
    files["pages.tiff"] = many.getvalue()
    files["packet.zip"] = _make_zip({f"{n}.pdf": each for n, each in enumerate(documents[:2])})
    files["message.eml"] = _make_message(documents[3])
    files["form.pdf"] = _make_form(documents[4])
    return files


def make_damaged_files(count: int, seed: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of so many files, each with one to three kinds of damage."""
    rng = random.Random(seed)
    sound = make_sound_files(seed)
    names = list(sound)
    for number in range(count):
        name = names[number % len(names)]
        content, kinds = sound[name], rng.sample(range(len(MUTATIONS)), rng.randint(1, 3))
        for kind in kinds:
            content = MUTATIONS[kind](content, rng)
        if rng.random() < 0.1:
            other = sound[rng.choice(names)]
            content = other[: rng.randrange(1, len(other))] + content[rng.randrange(len(content)) :]
        stem, _, suffix = name.rpartition(".")
        yield f"damaged-{number:04}-{stem}.{suffix}", content


def _truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(1, len(content) + 1)]


def _flip_bits(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 4, 16, 64, 256))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, rng: random.Random) -> bytes:
    start, end = _choose_block(content, rng)
    return content[:start] + rng.randbytes(end - start) + content[end:]


def _remove(content: bytes, rng: random.Random) -> bytes:
    start, end = _choose_block(content, rng)
    return content[:start] + content[end:] or content


def _repeat(content: bytes, rng: random.Random) -> bytes:
    start, end = _choose_block(content, rng)
    return content[:end] + content[start:end] * rng.choice((1, 10, 100)) + content[end:]


def _enlarge_number(content: bytes, rng: random.Random) -> bytes:
    """Replace a number of the plain text in a file by a huge one, or by one below zero."""
    places = [n for n in range(len(content)) if content[n : n + 1].isdigit()]
    if not places:
        return content
    start = end = rng.choice(places)
    while end < len(content) and content[end : end + 1].isdigit():
        end += 1
    return content[:start] + rng.choice((HUGE, b"-1", b"0")) + content[end:]


def _choose_block(content: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(content))
    return start, min(len(content), start + rng.randrange(1, MAX_BLOCK))


MUTATIONS: Sequence[Mutation] = (
    _truncate, _flip_bits, _overwrite, _remove, _repeat, _enlarge_number,
)  # fmt: skip


def _render(content: bytes) -> Image.Image:
    with pypdfium2.PdfDocument(content) as document:
        image: Image.Image = document[0].render(scale=DPI / 72).to_pil().convert("RGB")
        return image


def _save(page: Image.Image, form: str) -> bytes:
    output = io.BytesIO()
    page.save(output, form)
    return output.getvalue()


def _make_zip(files: Mapping[str, bytes]) -> bytes:
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return output.getvalue()


def _make_message(attached: bytes) -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "site@example.org", "sponsor@example.org"
    message["Subject"] = "Our document"
    message.set_content("Please find our document attached.")
    message.add_attachment(attached, maintype="application", subtype="pdf", filename="document.pdf")
    return message.as_bytes()


def _make_form(content: bytes) -> bytes:
    """Return a document with a form field and an attachment."""
    output = io.BytesIO()
    with pikepdf.open(io.BytesIO(content)) as document:
        field = document.make_indirect(
            pikepdf.Dictionary(
                Type=pikepdf.Name.Annot,
                Subtype=pikepdf.Name.Widget,
                FT=pikepdf.Name.Tx,
                T="name",
                V="A value",
                Rect=[72, 72, 272, 92],
            )
        )
        document.Root.AcroForm = pikepdf.Dictionary(Fields=[field])
        document.pages[0].Annots = pikepdf.Array([field])
        document.attachments["note.txt"] = b"A note"
        document.save(output, deterministic_id=True)
    return output.getvalue()
