"""The composition root: the one place where ports meet their adapters."""
