"""The reference: every port in the memory of one process, for tests, simulation and trying things out."""
