"""From papers to files, one module for each format that is written.

It answers: how does another program take these papers? A writer is a function from entries (a paper
and its citation key) to pieces of text, and one line in `formats.WRITERS`; what it writes,
`formats.reading` reads back, as far as the format can say it.

Useful for: a new format to write. Not useful for: choosing what is exported (see `apps.cli`).
"""
