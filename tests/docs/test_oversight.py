"""The pages about audits and explanations list every code, with what the code says of it."""

from conductor_py.engine.auditing.findings import KINDS
from conductor_py.engine.explaining.causes import CAUSES
from tests.docs.pages import page


def test_every_cause_is_listed_with_its_advice_in_the_order_of_urgency() -> None:
    rows = [row for row in page("docs/how-to/why.md").rows() if row[0] != "code"]
    assert rows == [(code, told.meaning, told.advice) for code, told in CAUSES.items()]


def test_every_finding_is_listed_with_its_invariant() -> None:
    rows = [row for row in page("docs/how-to/audit.md").rows() if row[0] != "code"]
    assert rows == [(code, kind.invariant, kind.meaning) for code, kind in KINDS.items()]
