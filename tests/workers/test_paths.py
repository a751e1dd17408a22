"""Which paths a worker lets definitions name."""

import os
from pathlib import Path

import pytest

from conductor_py.errors import ConfigurationError
from conductor_workers.paths import ANYWHERE, NOWHERE, AllowedPaths, PathRefused

PLACES = AllowedPaths.below(["/data", "s3://lake/in"])


@pytest.mark.parametrize(
    "path",
    [
        "/data",
        "/data/",
        "/data/a/b.csv",
        "/data/*.csv",
        "/data/{a,b}/*.csv",
        "/data/a..b/c",
        "/data/a#b/c",
        "file:/data/a.csv",
        "file:///data/a.csv",
        "file://localhost/data/a.csv",
        "s3://lake/in",
        "s3a://lake/in/2026/*.parquet",
    ],
)
def test_what_lies_below_a_place_may_be_named(path: str) -> None:
    assert PLACES.allow(path)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/",
        "/database/x.csv",
        "/data*/x.csv",
        "/dat?",
        "/*/x",
        "/{data,etc}/x",
        "/data/../etc/passwd",
        "/data/{a,../../etc}/passwd",
        "/data/{..}/etc",
        "/data/%2e%2e/etc/passwd",
        "file:///data/%2E%2E/etc/passwd",
        "file:/data/..",
        "file://elsewhere/data/a.csv",
        "/data/a\0b",
        "/data/{./.,x}./etc/passwd",
        "/data/{a/b,c}/x",
        "/data/\\../etc/passwd",
        "file:/data#x/../etc",
        "s3://lake/in#ner",
        "data/a.csv",
        "s3://lake",
        "s3://lake/inner",
        "s3://lake/in*",
        "s3://other/in/a.csv",
        "s3://lake/in/../out",
        "hdfs://namenode/data/a.csv",
        "",
    ],
)
def test_what_can_be_elsewhere_may_not_be_named(path: str) -> None:
    assert not PLACES.allow(path)


def test_a_worker_without_places_reads_nothing_and_says_how_to_give_it_some() -> None:
    with pytest.raises(PathRefused, match=r"^\$\.x: /data is not below a place .* --allow-path"):
        NOWHERE.refuse_others("$.x", "/data")
    ANYWHERE.refuse_others("$.x", "/data")


def test_a_place_that_is_reached_by_a_link_is_known_by_both_names(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    places = AllowedPaths.below([str(link)])
    assert places.allow(f"{link}/a.csv")
    assert places.allow(f"{os.path.realpath(folder)}/a.csv")


def test_a_relative_place_is_one_of_the_folder_that_the_worker_was_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert AllowedPaths.below(["."]).allow(f"{tmp_path}/a.csv")


@pytest.mark.parametrize("place", ["/data/*", "/data/..", "s3://lake/{a,b}"])
def test_a_place_is_one_folder(place: str) -> None:
    with pytest.raises(ConfigurationError, match="--allow-path must name one folder"):
        AllowedPaths.below([place])
