"""Conductor-style workflow orchestration: a fenced decider over Redis, Spark data pipelines."""
