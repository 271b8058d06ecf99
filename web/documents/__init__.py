"""Serves the pages of one document: outcome, timeline, page images, copies, site requests."""
