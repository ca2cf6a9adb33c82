"""Parts of a report, one file each. A new table is a new file here, and a line in `registry`.

Each file offers `part(subject)`: a `Part` with its tables, charts, figures and sentences, or None if it does not apply
to the runs. All parts read from the same `Comparison`.
"""

from nasbench.results.parts.part import Part, Subject

__all__ = ["Part", "Subject"]
