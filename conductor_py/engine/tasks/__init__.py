"""Tasks handed out, reported on, kept: what workers ask for."""
