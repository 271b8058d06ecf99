"""Training of the statistical model of document types.

Only this package uses scikit-learn and scipy. Processes that judge documents do not import it.

train        makes a model from examples
evaluate     measures models on examples that they were not trained with
"""
