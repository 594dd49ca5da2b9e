"""Plain SQL that takes the packed rows of the index apart: the views `postings` and `doc_lengths`.

`litstore.index.postings` describes the packed form. Not useful for: searching, which reads it with
numpy or the kernel.
"""

from __future__ import annotations

from typing import Final

from litstore.database.layout import COLUMN_BITS, LAST_DOC


def _hex_digit(expression: str, position: int) -> str:
    return f"(instr('0123456789ABCDEF', substr({expression}, {position}, 1)) - 1)"


def _little_endian(blob: str, start: str, width: int) -> str:
    """SQL that reads `width` bytes of `blob` from the 1-based byte `start` as a whole number."""
    digits = f"hex(substr({blob}, {start}, {width}))"
    return " + ".join(
        f"{_hex_digit(digits, 2 * byte + 1 + low)} * {256**byte * (1 if low else 16)}"
        for byte in range(width)
        for low in (0, 1)
    )


# The order terms, blocks, integers, papers is the only one that is not absurd: each list is decoded
# once. CROSS JOIN would fix it, but would also force every table that a query names before the view
# to come first, and decode the lists once for each of its rows. Two things keep the planner to it,
# wherever a query names the view. CAST hides that `paper_id` has an index, by which it would look
# up each paper of another table. And `likelihood` tells it that a term has few rows and slots; it
# cannot know without ANALYZE, and would rather save a sort by reading another table in order of id.
# Read without a term, the rows come first and their terms by number. (The conditions hold anyway;
# measured on SQLite 3.40 and 3.54, with and without ANALYZE.)
POSTINGS_VIEW: Final = f"""
SELECT t.term AS term,
       CAST(p.id AS TEXT) AS paper_id,
       CASE substr(b.tfs, i.n + 1, 1)
         WHEN x'FF' THEN (SELECT o.tf FROM posting_overflow o
                          WHERE o.term_no = t.term_no AND o.doc = p.doc)
         ELSE {_little_endian("b.tfs", "i.n + 1", 1)}
       END AS tf
FROM terms t
JOIN posting_blocks b
  ON b.block BETWEEN t.term_no << 32 AND (t.term_no << 32) + {LAST_DOC}
  AND b.block >> 32 = t.term_no
  AND likelihood(b.n_slots > 0, 0.0001)
JOIN integers i ON likelihood(i.n < b.n_slots, 0.0001)
JOIN papers p ON p.doc = (b.block & {LAST_DOC}) + CASE b.offset_width
    WHEN 2 THEN {_little_endian("b.offsets", "i.n * 2 + 1", 2)}
    WHEN 4 THEN {_little_endian("b.offsets", "i.n * 4 + 1", 4)}
    ELSE i.n
  END
WHERE substr(b.tfs, i.n + 1, 1) <> x'00'
"""

DOC_LENGTHS_VIEW: Final = f"""
SELECT p.id AS paper_id,
       {_little_endian("b.lengths", "(p.doc & 255) * 4 + 1", 4)} AS doc_len
FROM papers p
JOIN doc_length_blocks b ON b.block = p.doc >> {COLUMN_BITS}
"""
