"""`litstore judge`: one paper after the other, without a hint of who ranked it where."""

from __future__ import annotations

import getpass
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from typing import Final

import click

import litstore
from litstore.apps.cli.commands import OK, db_option, json_option
from litstore.apps.cli.output import envelope, note, printable, say
from litstore.apps.cli.search import read_query
from litstore.errors import LitstoreError, QueryError, UnknownPaperError
from litstore.evaluation import Query
from litstore.fields import counted, shown
from litstore.paper import Paper
from litstore.querylog.entries import digest
from litstore.querylog.judgments import Judgments
from litstore.retrieval import experiment
from litstore.retrieval.recipes import BM25, Indexes

GRADES: Final = ("0", "1", "2", "3")
HELP: Final = (
    "0 not relevant, 1 touches it, 2 mostly about it, 3 answers it; words after the grade are kept "
    "as a note\n"
    "s skip (it comes again another time), b back to the paper before, u undo the last grade, "
    "n WORDS note, q quit (what is graded is kept)"
)


@click.command()
@click.argument("query")
@click.option("--judge", "name", metavar="NAME", envvar="LITSTORE_JUDGE", show_envvar=True,
              help="Who judges. [default: your login name]")  # fmt: skip
@click.option("--depth", type=click.IntRange(1, 1_000), default=10, show_default=True,
              help="So many of the first papers of each ranking are to be judged.")  # fmt: skip
@click.option("--config", "configs", multiple=True, metavar="CONFIG", help="A ranking to judge "
              "the first papers of; repeatable. [default: bm25 and the store's own]")  # fmt: skip
@click.option("--grade", "grades", multiple=True, metavar="ID=GRADE",
              help="Keep this grade, 0 to 3, and ask nothing; repeatable.")  # fmt: skip
@click.option("--note", "notes", multiple=True, metavar="ID=WORDS", help="With --grade: a note.")
@click.option("--withdraw", multiple=True, metavar="ID", help="Take the grade of a paper back.")
@db_option
@json_option
def judge(
    query: str, name: str | None, depth: int, configs: tuple[str, ...], grades: tuple[str, ...],
    notes: tuple[str, ...], withdraw: tuple[str, ...], db: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Grade the papers that rankings and logged searches find for a query, one by one.

    \b
    Example:  litstore judge "sparse attention"
              litstore judge "sparse attention" --json
              litstore judge "sparse attention" --grade p012=3 --grade p044=0

    Title and abstract are shown; scores, ranks and who found it are not, and the order says nothing
    about them. Each grade is kept at once, so the next call goes on where this one ended. `litstore
    eval` measures rankings by these judgments.
    """
    words = " ".join(read_query(query).split())
    who = name or login_name()
    with litstore.open(db, create=False) as store:
        if grades or notes or withdraw:
            kept = _keep(store, words, who, grades, notes, withdraw)
            _tell_kept(store, words, who, kept, list(dict.fromkeys(withdraw)), as_json=as_json)
            return OK
        papers = store.papers(pool(store, words, who, configs, depth))
        if as_json:
            _print_pool(store, words, who, papers)
            return OK
        if not (sys.stdin and sys.stdin.isatty()):
            raise click.UsageError("no terminal to ask at; use --json, then --grade ID=GRADE")
        return _ask(store, words, who, papers)


def login_name() -> str:
    """The name of who is logged in, "anonymous" where the system does not say."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "anonymous"


def pool(
    store: litstore.Store, words: str, who: str, configs: Sequence[str], depth: int
) -> list[str]:
    """The papers to be judged: the first ones of each ranking and of the logged searches.

    Those that this judge has graded are among them. In an order that depends on the words, the
    paper and the judge alone.
    """
    own = experiment.own_configuration(store)
    chosen = [experiment.read_configuration(text, own) for text in configs] or [
        experiment.named_configuration(BM25),
        own,
    ]
    with Indexes(store, on_build=lambda recipe: note(f"building an index ({recipe})")) as indexes:
        runs = experiment.run_all(indexes, chosen, [Query("", words)], depth=depth)
    found = {paper_id for run in runs for paper_id, _ in run.ranked[""]}
    found.update(store.judgments.logged(words, depth=depth))
    found.update(judgment.paper_id for judgment in store.judgments.of(words, judge=who))
    return sorted(found, key=lambda paper_id: digest(f"{words}\n{paper_id}\n{who}"))


def _keep(
    store: litstore.Store, words: str, who: str, grades: Sequence[str], notes: Sequence[str],
    withdraw: Sequence[str],
) -> int:  # fmt: skip
    given = dict(map(_graded, grades))
    noted = dict(_noted(text, given) for text in notes)
    unknown = store.judgments.not_in_store(given)
    if unknown:
        raise UnknownPaperError(unknown[0])
    if withdraw:
        _require_judged(store, words, who, withdraw)
        store.judgments.withdraw(words, withdraw, judge=who)
    if given:
        store.judgments.put(words, given, judge=who, notes=noted)
    return len(given)


def _require_judged(store: litstore.Store, words: str, who: str, paper_ids: Sequence[str]) -> None:
    """Raise LitstoreError if this judge has no such grade to take back."""
    found = {judgment.paper_id for judgment in store.judgments.of(words, judge=who)}
    if not found:
        raise LitstoreError(
            f"{who} has judged nothing for {shown(words)}; litstore judgments lists what is judged"
        )
    for paper_id in paper_ids:
        if paper_id not in found:
            raise LitstoreError(
                f"{who} has not judged {shown(paper_id)} for this query, so nothing was withdrawn"
            )


def _graded(text: str) -> tuple[str, int]:
    paper_id, _, value = text.rpartition("=")
    if not paper_id:
        raise click.UsageError(f"ID=GRADE expected, not {printable(text)}")
    if value.strip() not in GRADES:
        raise QueryError(f"a grade is 0, 1, 2 or 3, not {value!r}")
    return paper_id, int(value)


def _noted(text: str, given: Collection[str]) -> tuple[str, str]:
    """An id may hold "=", and so may a note: the ids that are graded tell them apart."""
    ids = [paper_id for paper_id in given if text.startswith(f"{paper_id}=")]
    if not ids:
        raise click.UsageError(f"--note ID=WORDS needs --grade ID=...: {printable(text)}")
    paper_id = max(ids, key=len)
    return paper_id, text.removeprefix(f"{paper_id}=")


def _tell_kept(
    store: litstore.Store, words: str, who: str, kept: int, withdrawn: list[str], *, as_json: bool
) -> None:
    found = store.judgments.of(words, judge=who)
    if as_json:
        envelope("judge", [asdict(judgment) for judgment in found], query=words, judge=who,
                 n_kept=kept, withdrawn=withdrawn)  # fmt: skip
        return
    parts = [f"{counted(kept, 'grade')} kept"] if kept or not withdrawn else []
    if withdrawn:
        names = ", ".join(map(printable, withdrawn))
        parts.append(f"{counted(len(withdrawn), 'grade')} withdrawn ({names})")
    judged = counted(len(found), "paper")
    say(f"{'; '.join(parts)}; {printable(who)} has judged {judged} for this query")


def _print_pool(store: litstore.Store, words: str, who: str, papers: Sequence[Paper]) -> None:
    graded = {judgment.paper_id: judgment for judgment in store.judgments.of(words, judge=who)}
    results = [
        {
            "id": paper.id,
            "title": paper.title,
            "abstract": paper.abstract,
            "year": paper.year,
            "grade": graded[paper.id].grade if paper.id in graded else None,
            "note": graded[paper.id].note if paper.id in graded else None,
        }
        for paper in papers
    ]
    to_judge = sum(entry["grade"] is None for entry in results)
    envelope("judge", results, status="ok" if results else "empty", query=words, judge=who,
             n_to_judge=to_judge)  # fmt: skip


def _ask(store: litstore.Store, words: str, who: str, papers: Sequence[Paper]) -> int:
    graded = {judgment.paper_id for judgment in store.judgments.of(words, judge=who)}
    left = [paper for paper in papers if paper.id not in graded]
    note(f"query: {printable(words)}")
    n_judged = len(papers) - len(left)
    note(f"judge: {printable(who)}; {n_judged} of {counted(len(papers), 'paper')} judged")
    if left:
        note(HELP)
    session = Session(store.judgments, words, who, left)
    session.run(_read_line, note)
    for paper_id in session.lost_notes():
        note(f"the note on {printable(paper_id)} is not kept: a note needs a grade")
    say(f"{session.n_graded} graded, {session.n_left} left; measure with: litstore eval")
    return OK


def _on_one_line(text: str) -> str:
    """Untrusted text for a terminal: line ends are blanks, other controls escapes."""
    return printable(" ".join(text.split()))


def _read_line() -> str | None:
    click.echo("grade> ", nl=False, err=True)
    line = sys.stdin.readline()
    return line.strip() if line else None


class Session:
    """One sitting over some papers: takes answers, keeps each grade at once."""

    def __init__(self, judgments: Judgments, words: str, who: str, papers: Sequence[Paper]) -> None:
        self._judgments = judgments
        self._words = words
        self._who = who
        self._papers = papers
        self._at = 0
        self._grades: dict[int, int] = {}
        self._order: list[int] = []
        self._notes: dict[int, str] = {}

    @property
    def n_graded(self) -> int:
        """Papers graded in this sitting."""
        return len(self._grades)

    @property
    def n_left(self) -> int:
        """Papers without a grade."""
        return len(self._papers) - len(self._grades)

    def lost_notes(self) -> list[str]:
        """Papers with a note and no grade."""
        return [self._papers[at].id for at in self._notes if at not in self._grades]

    def run(self, read: Callable[[], str | None], show: Callable[[str], None]) -> None:
        """Show papers and take answers until the papers, or the answers (None), end."""
        while self._at < len(self._papers):
            for line in self.card():
                show(line)
            while (answer := read()) is not None:
                told = self.answer(answer)
                if told:
                    show(told)
                else:
                    break
            if answer is None or answer.lower() in ("q", "quit"):
                return

    def card(self) -> list[str]:
        """The paper in hand: place, title, year, abstract, and one's own grade and note."""
        paper = self._papers[self._at]
        width = max(40, min(shutil.get_terminal_size().columns, 100))
        year = "" if paper.year is None else f" ({paper.year})"
        place = f"[{self._at + 1}/{len(self._papers)}]"
        lines = ["", f"{place} {printable(paper.id)}, for: {printable(self._words)}"]
        lines += textwrap.wrap(_on_one_line(paper.title) + year, width) or ["(no title)"]
        lines += [""]
        lines += textwrap.wrap(_on_one_line(paper.abstract), width) or ["(no abstract)"]
        if self._at in self._grades:
            lines.append(f"your grade: {self._grades[self._at]}")
        if self._at in self._notes:
            lines.append(f"your note: {printable(self._notes[self._at])}")
        return lines

    def answer(self, line: str) -> str | None:
        """Take one answer; return what to tell the judge, None where the next card says it."""
        word, _, rest = line.strip().partition(" ")
        word, rest = word.lower(), rest.strip()
        if word in GRADES:
            self._give(int(word), rest)
            return None
        if word in ("s", "skip"):
            self._at += 1
            return None
        if word in ("b", "back"):
            if not self._at:
                return "this is the first paper"
            self._at -= 1
            return None
        if word in ("u", "undo"):
            return self._undo()
        if word in ("n", "note"):
            return self._take_note(rest)
        return None if word in ("q", "quit") else HELP

    def _give(self, grade: int, words: str) -> None:
        if words:
            self._notes[self._at] = words
        paper_id = self._papers[self._at].id
        notes = {paper_id: self._notes[self._at]} if self._at in self._notes else {}
        self._judgments.put(self._words, {paper_id: grade}, judge=self._who, notes=notes)
        self._grades[self._at] = grade
        self._order = [at for at in self._order if at != self._at] + [self._at]
        self._at += 1

    def _undo(self) -> str | None:
        if not self._order:
            return "there is no grade of this sitting to take back"
        self._at = self._order.pop()
        del self._grades[self._at]
        self._judgments.withdraw(self._words, [self._papers[self._at].id], judge=self._who)
        return None

    def _take_note(self, words: str) -> str:
        if not words:
            return "n and the words of the note, on one line"
        self._notes[self._at] = words
        if self._at in self._grades:
            paper_id = self._papers[self._at].id
            grade = self._grades[self._at]
            self._judgments.put(
                self._words, {paper_id: grade}, judge=self._who, notes={paper_id: words}
            )
            return "noted"
        return "noted; now the grade"
