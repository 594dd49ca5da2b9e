"""What a search returns, how its scores are blended, and how a score explains itself.

Useful for: the arithmetic of the final ranking. Not useful for: finding candidates (see `index` and
`citations`), or anything that needs the database.
"""
