"""The HTTP and SDK forms to and from the model, and only here."""
