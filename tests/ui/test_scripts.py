"""The scripts of the pages: what they never do, and that what they import is there."""

import re
from pathlib import Path

import pytest

import conductor_py.ui

STATIC = Path(conductor_py.ui.__file__).parent / "static"
SCRIPTS = sorted(STATIC.glob("*.js"))
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|setHTML"
    r"|DOMParser|srcdoc|javascript:"
)
HOST = re.compile(r"(?:https?:)?//[\w-]+\.\w")
NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_of_text(script):
    assert MARKUP.findall(script.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", sorted(path.name for path in STATIC.iterdir()))
def test_no_file_names_another_host(name):
    text = (STATIC / name).read_text(encoding="utf-8").replace(NAMESPACE, "")
    assert HOST.findall(text) == []
    assert "@import" not in text


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_what_a_script_imports_is_exported_there(script):
    text = script.read_text(encoding="utf-8")
    for names, source in re.findall(r"import \{([^}]*)\} from \"([^\"]+)\"", text):
        exported = (STATIC / source).read_text(encoding="utf-8")
        for name in (one.strip() for one in names.split(",") if one.strip()):
            assert re.search(rf"export (?:async )?(?:const|function|class) {name}\b", exported), (
                name
            )
            # One occurrence is the import itself.
            assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{name} is not used"
