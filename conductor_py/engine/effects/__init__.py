"""What commits ordered to be done outside, carried out: at least once, idempotent by effect id."""
