"""SQL databases, by their own clients: what sources and sinks of the kind ``jdbc`` talk to."""
