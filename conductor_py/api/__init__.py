"""The HTTP front of the engine: Flask blueprints, one a noun."""
