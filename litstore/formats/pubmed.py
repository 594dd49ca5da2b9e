"""PubMed XML: PubmedArticle and PubmedBookArticle, as efetch and the baseline files have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from litstore.errors import RecordError
from litstore.formats import medline
from litstore.formats.dates import Date
from litstore.formats.names import Name, split_particle
from litstore.formats.record import Draft, Record, text_list
from litstore.formats.xml_records import Piece, find_text, records, text_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NAME: Final = "pubmed"

_TAGS: Final = frozenset(("PubmedArticle", "PubmedBookArticle"))
_START: Final = re.compile(r"<(?:PubmedArticle|PubmedBookArticle|MedlineCitation|PubmedBookData)\b")


def sniff(head: str) -> bool:
    """Whether a text is PubMed XML."""
    return _START.search(head) is not None


def read(lines: Iterable[str], *, name: str) -> Iterator[Record | RecordError]:
    """Yield each article, or why it cannot be one."""
    for piece in records(lines, _TAGS, name=name):
        try:
            if isinstance(piece, RecordError):
                raise piece
            yield _record(piece)
        except RecordError as error:
            yield RecordError(error.reason, source=name, line=piece.line)


def _record(piece: Piece) -> Record:
    root = piece.element
    draft = Draft()
    if root.tag == "PubmedBookArticle":
        _book(root, draft)
    else:
        _article(root, draft)
    if not draft.title and not draft.abstract and not draft.names and not draft.identifiers:
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    return draft.finish(NAME, piece.raw, piece.line, key=draft.identifiers.get("pmid"))


def _article(root: Element, draft: Draft) -> None:
    citation = root.find("MedlineCitation")
    article = citation.find("Article") if citation is not None else None
    if citation is None or article is None:
        raise RecordError("the record has no article in it")
    draft.title = medline.without_brackets(find_text(article, "ArticleTitle"))
    if not draft.title or draft.title == "Not Available":
        draft.title = find_text(article, "VernacularTitle")
    draft.abstract = _abstract(article.find("Abstract")) or _abstract(
        citation.find("OtherAbstract")
    )
    draft.names = _names(article.find("AuthorList"))
    draft.venue = find_text(article, "Journal/Title") or find_text(
        citation, "MedlineJournalInfo/MedlineTA"
    )
    short = find_text(article, "Journal/ISOAbbreviation") or find_text(
        citation, "MedlineJournalInfo/MedlineTA"
    )
    if short != draft.venue:
        draft.put("venue_short", short)
    issue = article.find("Journal/JournalIssue")
    if issue is not None:
        draft.put("volume", find_text(issue, "Volume"))
        draft.put("issue", find_text(issue, "Issue"))
        draft.date = _date(issue.find("PubDate"))
    draft.date = _more_precise(draft.date, _date(article.find("ArticleDate")))
    _article_details(root, citation, article, draft)


def _article_details(root: Element, citation: Element, article: Element, draft: Draft) -> None:
    kinds = [text_of(kind) for kind in article.findall("PublicationTypeList/PublicationType")]
    draft.type = medline.csl_type(kinds)
    draft.put("pages", medline.pages(find_text(article, "Pagination/MedlinePgn")))
    first, last = (
        find_text(article, "Pagination/StartPage"),
        find_text(article, "Pagination/EndPage"),
    )
    draft.put("pages", medline.pages(f"{first}-{last}" if last else first))
    draft.put("language", " ".join(map(text_of, article.findall("Language"))))
    issns = [*article.findall("Journal/ISSN"), *citation.findall("MedlineJournalInfo/ISSNLinking")]
    draft.put("issn", text_list(map(text_of, issns)))
    words = [*citation.findall("KeywordList/Keyword"),
             *citation.findall("MeshHeadingList/MeshHeading/DescriptorName")]  # fmt: skip
    draft.put("keywords", text_list(map(text_of, words)))
    _identify(root, article, draft)
    draft.identify("pmid", find_text(citation, "PMID"))
    notices = citation.findall("CommentsCorrectionsList/CommentsCorrections")
    if medline.is_retracted(kinds) or any(n.get("RefType") == "RetractionIn" for n in notices):
        draft.extra["retracted"] = True
    for notice in notices:
        if relation := medline.UPDATES.get(notice.get("RefType", "")):
            source, pmid = find_text(notice, "RefSource"), find_text(notice, "PMID")
            medline.relate(draft, relation, source, pmid, kinds)
    for reference in root.findall("PubmedData/ReferenceList//Reference/ArticleIdList/ArticleId"):
        if reference.get("IdType") == "pubmed" and (pmid := text_of(reference)).isdigit():
            draft.references.append(f"pmid:{pmid}")


def _identify(root: Element, article: Element, draft: Draft) -> None:
    places = [*root.findall("PubmedData/ArticleIdList/ArticleId"),
              *root.findall("PubmedBookData/ArticleIdList/ArticleId")]  # fmt: skip
    schemes = {"doi": "doi", "pmc": "pmcid", "pubmed": "pmid"}
    for found in places:
        if scheme := schemes.get(found.get("IdType", "")):
            draft.identify(scheme, text_of(found))
    for location in article.findall("ELocationID"):
        if location.get("EIdType") == "doi" and location.get("ValidYN") != "N":
            draft.identify("doi", text_of(location))
        elif location.get("EIdType") == "pii" and not draft.extra.get("pages"):
            draft.put("article_number", text_of(location))


def _book(root: Element, draft: Draft) -> None:
    document = root.find("BookDocument")
    if document is None:
        raise RecordError("the record has no book in it")
    book = document.find("Book")
    draft.title = find_text(document, "ArticleTitle")
    draft.abstract = _abstract(document.find("Abstract"))
    for authors in document.findall("AuthorList"):
        found = _names(authors)
        if authors.get("Type") == "editors":
            draft.editors += found
        else:
            draft.names += found
    draft.type = "chapter"
    if book is not None:
        _book_details(book, draft)
    draft.put("language", find_text(document, "Language"))
    draft.put("keywords", text_list(map(text_of, document.findall("KeywordList/Keyword"))))
    for found_id in document.findall("ArticleIdList/ArticleId"):
        scheme = {"doi": "doi", "pmc": "pmcid", "pubmed": "pmid"}.get(found_id.get("IdType", ""))
        if scheme:
            draft.identify(scheme, text_of(found_id))
    draft.identify("pmid", find_text(document, "PMID"))
    _identify(root, document, draft)


def _book_details(book: Element, draft: Draft) -> None:
    title = find_text(book, "BookTitle")
    for authors in book.findall("AuthorList"):
        found = _names(authors)
        if authors.get("Type") == "editors":
            draft.editors += found
        else:
            draft.names = draft.names or found
    if draft.title:
        draft.venue = title
    else:
        draft.title, draft.type = title, "book"
    draft.date = _date(book.find("PubDate")) or _date(book.find("BeginningDate"))
    draft.put("publisher", find_text(book, "Publisher/PublisherName"))
    draft.put("place", find_text(book, "Publisher/PublisherLocation"))
    draft.put("edition", find_text(book, "Edition"))
    for isbn in book.findall("Isbn"):
        draft.identify("isbn", text_of(isbn))


def _abstract(abstract: Element | None) -> str:
    """A labelled abstract keeps its labels: "METHODS: …", a line for each part."""
    if abstract is None:
        return ""
    parts = []
    for part in abstract.findall("AbstractText"):
        label, text = part.get("Label", "").strip(), text_of(part)
        unlabelled = not label or label.upper() == "UNLABELLED"
        if text:
            parts.append(text if unlabelled else f"{label.rstrip(':')}: {text}")
    return "\n".join(parts)


def _names(authors: Element | None) -> list[Name]:
    found: list[Name] = []
    if authors is None:
        return found
    for author in authors.findall("Author"):
        if author.get("ValidYN") == "N":
            continue
        if group := find_text(author, "CollectiveName"):
            found.append(Name(literal=group))
            continue
        family = find_text(author, "LastName")
        given = (
            find_text(author, "ForeName")
            or find_text(author, "FirstName")
            or find_text(author, "Initials")
        )
        suffix = find_text(author, "Suffix")
        if family and (given or suffix):
            particle, rest = split_particle(family)
            found.append(Name(rest, given, particle, suffix))
        elif family or given:
            found.append(Name(literal=family or given))
    return found


def _date(element: Element | None) -> Date | None:
    if element is None:
        return None
    year = find_text(element, "Year")
    if not year:
        return Date.read(find_text(element, "MedlineDate"))
    return Date.of(year, find_text(element, "Month"), find_text(element, "Day"))


def _more_precise(issue: Date | None, electronic: Date | None) -> Date | None:
    """The issue's date, unless only the electronic one tells a month of the same year."""
    if issue is None or electronic is None:
        return issue or electronic
    if issue.month is None and electronic.year == issue.year and electronic.month:
        return electronic
    return issue
