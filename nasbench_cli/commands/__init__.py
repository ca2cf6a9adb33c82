"""One file per command: it parses the options, calls the engine or the results, and prints."""
