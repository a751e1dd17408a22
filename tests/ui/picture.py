"""Draw docs/images/execution.png anew: `python -m tests.ui.picture`.

The execution comes from the test kit, whose clock stands still, so the same pages give the same
picture but for the ids.
"""

from pathlib import Path
from typing import Any, Final

from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.testing.definitions import Json, fork, join, simple, switch, wait, workflow
from tests.services.browser import chromium

_PICTURE: Final = Path(__file__).parents[2] / "docs/images/execution.png"
_FLAGS: Final = ("--no-sandbox", "--disable-gpu", "--no-first-run")


def executed(engine: MemoryEngine) -> str:
    """An order that has failed once, was tried again, and took one of two ways."""
    engine.register_tasks(
        {"name": "charge", "retryCount": 3, "retryDelaySeconds": 5, "retryLogic": "FIXED"}
    )
    charge = {"name": "charge", "taskReferenceName": "charge"}
    engine.register(
        workflow(
            "orders",
            simple("price", inputParameters={"items": "${workflow.input.items}"}),
            charge,
            fork("both", [simple("pack"), wait("cool", duration="8s")], [simple("tell")]),
            join("packed", "cool", "tell"),
            switch("how", "${workflow.input.how}", {"fly": [simple("fly")]}, [simple("ship")]),
            outputParameters={"parcel": "${fly.output.parcel}"},
        )
    )
    engine.mock("charge", {"receipt": "R-17"}, fails=1, reason="the bank did not answer")
    outputs: dict[str, Json] = {
        "price": {"total": 9.5},
        "pack": {"box": "small"},
        "tell": {"mailed": True},
        "fly": {"parcel": "P-17"},
    }
    for task, output in outputs.items():
        engine.mock(task, output)
    order = engine.start("orders", input={"items": ["tea"], "how": "fly"})
    assert engine.run_to_end(order)["status"] == "COMPLETED"
    return order


def draw(path: Path) -> None:
    """Write the picture of the execution's page to ``path``."""
    from playwright.sync_api import sync_playwright

    engine = memory_engine()
    order = executed(engine)
    with engine.serve() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=list(_FLAGS))
        page: Any = browser.new_page(viewport={"width": 1200, "height": 1090})
        page.goto(f"{url.removesuffix('/api')}/execution/{order}")
        page.locator("#head .pill", has_text="COMPLETED").first.wait_for()
        page.wait_for_load_state("networkidle")
        path.parent.mkdir(exist_ok=True)
        page.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    draw(_PICTURE)
