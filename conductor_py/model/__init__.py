"""Frozen types of the engine; standard library only, no I/O, no clock, no randomness."""
