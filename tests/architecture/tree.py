"""The sources as the architecture tests see them: files, and their syntax trees."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SOURCE_ROOTS = {"conductor_py": ROOT, "conductor_workers": ROOT / "workers"}
_CACHES = {
    *(".git", ".venv", "node_modules", "__pycache__", ".hypothesis"),
    *(".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
}
# What builds and runs leave at the top.
_LEFTOVERS = {".test-all", "artifacts", "build", "data", "dist", "spark-warehouse"}
_CORE = {"errors", "records", "model", "pipelines", "decider"}
_TEXT = {
    *(".cfg", ".css", ".html", ".js", ".json", ".lua", ".md", ".properties", ".py", ".sh", ".toml"),
    *(".example", ".yaml", ".yml", ""),
}


@dataclass(frozen=True, slots=True)
class Module:
    """One Python file, with its dotted name where it can be imported."""

    path: Path
    name: str
    text: str
    tree: ast.Module

    def __str__(self) -> str:
        """The path from the root of the repository, as in a compiler's message."""
        return str(self.path.relative_to(ROOT))

    @property
    def package(self) -> str:
        """The part of the house: model, decider, api; empty for a top module."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""

    @property
    def is_core(self) -> bool:
        """Whether it belongs to the part of the product that is pure."""
        return self.name.split(".")[0] == "conductor_py" and self.package in _CORE


def _read(path: Path, source_root: Path) -> Module:
    dotted = ".".join(path.relative_to(source_root).with_suffix("").parts)
    text = path.read_text(encoding="utf-8")
    return Module(path, dotted.removesuffix(".__init__"), text, ast.parse(text, str(path)))


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _CACHES or path.name.endswith(".egg-info"):
            continue
        if folder == ROOT and path.name in _LEFTOVERS:
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)
        elif path.is_file():
            yield path


@cache
def package_modules() -> tuple[Module, ...]:
    """Every module that is installed."""
    return tuple(
        _read(path, source_root)
        for package, source_root in _SOURCE_ROOTS.items()
        for path in _below(source_root / package)
        if path.suffix == ".py"
    )


@cache
def test_modules() -> tuple[Module, ...]:
    """Every module under tests/."""
    return tuple(_read(path, ROOT) for path in _below(ROOT / "tests") if path.suffix == ".py")


test_modules.__test__ = False  # type: ignore[attr-defined]


@cache
def text_files() -> tuple[Path, ...]:
    """Every file of the repository that people read."""
    return tuple(path for path in _below(ROOT) if path.suffix in _TEXT)


def core_modules() -> tuple[Module, ...]:
    """The pure core: errors, records, model, pipelines and decider."""
    return tuple(module for module in package_modules() if module.is_core)


def lua_scripts() -> tuple[Path, ...]:
    """The scripts of the Redis adapter."""
    return tuple(sorted((ROOT / "conductor_py/adapters/redis/lua").rglob("*.lua")))


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
