"""SVG files of matplotlib as elements of a page that allows no style attributes."""

from __future__ import annotations

import html
import re

_REFERENCE = re.compile(r'(href="#|url\(#)([^")]+)')


def inline(file: bytes, title: str, prefix: str) -> str:
    """An SVG file of matplotlib as an element of a page.

    Style attributes become presentation attributes; ids get a prefix, and unreferenced ids are removed.

    Args:
        title: text for screen readers.
        prefix: prefix of the ids.
    """
    text = file.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sstyle="([^"]*)"', lambda match: _attributes(match[1]), text)
    text = text.replace('<g id="patch_1">', '<g class="sheet">', 1)
    meant = {match[1] for match in _REFERENCE.findall(text)}
    text = re.sub(r'\sid="([^"]*)"', lambda match: f' id="{prefix}{match[1]}"' if match[1] in meant else "", text)
    text = _REFERENCE.sub(lambda match: f"{match[1]}{prefix}{match[2]}", text)
    label = f'role="img" aria-label="{html.escape(title)}" stroke-linejoin="round" stroke-linecap="butt"'
    return text.replace("<svg", f"<svg {label}", 1)


def _attributes(style: str) -> str:
    pairs = (pair.partition(":") for pair in style.split(";") if pair.strip())
    return "".join(f' {name.strip()}="{html.escape(value.strip())}"' for name, _, value in pairs)
