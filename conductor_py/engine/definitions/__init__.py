"""What is registered: read, checked, made whole in snapshots that executions start from."""
