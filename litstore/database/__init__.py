"""The one file: what tables and views it holds, how it is opened, brought up to date and read.

Useful for: adding a table, a view or a migration; anything about locks and read-only files. Not
useful for: what the numbers mean (see `index`, `citations`, `querylog`, the owners of the tables).
"""
