"""What the engine costs: figures, their ratio to bare Redis, and the floors below which they fail.

Not part of the distribution. ``make bench`` runs all of it and writes the page in docs/reference.
"""
