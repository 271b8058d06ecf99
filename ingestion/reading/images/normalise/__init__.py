"""Corrects the image of a scanned page once, before anything else looks at it.

Blankness, OCR, marks, signatures, stamps, check boxes and registered forms are searched in the
corrected page. Cheap measurements decide which corrections a page needs, so that a clean page costs
next to nothing. Each correction is recorded in `PageReading.corrections`, and where a correction
moved the page, `PageReading.page_map` says where its points are on the original.

picture      makes all corrections of a page in their order
variants     the page in one geometry, and its variants that are rotated, deskewed or lit again
line_shape   measures how the lines of print run: askew, in perspective, on a curled page
light        measures the light on the paper, and evens it out
dotted_lines removes the dots of leaders and of the rules of tables
grain        measures the noise of the paper, and smooths it
tone         measures polarity and contrast, and turns any page into dark ink on light paper
"""
