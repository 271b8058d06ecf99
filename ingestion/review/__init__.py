"""Manages decisions of QA about documents: review requests, the queue, decisions, signatures."""
