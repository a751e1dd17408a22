"""What `CatalogStore` promises, on every store."""

from conductor_py.engine.catalog.importing import MOST_WRITES
from conductor_py.model.bundle import OnExisting
from conductor_py.ports.catalog import PUBLISHED, Cell, Table, Write
from conductor_py.testing import memory_engine
from conductor_py.wire.catalog import read_draft
from conductor_py.wire.definition_reader import DefinitionReader
from tests.builders import Json, simple
from tests.conformance.stores import Store


def _cell(field: str, table: Table = Table.DOCUMENT, row: str = "task 1") -> Cell:
    return Cell(table=table, row=row, field=field)


def _head(code: int) -> Cell:
    return _cell(f"{code:019d}", Table.HEAD, "workflow")


def test_what_is_written_is_read_cell_by_cell_and_row_by_row(store: Store) -> None:
    writes = [Write(cell=_cell(field), after=b"v" + field.encode()) for field in ("2", "1")]
    assert store.catalog.change(writes)
    assert store.catalog.read((_cell("1"), _cell("3"), _cell("2"))) == (b"v1", None, b"v2")
    assert store.catalog.rows(Table.DOCUMENT, ("task 2", "task 1")) == (
        {},
        {"1": b"v1", "2": b"v2"},
    )
    assert store.catalog.read(()) == ()
    assert store.catalog.rows(Table.DOCUMENT, ()) == ()


def test_one_cell_that_holds_something_else_refuses_all(store: Store) -> None:
    assert store.catalog.change([Write(cell=_cell("1"), after=b"a", checked=True)])
    refused = [
        [Write(cell=_cell("2"), after=b"b"), Write(cell=_cell("1"), after=b"c", checked=True)],
        [
            Write(cell=_cell("2"), after=b"b"),
            Write(cell=_cell("1"), after=b"c", checked=True, before=b"other"),
        ],
        [
            Write(cell=_cell("2"), after=b"b"),
            Write(cell=_cell("3"), after=b"c", checked=True, before=b""),
        ],
    ]
    for writes in refused:
        assert not store.catalog.change(writes)
        assert store.catalog.read((_cell("1"), _cell("2"), _cell("3"))) == (b"a", None, None)
    assert store.catalog.change([Write(cell=_cell("1"), after=b"c", checked=True, before=b"a")])
    assert store.catalog.read((_cell("1"),)) == (b"c",)


def test_documents_that_look_like_signs_are_told_apart(store: Store) -> None:
    for text in (b"", b"-", b"=", b"=-"):
        assert store.catalog.change([Write(cell=_cell("1"), after=text)])
        assert store.catalog.read((_cell("1"),)) == (text,)
        same = Write(cell=_cell("1"), after=text, checked=True, before=text)
        assert store.catalog.change([same])
        assert not store.catalog.change([Write(cell=_cell("1"), after=b"x", checked=True)])


def test_emptied_cells_hold_nothing(store: Store) -> None:
    store.catalog.change([Write(cell=_cell("1"), after=b"a")])
    assert store.catalog.change([Write(cell=_cell("1"), after=None, checked=True, before=b"a")])
    assert store.catalog.read((_cell("1"),)) == (None,)
    assert store.catalog.rows(Table.DOCUMENT, ("task 1",)) == ({},)


def test_heads_are_paged_in_the_order_of_their_codes(store: Store) -> None:
    codes = (9, 10, 2**53, 2**62, 1)
    store.catalog.change([Write(cell=_head(code), after=b"%d" % code) for code in codes])
    first, last = f"{2:019d}", f"{2**62:019d}"
    found = store.catalog.page("workflow", first, last, 2)
    assert found == ((f"{9:019d}", b"9"), (f"{10:019d}", b"10"))
    rest = store.catalog.page("workflow", f"{11:019d}", last, 10)
    assert [document for _, document in rest] == [b"%d" % 2**53, b"%d" % 2**62]
    assert store.catalog.page("task", first, last, 10) == ()
    store.catalog.change([Write(cell=_head(10), after=None)])
    assert len(store.catalog.page("workflow", first, last, 10)) == 3


def test_what_is_published_is_what_is_meant_without_a_version(store: Store) -> None:
    store.metadata.put_workflow("other", 7, b"o7", create=True)
    before = store.metadata.revision(0)
    registered = [
        Write(cell=_cell(field, Table.REGISTERED, "wf"), after=after)
        for field, after in (("3", b"v3"), ("5", b"v5"), (PUBLISHED, b"3"))
    ]
    assert store.catalog.change(registered)
    assert store.metadata.revision(0) > before
    assert store.metadata.workflow("wf", None) == b"v3"
    assert store.metadata.workflow("wf", 5) == b"v5"
    assert store.metadata.workflows() == (("other", 7, b"o7"), ("wf", 3, b"v3"), ("wf", 5, b"v5"))
    assert store.catalog.read([each.cell for each in registered]) == (b"v3", b"v5", b"3")


def test_what_is_withdrawn_is_no_longer_registered(store: Store) -> None:
    cells = [_cell(field, Table.REGISTERED, "wf") for field in ("3", PUBLISHED)]
    store.catalog.change([Write(cell=cell, after=b"3") for cell in cells])
    before = store.metadata.revision(0)
    assert store.catalog.change([Write(cell=cell, after=None) for cell in cells])
    assert store.metadata.revision(0) > before
    assert store.metadata.workflow("wf", None) is None
    assert store.metadata.workflows() == ()


def test_changes_of_what_is_not_registered_leave_the_revision_alone(store: Store) -> None:
    store.metadata.put_task("t", b"1", must_exist=False)
    before = store.metadata.revision(0)
    store.catalog.change([Write(cell=_head(1), after=b"1"), Write(cell=_cell("1"), after=b"2")])
    assert store.metadata.revision(0) == before


def test_as_many_cells_as_an_import_changes_are_changed_at_once(store: Store) -> None:
    cells = [_cell(str(at), row=f"task {at % 5_000}") for at in range(MOST_WRITES - 1)]
    writes = [Write(cell=cell, after=b"x" * 200, checked=True) for cell in cells]
    late = Write(cell=_cell("late"), after=b"x", checked=True, before=b"other")
    assert not store.catalog.change([*writes, late])
    assert set(store.catalog.read(cells)) == {None}
    assert store.catalog.change(writes)
    assert set(store.catalog.read(cells)) == {b"x" * 200}


def test_a_bundle_is_imported_and_known_again_on_every_store(store: Store) -> None:
    source = memory_engine().engine
    task = source.catalog.save_task({"name": "load"})
    used: Json = {"uses": {"code": str(task.code), "version": 1}, "taskReferenceName": "l"}
    check = DefinitionReader().check
    source.catalog.save(read_draft({"name": "w", "tasks": [simple("a"), used]}), check)
    bundle = source.exporting.bundle(["w"], callees=True, every_version=True)
    here = memory_engine(catalog=store.catalog)
    here.clock.advance(seconds=3_600)
    for action in ("CREATED", "UNCHANGED"):
        report = here.engine.importing.load(
            bundle, check, on_existing=OnExisting.FAIL, dry_run=False
        )
        assert [each.action for each in report.outcomes] == [action, action]
    assert here.engine.exporting.bundle(["w"], callees=True, every_version=True) == bundle
