"""What a page takes as given, because it is a reader's own: an old server, an execution, a Redis.

A page is followed word for word but for names of such things. What stands for them is started, or
made, right before the block that needs it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tests.docs.pages import Page
from tests.docs.reader import Step, steps_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Theirs:
    """``first`` is pasted before a page, ``before`` ahead of the block that has a text, ``after``
    at the end; ``called`` is how a thing of theirs is called here.
    """

    first: str = ""
    before: Mapping[str, str] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    after: str = ""


_OLD_SERVER = """\
conductor-py server
cat > old.json << 'end'
[{"name": "orders", "version": 1, "tasks": [{"name": "pack", "taskReferenceName": "pack"}]}]
end
echo '[{"name": "pack", "retryCount": 1, "ownerEmail": "orders@example.com"}]' > tasks.json
"""
_OLD_DEFINITIONS = """\
conductor-py definition register tasks.json old.json
echo '{"order": 7}' > order.json
echo '{"pack": [{"status": "FAILED"}, {"status": "COMPLETED"}]}' > mocks.json
"""
_REDIS = "redis-server --port 6379 --save ''\n"
_PAGES = {
    "docs/how-to/migrate-from-conductor.md": Theirs(
        first=_OLD_SERVER,
        before={"--port 8090": _OLD_DEFINITIONS},
        called={"http://old-server:8080": "http://127.0.0.1:8080"},
        after="conductor-py definition list | grep orders\n",
    ),
    "docs/how-to/two-servers.md": Theirs(first=_REDIS),
}


def with_theirs(page: Page) -> tuple[Step, ...]:
    """The steps of a page with what they take as given."""
    theirs = _PAGES.get(page.name, Theirs())
    steps = tuple(_steps(page, theirs))
    texts = "".join(step.text for step in steps_of(page))
    lost = [name for name in (*theirs.called, *theirs.before) if name not in texts]
    assert not lost, f"{page.name} has them not any more: {lost}"
    return steps


def _steps(page: Page, theirs: Theirs) -> Iterator[Step]:
    if theirs.first:
        yield Step(language="sh", text=theirs.first)
    for step in steps_of(page):
        for text, made in theirs.before.items():
            if text in step.text:
                yield Step(language="sh", text=made)
        text = step.text
        for name, here in theirs.called.items():
            text = text.replace(name, here)
        yield replace(step, text=text)
    if theirs.after:
        yield Step(language="sh", text=theirs.after)
