"""The import contracts in setup.cfg speak of every part of the house, so that no part is free."""

import configparser

import pytest

from tests.architecture.tree import ROOT

pytestmark = pytest.mark.xdist_group("sources")  # which are read once

_CORE = {
    *(
        "conductor_py.errors",
        "conductor_py.records",
        "conductor_py.model",
        "conductor_py.pipelines",
    ),
    "conductor_py.decider",
}
_ALLOWED = {
    "stores": {"conductor_py.adapters", "conductor_py.wiring"},
    "flask": {"conductor_py.api", "conductor_py.ui", "conductor_py.wiring"},
    "marshmallow": {"conductor_py.wire"},
    "terminal": {"conductor_py.cli", "conductor_py.processes", "conductor_workers"},
}


def _sources(contract: str) -> set[str]:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return set(parser[f"importlinter:contract:{contract}"]["source_modules"].split())


def _parts() -> set[str]:
    inside = (ROOT / "conductor_py").iterdir()
    names = {p.stem for p in inside if p.suffix == ".py" or (p / "__init__.py").exists()}
    names -= {"__init__", "__main__"}
    return {f"conductor_py.{name}" for name in names} | {"conductor_workers"}


@pytest.mark.parametrize("contract", _ALLOWED)
def test_contract_binds_every_part_but_those_it_names(contract):
    assert _sources(contract) == _parts() - _ALLOWED[contract] - _CORE


def test_contract_of_the_core_binds_the_core():
    assert _sources("core-is-pure") == _CORE
