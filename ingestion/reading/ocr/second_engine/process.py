"""Runs the second OCR engine in a process that all workers of a host share.

`launch` starts it. The process holds a lock on a file as long as it runs, so that a second
one ends at once. It ends after `IDLE_SECONDS` without a page, and is started again for the next.
Command line: `python -m ingestion.reading.ocr.second_engine.process FOLDER`, where FOLDER has its
socket and its lock.
"""

import ctypes
import gc
import importlib.metadata
import logging
import socket
import struct
import sys
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from ingestion.reading.images.render import GreyArray
from ingestion.reading.process_limits import use_one_heap

from .launch import SOCKET_NAME, prepare_folder, take_lock
from .protocol import MAX_PIXELS, MAX_REQUEST_BYTES, READY, LineWord, PageRequest, PageResponse

PACKAGE = "rapidocr"
IDLE_SECONDS = 600.0
WAITING_CLIENTS = 64
CLIENT_SECONDS = 10  # that a client may let the engine wait for its bytes
_TIME_LIMIT = struct.pack("ll", CLIENT_SECONDS, 0)  # a timeval, as socket(7) requires
MODELS = ("PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx")  # in the wheel
DETECTION_SIDE_PIXELS = 1280  # of the page in which lines are searched; they are read at full size
MIN_LINE_SCORE = 0.5  # of a line, 0 to 1, which is RapidOCR's own limit

logger = logging.getLogger(__name__)


class RapidOcr:
    """RapidOCR with the models of its wheel. It downloads nothing."""

    def __init__(self) -> None:
        import rapidocr  # noqa: PLC0415 - an optional package, which takes a second to import

        models = Path(rapidocr.__file__).parent / "models"
        detection, recognition = (models / name for name in MODELS)
        engine = importlib.metadata.version(PACKAGE)
        self.version = f"{PACKAGE} {engine}, {detection.stem}, {recognition.stem}"
        # A path that is stated is used as it is. Without one, the package may download a model.
        self._engine: Any = rapidocr.RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.use_cls": False,  # pages are upright
                "Global.max_side_len": 100_000,  # lines are cut out of the page at full size
                "Global.return_word_box": True,
                "Global.text_score": MIN_LINE_SCORE,
                "Det.model_path": str(detection),
                "Det.limit_type": "max",
                "Det.limit_side_len": DETECTION_SIDE_PIXELS,
                "Rec.model_path": str(recognition),
                "Rec.rec_batch_num": 1,  # a batch is as wide as its longest line
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )

    def read_page(self, grey: GreyArray) -> list[list[LineWord]]:
        """Return the words of a page, line by line."""
        output = self._engine(np.dstack([grey] * 3))
        if output.boxes is None:
            return []  # there is no text on the page
        return [
            [
                LineWord(
                    text=text,
                    confidence=round(100 * float(score), 1),
                    left=min(x for x, _ in corners),
                    top=min(y for _, y in corners),
                    right=max(x for x, _ in corners),
                    bottom=max(y for _, y in corners),
                )
                for text, score, corners in line
                if text.strip()
            ]
            for line in output.word_results
        ]


def serve(folder: Path, idle_seconds: float = IDLE_SECONDS) -> None:
    """Read pages until none comes for `idle_seconds`, unless another process already does."""
    prepare_folder(folder)
    lock = take_lock(folder)
    if lock is None:
        return
    with lock, socket.socket(socket.AF_UNIX) as listener:
        path = folder / SOCKET_NAME
        path.unlink(missing_ok=True)  # of a process that was killed
        listener.bind(str(path))
        listener.listen(WAITING_CLIENTS)  # clients wait while the models are loaded
        listener.settimeout(idle_seconds)
        use_one_heap()
        engine = RapidOcr()
        gc.freeze()
        with suppress(TimeoutError):
            while True:
                accepted, _ = listener.accept()
                accepted.settimeout(None)
                for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                    accepted.setsockopt(socket.SOL_SOCKET, option, _TIME_LIMIT)
                with Connection(accepted.detach()) as client:
                    _answer(client, engine)
        path.unlink(missing_ok=True)


def _answer(client: Connection, engine: RapidOcr) -> None:
    """Read the page of one client. Whatever it sends, the next client is served."""
    try:
        client.send_bytes(READY)
        request = PageRequest.model_validate_json(client.recv_bytes(MAX_REQUEST_BYTES))
        pixels = client.recv_bytes(MAX_PIXELS)
        if time.monotonic() > request.deadline:
            return  # the client has gone
        grey = np.frombuffer(pixels, np.uint8).reshape(request.height, request.width)
        response = PageResponse(version=engine.version, lines=engine.read_page(grey))
    except (OSError, EOFError, ValueError) as error:
        logger.warning("the second OCR engine received no page: %s", error)
        return
    except Exception as error:
        logger.exception("the second OCR engine failed")
        response = PageResponse(version=engine.version, error=type(error).__name__)
    with suppress(OSError):
        client.send_bytes(response.model_dump_json().encode())
    # The models leave large holes in the heap, which would add up.
    ctypes.CDLL(None).malloc_trim(0)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
