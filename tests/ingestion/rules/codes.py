"""The finding codes that nothing gives yet, each with the part of the work that will."""

# Of a packet as a whole: its documents against one another, and what is missing from it.
OF_PACKETS = {"LAB_MISMATCH", "IRB_MISMATCH", "PACKET_INCOMPLETE"}
# Of a person: a reviewer returns a document with a reason.
OF_REVIEW = {"QA_REJECTED"}
# Of what a file is called: the checks see its content alone.
OF_NAMES = {"TYPE_MISMATCH"}

LATER = OF_PACKETS | OF_REVIEW | OF_NAMES
