"""This server and its peers under the same load, in turn, in one run, on one machine.

Not part of the distribution. ``make bench-peers`` runs all of it and writes the page in
docs/reference. A peer is fetched once, by pip or Maven, into the cache that the tests have, each
into an environment of its own; one that cannot be had is a row with the reason.
"""
