"""The stored form of executions: everything that is written reads back, defaults are left out."""

from dataclasses import fields, replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.codec.containers import load_container
from conductor_py.codec.execution import (
    UnknownFormat,
    dump_attempt,
    dump_document,
    dump_header,
    dump_state,
    load_attempt,
    load_claim,
    load_document,
    load_ending,
    load_field,
    load_header,
    load_meta,
)
from conductor_py.model.chains import NO_CHAIN, Chain
from conductor_py.model.execution import (
    FORMAT,
    Attempt,
    Ending,
    External,
    GateState,
    Header,
    JoinState,
    LoopState,
    MessageQueue,
    Meta,
    PermissiveFailures,
    Postponed,
    Skip,
    State,
    Vector,
    Walk,
    Watch,
    Watches,
)
from conductor_py.model.status import TaskStatus, WorkflowStatus

_NUMBER = st.integers(min_value=0, max_value=2**53)
_TEXT = st.text(max_size=20)
_MAYBE = st.none() | _TEXT
_SEQS = st.lists(_NUMBER, max_size=5).map(tuple)

_HEADER_FACTS: dict[str, Any] = dict(  # noqa: C408 - reads as the constructor does
    plan=_TEXT,
    name=_TEXT,
    version=_NUMBER,
    status=st.sampled_from(WorkflowStatus),
    generation=_NUMBER,
    home=_TEXT,
    created_at=_NUMBER,
    format=st.just(FORMAT),
    correlation_id=_MAYBE,
    priority=_NUMBER,
    parent=_MAYBE,
    parent_seq=_NUMBER,
    depth=_NUMBER,
    chain=st.builds(Chain, number=_NUMBER, root=_TEXT),
    first_seq=_NUMBER,
    next_seq=_NUMBER,
    open_attempts=_NUMBER,
    containers=_NUMBER,
    tail=st.booleans(),
    due_at=_NUMBER,
    drain=_NUMBER,
    permissive_failures=_NUMBER,
    continues=_NUMBER,
    forgotten=_NUMBER,
    final=_NUMBER,
    business_at=_NUMBER,
    zone=_TEXT,
    parents_word=_NUMBER,
    fragments=_NUMBER,
    has_domains=st.booleans(),
    updated_at=_NUMBER,
    ended_at=_NUMBER,
    last_retried_at=_NUMBER,
    postponed=_NUMBER,
    taken_up=_NUMBER,
    skips=st.booleans(),
    watched=_NUMBER,
    forget=st.booleans(),
    admission_key=_TEXT,
    admission_limit=_NUMBER,
    awaits_admission=st.booleans(),
    admitted_under=_TEXT,
    walk=_NUMBER,
    surveyed=st.booleans(),
    revised=st.booleans(),
    sound=st.booleans(),
    former=st.lists(st.text("0123456789abcdef", min_size=1)).map(tuple),
    notices=_NUMBER,
)
_ATTEMPT_FACTS: dict[str, Any] = dict(  # noqa: C408 - reads as the constructor does
    seq=_NUMBER,
    ref=_TEXT,
    vector=_TEXT.map(Vector),
    plan=_TEXT,
    type=_TEXT,
    definition=_TEXT,
    status=st.sampled_from(TaskStatus),
    generation=_NUMBER,
    scheduled_at=_NUMBER,
    first_scheduled_at=_NUMBER,
    retry_count=_NUMBER,
    lost=_NUMBER,
    retried_seq=_NUMBER,
    superseded=st.booleans(),
    queue=_TEXT,
    domain=_TEXT,
    shard=_TEXT,
    score=_NUMBER,
    response_timeout_ms=_NUMBER,
    timeout_ms=_NUMBER,
    deadline=_NUMBER,
    poll_by=_NUMBER,
    start_at=_NUMBER,
    wait_until=_NUMBER,
    limit=_NUMBER,
    rate=_NUMBER,
    rate_window_ms=_NUMBER,
    started_at=_NUMBER,
    ended_at=_NUMBER,
    reason=_MAYBE,
    worker=_TEXT,
    callback_after_s=_NUMBER,
    delay_s=_NUMBER,
    child=_MAYBE,
    followed=st.booleans(),
    alerted=_NUMBER,
    cache_key=_TEXT,
    async_complete=st.booleans(),
    ahead=st.booleans(),
    redo=st.integers(0, 9),
    tells_start=st.booleans(),
    recalled=st.integers(0, 9),
    root=_NUMBER,
    queued_at=_NUMBER,
)
_HEADERS = st.builds(Header, **_HEADER_FACTS)
_ATTEMPTS = st.builds(Attempt, **_ATTEMPT_FACTS)
_JOINS = st.builds(
    JoinState,
    seq=_NUMBER,
    expected=_NUMBER,
    settled=_NUMBER,
    failed=_SEQS,
    errors=_SEQS,
    closed=st.booleans(),
)
_GATES = st.builds(
    GateState,
    generation=_NUMBER,
    told=_NUMBER,
    live=_NUMBER,
    blocked=_NUMBER,
    fresh=st.booleans(),
    verdict=st.sampled_from(["", "RUN", "SKIPPED", "BLOCKED"]),
)
_LOOPS = st.builds(
    LoopState,
    seq=_NUMBER,
    iteration=_NUMBER,
    open_attempts=_NUMBER,
    tail=st.booleans(),
    items=st.integers(min_value=-1, max_value=2**40),
    closed=st.booleans(),
)


_HEADER = Header(
    plan="p",
    name="w",
    version=1,
    status=WorkflowStatus.RUNNING,
    generation=1,
    home="s",
    created_at=1,
)


@given(_HEADERS)
def test_header_reads_back(header: Header) -> None:
    assert load_header(dump_header(header)) == header


def test_a_header_of_a_release_before_chains_had_a_root_has_its_number_and_no_root() -> None:
    """And what an older release reads of a chain is its number, as it wrote it itself."""
    written = dump_header(replace(_HEADER, chain=Chain(number=3, root="root")))
    assert orjson.loads(written)["chain"] == 3
    assert load_header(written.replace(b',"root":"root"', b"")).chain == Chain(number=3)


def test_a_header_of_no_chain_says_nothing_of_one() -> None:
    written = dump_header(_HEADER)
    assert not {"chain", "root"} & orjson.loads(written).keys()
    assert load_header(written).chain == NO_CHAIN


@given(_ATTEMPTS)
def test_attempt_reads_back(attempt: Attempt) -> None:
    assert load_attempt(attempt.seq, dump_attempt(attempt, attempt.shard)) == attempt


@given(st.one_of(_JOINS, _LOOPS))
def test_states_read_back(state: JoinState | LoopState) -> None:
    assert load_container(dump_state(state)) == state


@given(_GATES)
def test_gate_reads_back(state: GateState) -> None:
    assert load_field("g:a", dump_state(state)) == state


@given(st.builds(Meta, created_by=_MAYBE, event=_MAYBE, idempotency_key=_MAYBE))
def test_meta_reads_back(meta: Meta) -> None:
    assert load_meta(dump_state(meta)) == meta


@given(st.builds(Ending, reason=_MAYBE, failed_task=_MAYBE))
def test_ending_reads_back(ending: Ending) -> None:
    assert load_ending(dump_state(ending)) == ending


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("w:3", Postponed(kind="conclude", plan="p", ref="r", vector=Vector("1.2"))),
        ("s:x", Skip(first_seq=4, input={"i": None}, output={"o": [1]})),
        ("watch", Watches(watches=(Watch(topic="t", until=5, refs=("a", "b")),))),
        ("watch", Watches()),
        ("walk", Walk(kind="revive", last=9, target=4, forgets=True, adopts=True, resumes=True)),
        ("walk", Walk(kind="jump", last=9, ref="r", vector=Vector("2"), given=True)),
    ],
)
def test_interventions_read_back(name: str, state: Postponed | Skip | Watches | Walk) -> None:
    assert load_field(name, dump_state(state)) == state


def test_every_attribute_is_stored() -> None:
    """A new attribute that nobody stores would be lost at the first commit."""
    for kind, generated in ((Attempt, _ATTEMPT_FACTS), (Header, _HEADER_FACTS)):
        assert set(generated) == {field.name for field in fields(kind)}


def test_header_with_defaults_is_small() -> None:
    header = Header(
        plan="0" * 32,
        name="w",
        version=1,
        status=WorkflowStatus.RUNNING,
        generation=1,
        home="s0",
        created_at=1_800_000_000_000,
    )
    assert len(dump_header(header)) < 200


@pytest.mark.parametrize("number", [0, FORMAT + 1, 99])
def test_unknown_format_is_refused(number: int) -> None:
    with pytest.raises(UnknownFormat):
        load_header(orjson.dumps({"f": number}))


@pytest.mark.parametrize("name", ["h", "a:1", "c:1", "input", "j:l", "end", "zzz"])
def test_absent_field_is_none(name: str) -> None:
    assert load_field(name, None) is None


def test_fields_are_read_by_their_names() -> None:
    assert load_field("i:3", b'{"x":1}') == {"x": 1}
    assert load_field("o:3", b"@task/output/p.json") == External("task/output/p.json")
    assert load_field("r:a#1.2", b"7") == 7
    assert load_field("d:f", b"abc") == "abc"
    assert load_field("vars", b"{}") == {}
    assert load_field("zzz", b"raw") == b"raw"


def test_documents_read_back() -> None:
    for document in ({}, {"x": [1, None, {"y": 1.5}]}, External("workflow/input/p.json")):
        assert load_document(dump_document(document)) == document
    assert load_document(None) == {}
    assert load_document(b"") == {}


def test_claim_side_reads_what_the_store_writes() -> None:
    claim = load_claim(b'{"k":7,"held":1,"until":9,"leased":1,"closed":0,"polls":2,"w":"me"}')
    assert (claim.claim, claim.held, claim.until, claim.leased) == (7, True, 9, True)
    assert (claim.closed, claim.polls, claim.worker) == (False, 2, "me")
    assert load_claim(b"{}").worker == ""


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("messages", MessageQueue(generation=2, first=3, next=9, pushed_at=5, waiting=(1, 4))),
        ("messages", MessageQueue(generation=1)),
        ("permissive", PermissiveFailures(generation=2, reasons=("a", "b"))),
    ],
)
def test_what_is_kept_beside_the_attempts_comes_back(name: str, state: State) -> None:
    assert load_field(name, dump_state(state)) == state
