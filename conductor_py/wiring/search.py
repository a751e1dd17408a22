"""The index and archive of executions, chosen by settings."""

from __future__ import annotations

import ssl

from conductor_py.config import Settings
from conductor_py.config.extras import ELASTICSEARCH, require_extra
from conductor_py.config.stores import Index
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
    _check(index)
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


def _check(index: Index) -> None:
    """Refuse what the client would take for a server that does not answer."""
    if index.api_key and (index.username or index.password):
        raise ConfigurationError(
            "conductor.elasticsearch.apiKey: takes the place of conductor.elasticsearch.username"
            " and password; name one of both"
        )
    if not index.api_key.isascii() or any(each <= " " for each in index.api_key):
        raise ConfigurationError(
            "conductor.elasticsearch.apiKey: not a key as Elasticsearch encodes it"
        )
    if not index.ca_file:
        return
    if any(not url.strip().startswith("https://") for url in index.url.split(",") if url.strip()):
        raise ConfigurationError(
            "conductor.elasticsearch.sslCaFile: conductor.elasticsearch.url names a server without"
            " https"
        )
    try:
        ssl.create_default_context(cafile=index.ca_file)
    except OSError as error:
        raise ConfigurationError(
            f"conductor.elasticsearch.sslCaFile: {index.ca_file} is no file of certificates (PEM)"
            " that can be read"
        ) from error
