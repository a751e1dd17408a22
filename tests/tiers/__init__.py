"""What runs when: `make test` for every change, `make test-all` for what takes long or needs luck.

A test is part of `make test` unless it is marked `thorough(target=...)`. What belongs where is said
in docs/explanation/testing.md.
"""
