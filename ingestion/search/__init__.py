"""Finds the words of documents: one index row for each page, with forgiving matches.

tokens      turns the words of a page, and of a query, into tokens
query       parses what a person typed, and builds the expressions that match it
similar     finds words of the index that look like a word of a query
writing     writes the rows of pages, and removes words from them
selection   selects pages of visible documents, best matches first
snippets    shows the words of a page around the matches, with their places

The index is derived data. `ingestion.documents.search_index` builds it again from the archive.
"""
