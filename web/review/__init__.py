"""Pages for QA: the review queue, a document in review, signatures."""
