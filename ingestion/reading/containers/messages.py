"""Opens email messages (EML and Outlook's MSG) as packets: attachments, and the text as a document.

The text may itself be evidence, such as the letter of a committee. It is set aside only if it is
empty, or if it is short and the message has other documents; otherwise it is rendered as PDF and
checked like any document, so that a person decides where the rules do not.
"""

import email
import re
from collections.abc import Iterator, Mapping
from email import policy
from email.errors import MessageError
from email.message import Message, MIMEPart
from pathlib import Path
from typing import Any, Final

from audit.translation import gettext_noop as _
from ingestion.core.container_entries import EntryUse
from ingestion.reading.containers import message_pages
from ingestion.reading.containers.entry_writer import (
    ContainerEncrypted,
    ContainerRefused,
    EntryWriter,
)

MAX_PARTS: Final = 1_000  # of a message, with multipart containers
MAX_DEPTH: Final = 20  # of multipart containers in each other
MAX_EMBEDDED: Final = 3  # Outlook messages that are attached to each other
MAX_COVERING_WORDS: Final = 60  # of a text that only accompanies other documents
HEADER_NAMES: Final = ("From", "To", "Cc", "Date", "Subject")
TEXT_NAME: Final = "message text.pdf"
_CONTENT_ID = re.compile(r"cid:([^\"'>\s)]+)", re.IGNORECASE)
_UNREAD_TEXT = (
    "The text of this message is stored as compressed rich text, which SiteLedger does not read. "
    "Open the message to read it."
)
_EMBEDDED_MESSAGE = 5  # PidTagAttachMethod: the attachment is a message of Outlook
_EMBEDDED_STORAGE = "3701000D"  # in the name of the storage of such a message
_QUOTED = re.compile(r"^\s*(>|On .{4,200} wrote:$|-{2,} ?(Original|Forwarded) )", re.IGNORECASE)


def write_eml_entries(path: Path, writer: EntryWriter) -> None:
    """Write the attachments and the text of an RFC 5322 message.

    Raises ContainerRefused and ContainerEncrypted.
    """
    with path.open("rb") as file:
        first = file.readline()
        if not first.startswith(b"From "):  # the first line of a mailbox file
            file.seek(0)
        message = email.message_from_binary_file(file, policy=policy.default)
    kind = message.get_content_type()
    if kind in {"application/pkcs7-mime", "application/x-pkcs7-mime", "multipart/encrypted"}:
        raise ContainerEncrypted
    texts, attachments = _sort_parts(message)
    displayed = set(_CONTENT_ID.findall(texts.get("text/html", "")))
    for part in attachments:
        name = part.get_filename() or _name_part(part)
        content_id = str(part.get("Content-ID", "")).strip("<> \t")
        is_in_text = part.get_content_disposition() == "inline" or content_id in displayed
        writer.add(name, [_decode_part(part)], is_in_text=is_in_text)
    headers = {name: str(message.get(name, "")) for name in HEADER_NAMES}
    _add_text(writer, headers, texts.get("text/plain", ""), texts.get("text/html", ""))


def _sort_parts(message: MIMEPart) -> tuple[dict[str, str], list[MIMEPart]]:
    """Return the text of a message by its type, and its other parts. Raises ContainerRefused."""
    texts: dict[str, str] = {}
    attachments = []
    for count, (part, depth) in enumerate(_walk(message), start=1):
        if count > MAX_PARTS or depth > MAX_DEPTH:
            raise ContainerRefused(_("it contains too many parts"))
        kind = part.get_content_type()
        if part.get_content_maintype() == "multipart":
            continue
        is_text = kind in {"text/plain", "text/html"} and not part.get_filename()
        if is_text and part.get_content_disposition() != "attachment":
            texts[kind] = texts.get(kind, "") + _decode_text(part) + "\n"
        else:
            attachments.append(part)
    return texts, attachments


def _walk(message: MIMEPart, depth: int = 0) -> Iterator[tuple[MIMEPart, int]]:
    """Yield the parts with their depth. An attached message is one part, which is not opened."""
    yield message, depth
    if message.get_content_maintype() == "multipart" and depth <= MAX_DEPTH:
        for part in message.iter_parts():
            yield from _walk(part, depth + 1)


def _decode_text(part: MIMEPart) -> str:
    try:
        return str(part.get_content())
    except (LookupError, UnicodeError, MessageError, ValueError):
        return bytes(part.get_payload(decode=True) or b"").decode("utf-8", errors="replace")


def _decode_part(part: MIMEPart) -> bytes:
    """Return the bytes of an attachment. An attached message is returned as it is written."""
    if part.get_content_type() == "message/rfc822":
        attached = part.get_payload()
        inner = attached[0] if isinstance(attached, list) and attached else part
        return inner.as_bytes(policy=policy.compat32) if isinstance(inner, Message) else b""
    return bytes(part.get_payload(decode=True) or b"")


def _name_part(part: MIMEPart) -> str:
    if part.get_content_type() == "message/rfc822":
        return "attached message.eml"
    return f"attachment.{part.get_content_subtype()}"


def write_msg_entries(path: Path, writer: EntryWriter) -> None:
    """Write the attachments and the text of a message of Outlook, and of messages attached to it.

    Raises ContainerRefused, ContainerEncrypted and the errors of oxmsg.
    """
    from oxmsg import Message  # noqa: PLC0415 - few files need it

    message = Message.load(str(path))
    if "SMIME" in message.message_class.upper():
        raise ContainerEncrypted
    _write_outlook_message(message, writer, prefix="", depth=0)


def _write_outlook_message(message: Any, writer: EntryWriter, *, prefix: str, depth: int) -> None:
    from oxmsg import Message  # noqa: PLC0415 - as above
    from oxmsg.domain import constants as c  # noqa: PLC0415

    markup = message.html_body or ""
    displayed = set(_CONTENT_ID.findall(markup))
    for number, attachment in enumerate(message.attachments, start=1):
        properties = attachment.properties
        method = properties.int_prop_value(c.PID_ATTACH_METHOD)
        name = prefix + (attachment.file_name or f"attachment {number}")
        if method == _EMBEDDED_MESSAGE:
            # oxmsg has no interface to a message that is attached.
            storages = attachment._storage.storages  # noqa: SLF001
            inner = next((each for each in storages if _EMBEDDED_STORAGE in each.name), None)
            if inner is None or depth >= MAX_EMBEDDED:
                raise ContainerRefused(_("messages are attached to each other too often"))
            folder = f"{name}/"
            _write_outlook_message(Message(inner), writer, prefix=folder, depth=depth + 1)
            continue
        content = attachment.file_bytes
        if content is None:
            raise ContainerRefused(_("it refers to a file that is not in it"))
        content_id = properties.str_prop_value(c.PID_ATTACH_CONTENT_ID) or ""
        writer.add(name, [content], is_in_text=content_id in displayed)
    sent = message.sent_date
    headers = {
        "From": message.sender or "",
        "To": ", ".join(filter(None, (each.email_address for each in message.recipients))),
        "Date": sent.strftime("%d %b %Y %H:%M UTC") if sent else "",
        "Subject": message.subject,
    }
    text = message.body or ""
    is_unread = not (text.strip() or markup) and bool(
        message.properties.binary_prop_value(c.PID_RTF_COMPRESSED)
    )
    _add_text(
        writer, headers, _UNREAD_TEXT if is_unread else text, markup, prefix=prefix,
        is_unread=is_unread,
    )  # fmt: skip


def _add_text(
    writer: EntryWriter,
    headers: Mapping[str, str],
    plain: str,
    markup: str,
    *,
    prefix: str = "",
    is_unread: bool = False,
) -> None:
    """Add the text of a message, as PDF, or as an entry that is set aside.

    A text that could not be read (`is_unread`) is never set aside: a person opens the message.
    """
    text = plain.strip() or message_pages.extract_text(markup)
    others = [entry for entry in writer.entries if entry.use is None]
    use = None
    if not text:
        use = EntryUse.EMPTY
    elif not is_unread and others and len(_own_words(text)) <= MAX_COVERING_WORDS:
        use = EntryUse.COVERING_NOTE
    content = message_pages.render_message(headers, text)
    writer.add(f"{prefix}{TEXT_NAME}", [content], use=use, tool=message_pages.TOOL)


def _own_words(text: str) -> list[str]:
    """Return the words that the sender wrote: without the messages that are quoted below."""
    lines = []
    for line in text.splitlines():
        if _QUOTED.match(line) and not line.lstrip().startswith(">"):
            break
        if not _QUOTED.match(line):
            lines.append(line)
    return " ".join(lines).split()
