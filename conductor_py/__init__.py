"""Conductor-style workflow orchestration: a fenced decider over Redis, with Spark data pipelines.
"""
