"""Executions as readers and the index get them, from the store or the archive."""
