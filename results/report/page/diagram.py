"""Diagrams that matplotlib drew, as elements of a page that allows no style attributes."""

from __future__ import annotations

import html
import re

_REFERENCE = re.compile(r'(href="#|url\(#)([^")]+)')


def inline(file: bytes, title: str, prefix: str) -> str:
    """An SVG file of matplotlib as an element of a page.

    Style attributes become presentation attributes; the ids are its own, and only those that something refers to.

    Args:
        title: what a screen reader says.
        prefix: of the ids.
    """
    text = file.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sstyle="([^"]*)"', lambda found: _attributes(found[1]), text)
    text = text.replace('<g id="patch_1">', '<g class="sheet">', 1)
    meant = {found[1] for found in _REFERENCE.findall(text)}
    text = re.sub(r'\sid="([^"]*)"', lambda found: f' id="{prefix}{found[1]}"' if found[1] in meant else "", text)
    text = _REFERENCE.sub(lambda found: f"{found[1]}{prefix}{found[2]}", text)
    label = f'role="img" aria-label="{html.escape(title)}" stroke-linejoin="round" stroke-linecap="butt"'
    return text.replace("<svg", f"<svg {label}", 1)


def _attributes(style: str) -> str:
    pairs = (pair.partition(":") for pair in style.split(";") if pair.strip())
    return "".join(f' {name.strip()}="{html.escape(value.strip())}"' for name, _, value in pairs)
