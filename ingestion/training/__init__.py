"""Trains the statistical model of document types.

Only this package uses scikit-learn and scipy. Processes that judge documents do not import it.

train        makes a model from examples, and judges examples that it was not trained with
"""
