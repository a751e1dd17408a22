"""What a server loads before it is ready."""

import subprocess
import sys

_FOR_FEW = ("jsonschema", "conductor_py.wire.openapi", "boto3", "elasticsearch", "kafka", "pyspark")


def test_what_few_requests_need_is_not_loaded_by_a_start() -> None:
    program = "import sys, conductor_py.processes.application; print(*sys.modules.keys() & set(%r))"
    found = subprocess.run(
        [sys.executable, "-c", program % (_FOR_FEW,)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert found.stdout == "\n"
