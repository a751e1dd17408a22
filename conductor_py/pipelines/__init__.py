"""What a data pipeline is, and what is kept of it, as plain data: no Spark, no I/O, no clock.

``spec`` is the job as its author wrote it, ``plan`` what it is cut into, ``record`` what a commit
keeps. The workers run it; the server checks it when a definition is registered.
"""
