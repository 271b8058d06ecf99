"""The second OCR engine: RapidOCR, in one process for all workers of a host.

It reads pages that were degraded, and those that Tesseract is not sure about. Its models need
several hundred megabytes, which is too much for each parser process. `launch` starts the process,
`client` asks it to read a page, and `combine` compares its words with those of Tesseract.
"""
