"""Executions started, steered, taken up again: what users ask for."""
