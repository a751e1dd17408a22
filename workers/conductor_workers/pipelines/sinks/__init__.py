"""Where data goes to: one module each kind of sink."""
