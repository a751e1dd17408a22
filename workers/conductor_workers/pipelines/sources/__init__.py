"""Where data comes from: one module each kind of source."""
