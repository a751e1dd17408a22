"""A real server under hostile requests, by a seed: ``python -m tests.fuzz``."""
