"""Serves the pages of QA: the review queue, the review of one document, signed decisions."""
