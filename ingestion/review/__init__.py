"""Decisions of QA about documents: requests for review, the queue, decisions and signatures."""
