"""The documentation as data: pages, headings, links and fenced blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fenced block where it stands. Within a list it is indented, and its text is not."""

    language: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block: what it holds, its language, and what the page says that it prints."""

    language: str
    text: str
    prints: str | None = None


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

    def blocks(self, language: str) -> tuple[Block, ...]:
        """The blocks of a language; a `text` block right behind one is what it prints."""
        return tuple(
            Block(language=language, text=block.text, prints=self.printed_by(block))
            for block in self.fences()
            if block.language == language
        )

    def fences(self) -> tuple[Fence, ...]:
        """All fenced blocks in order."""
        return tuple(
            Fence(
                language=found[2],
                text=re.sub(f"^{found[1]}", "", found[3], flags=re.MULTILINE),
                start=found.start(),
                end=found.end(),
            )
            for found in _FENCE.finditer(self.text)
        )

    def printed_by(self, block: Fence) -> str | None:
        """The text right behind a block: what the page says that it prints."""
        after = next((each for each in self.fences() if each.start >= block.end), None)
        if after is None or after.language != "text" or self.text[block.end : after.start].strip():
            return None
        return after.text

    def links(self) -> tuple[str, ...]:
        """Where the page's links lead."""
        return tuple(_LINK.findall(self.prose))

    def anchors(self) -> frozenset[str]:
        """The names by which links reach the headings."""
        return frozenset(_anchor(heading) for heading in _HEADING.findall(self.prose))

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
