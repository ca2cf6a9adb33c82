"""Parts of a report, one file each, found by `@PARTS.register`.

Each file has a function from a `Subject` to a `Part` with its tables, charts, figures and sentences, or to None if it
does not apply to the runs. All parts read from the same `Comparison`.
"""

from nasbench.results.parts.part import PARTS, Part, Plain, plain
from nasbench.results.subject import Subject

__all__ = ["PARTS", "Part", "Plain", "Subject", "plain"]
