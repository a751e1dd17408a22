"""The official SDKs, unmodified, against a real server: what their users do, step by step."""

import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.acceptance.deployment import Api, deployed
from tests.official_sdks import obtained
from tests.services.absence import absent
from tests.services.buckets import S3Bucket
from tests.services.cache import Unobtainable

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

_STORY_S = 600
_Story = Callable[[], tuple[obtained.Command, Path]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Api]:
    with deployed(tmp_path) as deployment:
        yield deployment.server("--set", "conductor.file-storage.enabled=true")


def _told(server: Api, command: obtained.Command, place: Path, program: str) -> None:
    done = subprocess.run(
        (*command, f"http://127.0.0.1:{server.port}/api"),
        cwd=place,
        env=obtained.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_STORY_S,
        check=False,
    )
    told = done.stdout.split()
    assert done.returncode == 0, f"after {told}:\n{done.stderr[-4000:]}"
    assert len(told) == obtained.steps_of(program), told


_OTHERS = pytest.mark.thorough(target="versions")


@pytest.mark.parametrize(
    ("story", "program"),
    [
        pytest.param(
            partial(obtained.python_story, obtained.PYTHON_1), "story_of_python.py", marks=_OTHERS
        ),
        (partial(obtained.python_story, obtained.PYTHON_2), "story_of_python.py"),
        (obtained.javascript_story, "story_of_javascript.mjs"),
        (obtained.java_story, "Story.java"),
        pytest.param(obtained.sdk_story, "SdkStory.java", marks=_OTHERS),
        pytest.param(obtained.netflix_story, "NetflixStory.java", marks=_OTHERS),
        pytest.param(obtained.go_story, "story_of_go.go", marks=_OTHERS),
    ],
    ids=["python-1", "python-2", "javascript", "java", "java-sdk", "netflix", "go"],
)
def test_an_official_client_works_unmodified(server: Api, story: _Story, program: str) -> None:
    try:
        command, place = story()
    except Unobtainable as error:
        absent(f"the client of {program} cannot be had: {error}")
    _told(server, command, place, program)


@pytest.mark.service
@pytest.mark.thorough(target="versions")
def test_the_java_client_keeps_files_in_a_bucket(tmp_path: Path, s3_bucket: S3Bucket) -> None:
    try:
        command, place = obtained.java_story()
    except Unobtainable as error:
        absent(f"the Java client cannot be had: {error}")
    payloads = "conductor.external-payload-storage.s3"
    settings = {
        "conductor.file-storage.enabled": "true",
        "conductor.file-storage.type": "s3",
        "conductor.file-storage.s3.bucket-name": s3_bucket.name,
        "conductor.file-storage.s3.region": s3_bucket.region,
        f"{payloads}.endpoint": s3_bucket.endpoint,
        f"{payloads}.accessKey": s3_bucket.access_key,
        f"{payloads}.secretKey": s3_bucket.secret_key,
    }
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    with deployed(tmp_path) as deployment:
        _told(deployment.server(*options), command, place, "Story.java")
