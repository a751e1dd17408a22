"""Search and archive in Elasticsearch or OpenSearch."""
