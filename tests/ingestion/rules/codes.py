"""The finding codes that nothing gives yet, each with the part of the work that will."""

# Of a person: a reviewer returns a document with a reason.
LATER = {"QA_REJECTED"}
