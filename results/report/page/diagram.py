"""Diagrams that matplotlib drew, as elements of a page that allows no style attributes."""

from __future__ import annotations

import html
import re

_KEPT = re.compile(r"^(?:[mp][0-9a-f]+|[A-Z]\w*-[0-9a-f]+)$")  # ids that others refer to: markers, clips, letters


def inline(file: bytes, title: str, prefix: str) -> str:
    """An SVG file of matplotlib as an element: style attributes become presentation attributes, ids are its own.

    Args:
        title: what a screen reader says.
        prefix: of the ids that are kept.
    """
    text = file.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sstyle="([^"]*)"', lambda found: _attributes(found[1]), text)
    text = text.replace('<g id="patch_1">', '<g class="sheet">', 1)
    text = re.sub(r'\sid="([^"]*)"', lambda found: f' id="{prefix}{found[1]}"' if _KEPT.match(found[1]) else "", text)
    text = re.sub(r'href="#|url\(#', lambda found: f"{found[0]}{prefix}", text)
    label = f'role="img" aria-label="{html.escape(title)}" stroke-linejoin="round" stroke-linecap="butt"'
    return text.replace("<svg", f"<svg {label}", 1)


def _attributes(style: str) -> str:
    pairs = (pair.partition(":") for pair in style.split(";") if pair.strip())
    return "".join(f' {name.strip()}="{html.escape(value.strip())}"' for name, _, value in pairs)
