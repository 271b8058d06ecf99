"""Trains models of document types on the decisions of QA, and activates them under control.

A decision of QA that confirms or corrects the type of a document makes the document an example. A
background job trains a model with the examples of some sites, and compares it with the active model
on those of the other sites. A QA lead sees the figures, and activates the model with a signature.
Nothing that was decided before is decided again (docs/learning.md).

decided_documents   the documents whose type a person confirmed or corrected
sites_apart         keeps some sites apart, so that models are compared on documents of other sites
comparison          compares two models on documents that neither was trained with
training            the job that trains, compares and stores a model
activation          activates a model, or goes back to an earlier one, with a signature
rejudgement         reports what changed rules or another model would judge differently
"""
