"""How many bad rows are too many: counted over all epochs, before an epoch is decided."""

from __future__ import annotations

from conductor_py.pipelines.spec import ErrorRule


def exceeded(rule: ErrorRule, *, bad: int, rows: int) -> str | None:
    """Return why a pipeline must fail, ``None`` while it need not.

    ``bad`` are all bad rows and ``rows`` all rows read, bad ones too, with those of the epoch that
    is about to be decided. Exactly the limit is allowed.
    """
    if not bad:
        return None
    if rule.bad_rows == "fail":
        return f"{bad} of {rows} rows are bad, and none may be (bad_rows is fail)"
    if rule.max_rows is not None and bad > rule.max_rows:
        return f"{bad} of {rows} rows are bad, and {rule.max_rows} may be (max_rows)"
    if rule.max_ratio is not None and bad > rule.max_ratio * rows:
        return f"{bad} of {rows} rows are bad, and a share of {rule.max_ratio} may be (max_ratio)"
    return None
