"""Data pipelines on Spark: coordinators, rounds, and what they read from and write to."""
