"""Pages of QA: the review queue, the review of one document, and signed decisions."""
