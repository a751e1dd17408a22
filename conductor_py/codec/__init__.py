"""Versioned stored forms to and from the model."""
