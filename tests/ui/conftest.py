"""A real browser for the pages, and a server for it, as a user starts one."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from conductor_py.sdk import Client
from tests.services.absence import absent
from tests.services.browser import chromium
from tests.services.cache import Unobtainable
from tests.services.ports import free_port
from tests.services.processes import Service, answers
from tests.waiting import PATIENCE_S

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_NO_STORY = ("favicon", "Failed to load resource")
"""What the console says of answers that a test asks for, such as a 409."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium of this machine, driven by Playwright."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_S * 1000)

    try:
        path = chromium()
    except Unobtainable as error:
        absent(str(error))
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield running
        running.close()


@dataclass(slots=True)
class Tab:
    """A tab of the browser, and what it complained about."""

    page: Any
    root: str
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        self.page.goto(self.root + path)

    def execution(self, workflow_id: str) -> None:
        """Open the page of an execution and wait until it is drawn."""
        self.open(f"/execution/{workflow_id}")
        self.page.locator("#head .pill").first.wait_for()

    def choose(self, label: str) -> None:
        """Press a button of the execution, in its menu where it is there."""
        head = self.page.locator("#head")
        button = head.get_by_role("button", name=label)
        if not button.is_visible():
            head.get_by_role("button", name="More").click()
            button = head.get_by_role("menuitem", name=label)
        button.click()

    @property
    def dialog(self) -> Any:
        return self.page.get_by_role("dialog")

    def submit(self, label: str) -> None:
        """Press the button of the dialog that does it, and wait for its end."""
        self.dialog.get_by_role("button", name=label).click()
        self.dialog.wait_for(state="hidden")

    def status(self, text: str) -> None:
        """Wait until the execution's status is `text`."""
        self.page.locator("#head .pill", has_text=text).first.wait_for()


@pytest.fixture
def tab(browser: Any, server_url: str) -> Iterator[Tab]:
    """A fresh tab; the test fails when a script failed in it or the console had an error."""
    context = browser.new_context(viewport={"width": 1500, "height": 1000})
    context.set_default_timeout(PATIENCE_S * 1000)
    opened = Tab(context.new_page(), server_url)
    opened.page.on("pageerror", lambda error: opened.complaints.append(f"script: {error}"))
    opened.page.on("console", lambda said: _hear(opened, said))
    yield opened
    context.close()
    assert opened.complaints == []


def _hear(tab: Tab, said: Any) -> None:
    if said.type in {"error", "warning"} and not any(word in said.text for word in _NO_STORY):
        tab.complaints.append(f"{said.type}: {said.text}")


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The root of a server that the public command started."""
    port = free_port()
    with Service("server") as server:
        command = [sys.executable, "-m", "conductor_py.cli", "server", "--port", str(port)]
        server.start([*command, "--data", str(server.folder / "data")])
        server.await_ready(lambda: answers(port))
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def client(server_url: str) -> Iterator[Client]:
    connected = Client(f"{server_url}/api")
    yield connected
    connected.close()
