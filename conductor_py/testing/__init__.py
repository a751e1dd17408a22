"""The public test kit: fake clock, in-memory engine, simulator."""
