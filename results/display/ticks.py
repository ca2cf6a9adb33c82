"""Round numbers for the axes of charts."""

from __future__ import annotations

import math

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MOST = 7


def ticks(low: float, high: float, log: bool = False) -> list[tuple[float, str]]:
    """Three to seven round numbers of an axis with their labels; fewer if the ends are almost equal."""
    values = _powers(low, high) if log else []
    if log and len(values) >= 3:
        return [(value, label(value, value)) for value in values]
    values, step = _steps(low, high)
    return [(value, label(value, step)) for value in values]


def label(value: float, step: float) -> str:
    """A number of an axis, with enough digits to distinguish it from the next one, `step` away."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        exponent = math.floor(math.log10(abs(value)) + 1e-9)
        digits = _digits(step / 10.0**exponent)
        factor = f"{value / 10**exponent:.{digits}f}"
        return f"10{str(exponent).translate(_SUPERSCRIPTS)}" if factor == "1" else f"{factor}e{exponent}"
    text = f"{value:,.{_digits(step)}f}".replace(",", "\u202f")
    return text if abs(value) >= 1e4 else text.replace("\u202f", "")


def _digits(step: float) -> int:
    """Number of digits after the point that multiples of a step need."""
    return next((d for d in range(12) if abs(step * 10**d - round(step * 10**d)) < 1e-6 * step * 10**d), 12)


def _steps(low: float, high: float) -> tuple[list[float], float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low], abs(low) or 1.0
    raw = (high - low) / 4.2
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    multiples = _multiples(low, high, step)
    while len(multiples) < 3:
        step /= 2
        multiples = _multiples(low, high, step)
    return multiples, step


def _multiples(low: float, high: float, step: float) -> list[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten, or 1, 2 and 5 times these."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)

    def inside(factors: tuple[int, ...]) -> list[float]:
        return [v for e in exponents for m in factors if low * 0.999 <= (v := m * 10.0**e) <= high * 1.001]

    powers = inside((1,))
    if len(powers) < 3:
        powers = inside((1, 2, 5))
    return powers[:: -(-len(powers) // _MOST)]
