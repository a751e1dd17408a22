"""Bars, as a picture in SVG that needs no program to be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH = 760
_LABELS = 270
_ROW = 22
_HEAD = 34
_BAR = 14
#: A reader may have a dark page: the picture brings its own ground.
_GROUND, _INK, _OURS, _OTHERS = "#ffffff", "#24292f", "#1f6feb", "#9aa4af"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One value; ``is_ours`` gives it another colour."""

    label: str
    value: float
    is_ours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Bars of one unit, from zero to the longest."""

    title: str
    bars: Sequence[Bar]


def draw(panels: Sequence[Panel]) -> str:
    """One panel below the other."""
    height = sum(_HEAD + _ROW * len(panel.bars) for panel in panels) + _ROW
    form = f'font-family="sans-serif" font-size="13" fill="{_INK}"'
    size = f'width="{_WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {form}>',
        f'<rect {size} fill="{_GROUND}"/>',
    ]
    top = 0
    for panel in panels:
        lines += _panel(panel, top)
        top += _HEAD + _ROW * len(panel.bars)
    return "\n".join([*lines, "</svg>", ""])


def _panel(panel: Panel, top: int) -> Iterator[str]:
    yield f'<text x="10" y="{top + 24}" font-weight="bold">{escape(panel.title)}</text>'
    longest = max((bar.value for bar in panel.bars), default=0) or 1
    room = _WIDTH - _LABELS - 80
    for number, bar in enumerate(panel.bars):
        y = top + _HEAD + number * _ROW
        length = bar.value / longest * room
        colour = _OURS if bar.is_ours else _OTHERS
        middle = f'y="{y + _BAR - 2}"'
        yield f'<text x="{_LABELS - 8}" {middle} text-anchor="end">{escape(bar.label)}</text>'
        yield (
            f'<rect x="{_LABELS}" y="{y}" width="{length:.1f}" height="{_BAR}" fill="{colour}"/>'
        )
        yield f'<text x="{_LABELS + length + 6:.1f}" {middle}>{bar.value:.3g}</text>'
