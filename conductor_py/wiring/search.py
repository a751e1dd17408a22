"""The index and archive of executions, chosen by settings."""

from __future__ import annotations

from pathlib import Path

from conductor_py.config import Settings
from conductor_py.config.extras import ELASTICSEARCH, require_extra
from conductor_py.errors import ConfigurationError
from conductor_py.ports.search import Search
from conductor_py.wiring.installation import data_directory


def search_of(settings: Settings) -> Search:
    """Make the index (``ConfigurationError``)."""
    index = settings.index
    if index.type == "sqlite":
        from conductor_py.adapters.sqlite.search import SqliteSearch

        return SqliteSearch(
            data_directory(settings) / "search.sqlite3",
            rewritten_bytes=settings.erasure.sqlite_bytes,
        )
    require_extra("search", ELASTICSEARCH)
    if index.api_key and index.username:
        raise ConfigurationError(
            "conductor.elasticsearch.apiKey: takes the place of conductor.elasticsearch.username,"
            " name one of both"
        )
    if index.ca_file and not Path(index.ca_file).is_file():
        raise ConfigurationError(
            f"conductor.elasticsearch.sslCaFile: there is no file {index.ca_file}"
        )
    from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings
    from conductor_py.adapters.elasticsearch.search import ElasticsearchSearch

    return ElasticsearchSearch(
        ElasticsearchSettings(
            urls=tuple(url.strip() for url in index.url.split(",") if url.strip()),
            prefix=index.prefix,
            shards=index.shards,
            replicas=index.replicas,
            manage=index.manage,
            refresh_ms=index.refresh_ms,
            wait_for_refresh=index.wait_for_refresh,
            batch=index.batch,
            username=index.username or None,
            password=index.password or None,
            api_key=index.api_key or None,
            ca_certs=index.ca_file or None,
        )
    )
