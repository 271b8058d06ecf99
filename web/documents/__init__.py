"""Pages of one document: outcome, timeline, page images, copies, requests to the site."""
