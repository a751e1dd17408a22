"""What a restart, a retry, a rerun, a jump or an upgrade makes of an execution."""
