"""Records out of XML, one at a time, whatever the size of the document and whoever wrote it.

The document is cut at the tags of its records before anything is parsed, so that memory holds one
record, an error costs one record, and each has its line and its text as received. Each piece is
then parsed by defusedxml, which refuses entity declarations and external references; a document
that declares entities is refused before that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from litstore.errors import RecordError
from litstore.formats.record import MAX_RECORD_BYTES

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ENTITY: Final = re.compile(r"<!ENTITY", re.IGNORECASE)
_NAMESPACE: Final = re.compile(r"""\sxmlns(?::([\w.-]+))?\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_NAMED_ENTITY: Final = re.compile(r"&(?!(?:lt|gt|amp|quot|apos);)([A-Za-z][A-Za-z0-9]*);")
_BARE_AMPERSAND: Final = re.compile(r"&(?!#[0-9]+;|#x[0-9a-fA-F]+;|[A-Za-z][A-Za-z0-9]*;)")
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Piece:
    """One record: its element without namespaces, its text as received, its line from 1."""

    element: Element
    raw: str
    line: int


def records(
    lines: Iterable[str], tags: frozenset[str], *, name: str
) -> Iterator[Piece | RecordError]:
    """Yield each outermost element with one of these tags, or why it cannot be read.

    tags: names without namespace prefix. A document that declares entities gives one error.
    """
    begin = re.compile(rf"<(?:[\w.-]+:)?({'|'.join(sorted(tags))})(?=[\s/>])")
    namespaces: dict[str, str] = {}
    buffer, number = "", 1
    tag: str | None = None
    for text in lines:
        buffer += text
        while True:
            if tag is None:
                found = begin.search(buffer)
                before = buffer[: found.start()] if found else buffer
                if _ENTITY.search(before):
                    yield RecordError(
                        "the document declares entities, which no provider does; refused",
                        source=name,
                        line=number,
                    )
                    return
                if found is None:
                    buffer, number = _outside(buffer, namespaces, number)
                    break
                _, number = _outside(before + ">", namespaces, number)
                tag, buffer = found[1], buffer[found.start() :]
            end = _end_of(tag, buffer)
            if end is None:
                if len(buffer) > MAX_RECORD_BYTES:
                    size = f"{MAX_RECORD_BYTES // 1024**2} MiB"
                    reason = f"<{tag}> of more than {size}; is its end missing?"
                    yield RecordError(reason, source=name, line=number)
                    return
                break
            raw, buffer = buffer[:end], buffer[end:]
            yield _parsed(raw, namespaces, name, number)
            number += raw.count("\n")
            tag = None
    if tag is not None:
        yield RecordError(f"<{tag}> is not closed before the end", source=name, line=number)


def _outside(text: str, namespaces: dict[str, str], number: int) -> tuple[str, int]:
    """Take note of the namespaces in text between records; return what is unfinished of it."""
    for prefix, double, single in _NAMESPACE.findall(text):
        namespaces.setdefault(prefix, double or single)
    keep = text.rfind("<")
    rest = text[keep:] if keep >= 0 and ">" not in text[keep:] and len(text) - keep < 10_000 else ""
    return rest, number + text.count("\n") - rest.count("\n")


def _end_of(tag: str, buffer: str) -> int | None:
    """Where the element that begins the buffer ends; None where that is not reached."""
    opening = re.match(r"<[^>]*>", buffer)
    if opening and opening[0].endswith("/>"):
        return opening.end()
    # The end tag is looked for near the end only, so that reading line by line stays linear.
    found = re.compile(rf"</(?:[\w.-]+:)?{tag}\s*>").search(buffer, max(0, _searched(buffer)))
    return found.end() if found else None


def _searched(buffer: str) -> int:
    """Up to where a buffer that grows line by line was searched before its last line came."""
    last = buffer.rstrip("\n").rfind("\n")
    return 0 if last < 0 else max(0, buffer.rfind("\n", 0, last) - 200)


def _parsed(raw: str, namespaces: dict[str, str], name: str, number: int) -> Piece | RecordError:
    # DefusedXmlException is a ValueError; ElementTree's ParseError is a SyntaxError.
    from defusedxml.ElementTree import fromstring

    content = _BARE_AMPERSAND.sub(
        "&amp;", _NAMED_ENTITY.sub(_as_character, _FORBIDDEN.sub("", raw))
    )
    declared = "".join(
        f' xmlns{":" if prefix else ""}{prefix}="{uri}"' for prefix, uri in namespaces.items()
    )
    try:
        root = fromstring(f"<r{declared}>{content}</r>", forbid_dtd=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        reason = str(error).partition(": line")[0]
        return RecordError(f"not well-formed XML: {reason}", source=name, line=number)
    element = root[0]
    for each in element.iter():
        if isinstance(each.tag, str):
            each.tag = each.tag.rpartition("}")[2]
    return Piece(element, raw + "\n", number)


def _as_character(entity: re.Match[str]) -> str:
    """Named entities of HTML, which documents use without declaring them."""
    from html.entities import html5

    return html5.get(f"{entity[1]};", f"&amp;{entity[1]};")


def text_of(element: Element | None) -> str:
    """Return all text below an element on one line; of MathML and inline tags what they hold.

    A TeX form that stands beside a formula is left out.
    """
    return " ".join(_all_text(element).split()) if element is not None else ""


def _all_text(element: Element) -> str:
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str) and child.tag not in ("tex-math", "annotation"):
            parts.append(_all_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def find_text(element: Element, path: str) -> str:
    """Return the text of the first element at a path, "" if there is none."""
    return text_of(element.find(path))
