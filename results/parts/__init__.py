"""Parts of a report, one file each: what it takes to add a table is a file here and its place in `registry`.

Each offers `part(subject)`: a `Part` with its tables, charts, figures and sentences, or None where the runs do not ask
for one. All read from the one `Comparison`.
"""
