"""Why an execution does not move."""
