"""Pages for people: what coordinators, QA, regulatory affairs and operations see in a browser."""
