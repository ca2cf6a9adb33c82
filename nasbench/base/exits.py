"""Exit codes of the command line."""

DONE = 0
"""Everything that was requested is done."""
SOME_FAILED = 1
"""Some runs failed or are missing, or the system refused something."""
BAD_USAGE = 2
"""The command line, a file or a name is not usable; nothing was done but what is stored already."""
SIGNALLED = 128
"""Added to the number of the signal that stopped it: 143 for SIGTERM, 129 for SIGHUP."""
INTERRUPTED = 130
"""The user stopped it with Ctrl-C."""
READER_GONE = 141
"""The reader of the output (`head`, `less`) has gone."""
