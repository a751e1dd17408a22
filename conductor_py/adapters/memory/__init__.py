"""Every port in the memory of one process: the reference the other adapters are held to."""
