"""Serves the pages that coordinators, QA, regulatory affairs and operations see in a browser."""
