"""Reads images with RapidOCR alone, for comparison.

`var/rivals/bin/python -P bench/sides/rapidocr_pages.py IMAGE ...` runs in the environment of the
rivals, where nothing of SiteLedger is installed. It prints a JSON list with the text of each image:
the lines as RapidOCR orders them. Both of its default models are in its wheel.
"""

import importlib
import json
import sys
from typing import Any

import numpy as np
from PIL import Image

PARAMETERS = {
    "Global.log_level": "critical",
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


def main() -> None:
    """Read the images that the command line names, and print their texts."""
    engine: Any = importlib.import_module("rapidocr").RapidOCR(params=PARAMETERS)
    texts = []
    for name in sys.argv[1:]:
        with Image.open(name) as image:
            result = engine(np.asarray(image.convert("RGB"))[..., ::-1])
        texts.append("\n".join(result.txts or ()))
    print(json.dumps(texts))


if __name__ == "__main__":
    main()
