"""Decisions made and committed, under a lease, until nothing is left to decide."""
