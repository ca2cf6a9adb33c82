"""Search spaces of the literature, written in the search-space language (`spaces.language`), about a page each."""
