"""From files to papers, one module for each format.

It answers: I have a file, what papers are in it? A reader streams, in bounded memory, and gives for
each record a paper or the RecordError that says why there is none; it never touches the database.

Useful for: a new file format. Not useful for: what a field of a record means (see `fields`).
"""
