"""Which records are the same work?

No database here: `works.Work` is what is known of one record, `decide.compare` says of two whether
they are one work and why, `clusters.find` finds the groups among many in near linear time.

Useful for: loading from several sources, finding duplicates. Not useful for: joining candidate
lists of a search (see `ranking.merge`).
"""
