"""The decider: a pure, total function from an execution and its events to a decision, or to what it
still needs.
"""
