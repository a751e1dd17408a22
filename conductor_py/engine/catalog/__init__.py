"""The catalog: workflows and tasks that have versions; pinned, published, imported, exported."""
