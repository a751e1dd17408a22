"""Values out of the environment of the process."""
