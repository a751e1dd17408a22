"""What the parts of one process hand to each other, without a server between."""
