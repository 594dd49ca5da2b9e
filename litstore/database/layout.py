"""The numbers that say how the file is laid out; what reads the packed rows needs only these.

They stand apart from `schema` because a search needs no table objects, and building those takes
longer than the search.
"""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x4C495453
"""The bytes "LITS" in a file's header (PRAGMA application_id): this file is a litstore."""

BLOCK_POSTINGS: Final = 4096
"""At most this many postings stand in one sparse row of `posting_blocks`."""
BLOCK_SPAN: Final = 8192
"""A dense row of `posting_blocks` covers at most this many consecutive document numbers."""
COLUMN_BITS: Final = 8
"""A row of a packed column (`doc_length_blocks`, ...) covers 2 ** 8 document numbers."""
ID_BITS: Final = 6
"""A row of `doc_id_blocks` covers 2 ** 6: ids are longer, and rows of some 500 bytes fill pages."""
LAST_DOC: Final = 0x7FFF_FFFF
"""No document number is larger, so a (term number, document number) pair fits one INTEGER key."""
TF_ESCAPE: Final = 255
"""The byte that says: this term frequency is 255 or more and stands in `posting_overflow`."""

ASSERTED_BY_CITING: Final = 1
ASSERTED_BY_CITED: Final = 2
