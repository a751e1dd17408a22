"""Whether a live store keeps the invariants."""
