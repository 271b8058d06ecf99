"""The finding codes that nothing gives yet, each with the part of the work that will."""

# Of a person: a reviewer returns a document with a reason.
OF_REVIEW = {"QA_REJECTED"}
# Of what a file is called: the checks see its content alone.
OF_NAMES = {"TYPE_MISMATCH"}

LATER = OF_REVIEW | OF_NAMES
