"""One file a process of a deployment."""
