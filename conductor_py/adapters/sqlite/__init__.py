"""Search and archive in one SQLite file, for a deployment on one machine."""
