"""Pages for people, each a view of one JSON endpoint."""
