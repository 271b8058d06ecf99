"""Opens a container of any kind and returns its entries. It runs in a parser process."""

import errno
import shutil
from pathlib import Path

from audit.translation import gettext_noop as _
from ingestion.core.container_entries import OpenedContainer
from ingestion.core.file_parts import Division
from ingestion.reading.containers import messages, portfolios, zip_archives
from ingestion.reading.containers.entry_writer import (
    ContainerEncrypted,
    ContainerRefused,
    EntryWriter,
)
from ingestion.reading.limits import ReadingLimits
from ingestion.reading.process_limits import limit_page_time
from ingestion.reading.results import MediaType, Unreadable


def open_container(
    path: Path, media_type: MediaType, folder: Path, limits: ReadingLimits
) -> OpenedContainer | Unreadable:
    """Write the entries of a container to files in `folder`, which is created, and return them.

    Returns why the container is refused, and then removes the folder.
    """
    folder.mkdir()
    with limit_page_time(limits.page_seconds):
        outcome = _open(path, media_type, folder, limits)
    if isinstance(outcome, Unreadable):
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _open(
    path: Path, media_type: MediaType, folder: Path, limits: ReadingLimits
) -> OpenedContainer | Unreadable:
    writer = EntryWriter(folder, path.stat().st_size)
    try:
        pages, page_count = _write_entries(path, media_type, writer, limits)
    except ContainerRefused as refused:
        return _refuse(str(refused))
    except ContainerEncrypted:
        return Unreadable("ENCRYPTED_DOCUMENT")
    except NotImplementedError:
        return _refuse(_("it is compressed in a way that we cannot read"))
    except MemoryError:
        raise
    except Exception as error:
        # The libraries raise many classes for hostile files. An error with a number is one of the
        # system, such as a full disk, and not of the file, unless the file names a place in itself
        # that cannot be.
        if isinstance(error, OSError) and error.errno not in {None, errno.EINVAL}:
            raise
        return Unreadable("CORRUPT_DOCUMENT")
    if not any(entry.use is None for entry in writer.entries) and not (pages and pages.parts):
        return _refuse(_("it contains no document"))
    return OpenedContainer(str(media_type), tuple(writer.entries), folder, pages, page_count)


def _write_entries(
    path: Path, media_type: MediaType, writer: EntryWriter, limits: ReadingLimits
) -> tuple[Division | None, int]:
    """Write the entries, and return the account of the container's own pages and their number."""
    if media_type is MediaType.PDF:
        return portfolios.write_entries(path, writer, limits)
    write = {
        MediaType.ZIP: zip_archives.write_entries,
        MediaType.EML: messages.write_eml_entries,
        MediaType.MSG: messages.write_msg_entries,
    }[media_type]
    write(path, writer)
    return None, 0


def _refuse(reason: str) -> Unreadable:
    return Unreadable("CONTAINER_REFUSED", {"reason": reason})
