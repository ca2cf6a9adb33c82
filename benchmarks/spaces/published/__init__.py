"""Search spaces of the literature, each a program of the language of about a page (`benchmarks.space.language`)."""
