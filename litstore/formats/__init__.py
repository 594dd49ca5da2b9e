"""From files to papers, one module for each format.

It answers: I have a file, what papers are in it? `reading.read_records` finds out what the file is
and gives for each record a paper or the RecordError that says why there is none; it never touches
the database. The way of a file: `sources` (archives, encodings) to lines, a format's reader to
`record.Draft`, and that to a `record.Record`.

A new format is a module with NAME, `sniff` and `read`, and one line in `reading`.

Useful for: a new file format. Not useful for: what a field of litstore's own JSON means (see
`fields`).
"""
