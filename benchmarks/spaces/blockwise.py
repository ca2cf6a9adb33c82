"""Classes that can treat many configurations at once, and say so themselves."""

from __future__ import annotations

from typing import Any, ClassVar


class Blockwise:
    """Base of classes that may have a fast way for many configurations beside their way for one.

    A class declares that both ways agree: `class RandomSearch(Method, blockwise=True)`. The declaration is not
    inherited. A subclass that overrides only the way for one would otherwise be passed over by its parent's way for
    many; so every subclass goes one by one until it declares for itself that its two ways agree.
    """

    blockwise: ClassVar[bool] = False
    """True where this very class declares that its way for many gives what its way for one gives."""

    def __init_subclass__(cls, *, blockwise: bool = False, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.blockwise = blockwise
