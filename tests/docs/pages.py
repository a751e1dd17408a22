"""The documentation as data: pages, headings, links and fenced blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def _text(fenced: re.Match[str]) -> str:
    return re.sub(f"^{fenced[1]}", "", fenced[3], flags=re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: where it begins, what it holds, its language, and what the page says that it
    prints. Within a list it is indented, and its text is not.
    """

    start: int
    language: str
    text: str
    prints: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One Markdown file."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """The path below the root."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def prose(self) -> str:
        """The text without its fenced blocks."""
        return _FENCE.sub("", self.text)

    def blocks(self, language: str = "") -> tuple[Block, ...]:
        """The blocks of a language, or all; a `text` block right behind one is what it prints."""
        found = list(_FENCE.finditer(self.text))
        return tuple(
            Block(
                start=each.start(),
                language=each[2],
                text=_text(each),
                prints=_text(after) if after is not None and self._prints(each, after) else None,
            )
            for each, after in zip_longest(found, found[1:])
            if language in {"", each[2]}
        )

    def _prints(self, block: re.Match[str], after: re.Match[str]) -> bool:
        return after[2] == "text" and not self.text[block.end() : after.start()].strip()

    def links(self) -> tuple[str, ...]:
        """Where the page's links lead."""
        return tuple(_LINK.findall(self.prose))

    def anchors(self) -> frozenset[str]:
        """The names by which links reach the headings."""
        return frozenset(_anchor(heading) for heading in _HEADING.findall(self.prose))

    def section(self, heading: str) -> str:
        """What stands below a heading of the second level, to the next one; fails without it."""
        (behind,) = self.text.split(f"\n## {heading}\n")[1:]
        return behind.partition("\n## ")[0]

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The rows of all tables, head and rule left out, cells without their code marks."""
        lines = self.text.splitlines()
        for index, line in enumerate(lines):
            following = lines[index + 1] if index + 1 < len(lines) else ""
            if line.startswith("|") and not line.startswith("|-") and following[:2] != "|-":
                cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
                yield tuple(cell.strip().replace("\\|", "|").strip("`") for cell in cells)


def page(name: str) -> Page:
    """Read one page by its path below the root."""
    path = ROOT / name
    return Page(path=path, text=path.read_text(encoding="utf-8"))


def all_pages() -> tuple[Page, ...]:
    """Read every page that users see."""
    paths = [*ROOT.glob("*.md"), *sorted(DOCS.rglob("*.md"))]
    return tuple(page(path.relative_to(ROOT).as_posix()) for path in paths)


def _anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.strip().replace(" ", "-")
