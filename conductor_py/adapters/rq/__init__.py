"""Background effects on RQ: batches of effect ids as jobs, JSON on the wire."""
