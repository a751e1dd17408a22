"""What an error says as text: its sentence, and the findings that the sentence leaves out."""

from __future__ import annotations

import pytest

from conductor_py.errors import ReadOnly
from conductor_py.sdk import DefinitionError, InvalidInput, Violation
from conductor_py.sdk.errors import error_from
from conductor_py.sdk.transport import Answer
from tests.sdk.stub import Reply


def _findings(count: int) -> tuple[Violation, ...]:
    return tuple(Violation(path=f"$.tasks[{at}]", message="is empty") for at in range(count))


def test_the_text_of_an_invalid_input_lists_its_findings():
    error = InvalidInput("POST /x: Validation failed", violations=_findings(2))
    assert str(error).splitlines() == [
        "POST /x: Validation failed",
        "  $.tasks[0]: is empty",
        "  $.tasks[1]: is empty",
    ]
    assert error.message == "POST /x: Validation failed"


def test_the_text_of_an_invalid_input_without_findings_is_its_message():
    assert str(InvalidInput("no name")) == "no name"


def test_a_finding_that_is_the_message_is_not_said_twice():
    assert str(InvalidInput(violations=_findings(1))) == "$.tasks[0]: is empty"


@pytest.mark.parametrize(("count", "last"), [(10, "$.tasks[9]: is empty"), (14, "and 4 more")])
def test_the_text_says_ten_findings_and_counts_the_others(count, last):
    lines = str(DefinitionError("refused", violations=_findings(count))).splitlines()
    assert lines[-1].strip() == last
    assert sum("is empty" in line for line in lines) == 10


def test_what_the_server_found_is_in_the_text_of_the_error(stub, client):
    found = [{"path": "$.name", "message": "must not be empty"}]
    body = {"message": "Validation failed", "code": "INVALID_DEFINITION", "validationErrors": found}
    stub.on("POST", "/api/metadata/workflow", Reply(400, body))
    with pytest.raises(DefinitionError, match=r"Validation failed\n  \$\.name: must not be empty"):
        client.register_workflow({"name": ""})


def test_what_is_only_read_on_a_server_is_no_failure_of_it():
    body = b'{"status": 501, "message": "Secrets are read-only", "code": "READ_ONLY"}'
    error = error_from(Answer(status=501, headers={}, body=body), "PUT /secrets/a", "http://h/api")
    assert isinstance(error, ReadOnly)
    assert not error.retryable
