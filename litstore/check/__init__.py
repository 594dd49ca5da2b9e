"""Does the store have what these references cite, and does it say the same?

References come as records of any format, or as lines of text. `checker` looks for each in the
store: by identifier, then by title in the store's own index. `records` decides of a record, and
`lines` of a line of text, whether a stored paper is the one that is cited; `differences` compares
field by field. Nothing is written or logged.

Useful for: a draft's bibliography, references that a program wrote. Not useful for: finding out
whether a work exists at all; only the store is asked.
"""

from __future__ import annotations

from litstore.check.checker import Checker as Checker
from litstore.check.verdict import Difference as Difference
from litstore.check.verdict import Verdict as Verdict
