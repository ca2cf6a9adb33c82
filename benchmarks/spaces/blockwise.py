"""Classes that declare that they can process many configurations at once."""

from __future__ import annotations

from typing import Any, ClassVar


class Blockwise:
    """Base of classes that may have a fast path for many configurations beside the path for a single one.

    A class declares that both paths agree: `class RandomSearch(Method, blockwise=True)`. The declaration is not
    inherited: a subclass may override the path for a single configuration, and the inherited fast path would ignore
    that. So a subclass processes configurations singly until it makes the declaration itself.
    """

    blockwise: ClassVar[bool] = False
    """Whether this very class, not a parent, declares that both paths agree."""

    def __init_subclass__(cls, *, blockwise: bool = False, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.blockwise = blockwise
