"""Assesses a corpus: reads and judges every file as if it were filed, and files nothing.

truth        what is known about the files, and the criteria that the rules have to meet
assess       reads and judges the files
language     identifies the language of a document
page_descriptions    describes the pages of a file as they were read, for `read_document`
scores       compares the results with the truth, and the totals with the criteria
records      records an assessment in the ledger, with the signature of its result
"""
