"""`litstore bench`: the made-up corpus, the arithmetic of comparison, one small run."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import litstore
from litstore.apps.bench import (
    corpus,
    engines,
    fresh,
    logcost,
    measure,
    prepared,
    report,
    suite,
    vocabulary,
)
from litstore.apps.bench.engines import Engine, Formula, Hits
from litstore.apps.bench.measure import FAST, MEDIUM, SLOW, Timings
from litstore.apps.bench.prepared import Corpus
from litstore.apps.cli import run
from litstore.errors import ConfigError, InputError
from litstore.formats import jsonl


def written(path: Path, papers: int, seed: int = 1) -> Path:
    """A made-up corpus in a file."""
    corpus.write(path, papers, seed)
    return path


class TestMadeUpCorpus:
    """The generator."""

    def test_number_and_seed_decide_every_byte(self, tmp_path: Path) -> None:
        """The same corpus again is the same; another seed gives another; .gz holds the same."""
        first = written(tmp_path / "a.jsonl", 400).read_bytes()
        assert written(tmp_path / "b.jsonl", 400).read_bytes() == first
        assert written(tmp_path / "c.jsonl", 400, seed=2).read_bytes() != first
        assert gzip.decompress(written(tmp_path / "d.jsonl.gz", 400).read_bytes()) == first
        again = written(tmp_path / "e.jsonl.gz", 400).read_bytes()
        assert again == (tmp_path / "d.jsonl.gz").read_bytes()

    def test_has_the_promised_shape(self, tmp_path: Path) -> None:
        """Lengths, years, references and repetition are about what abstracts have."""
        path = written(tmp_path / "a.jsonl", 4_000)
        papers = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
        texts = [litstore.tokenise(f"{p['title']} {p['abstract']}") for p in papers]
        lens = [len(text) for text in texts]
        assert [paper["id"] for paper in papers] == [f"p{at}" for at in range(4_000)]
        assert 145 < np.mean(lens) < 155
        assert 9.5 < np.mean([len(paper["title"].split()) for paper in papers]) < 10.5
        assert 85 < np.mean([len(set(text)) for text in texts]) < 97
        years = [paper["year"] for paper in papers]
        assert (years[0], years[-1]) == (1980, 2025)
        assert years == sorted(years)
        references = [[int(cited[1:]) for cited in paper["references"]] for paper in papers]
        assert all(cited < at for at, listed in enumerate(references) for cited in listed)
        assert all(len(set(listed)) == len(listed) for listed in references)
        assert 18 < np.mean([len(listed) for listed in references[64:]]) < 22
        held = Counter(word for text in texts for word in set(text))
        assert held["the"] > 0.95 * len(papers) > held["after"]
        assert 0.4 < sum(df == 1 for df in held.values()) / len(held) < 0.6

    def test_citations_prefer_the_cited(self) -> None:
        """The most cited paper has many times the mean, and most papers have few."""
        cited = np.zeros(20_000, dtype=np.int64)
        for batch in corpus.Generator(20_000, 1).batches():
            cited += np.bincount(batch.targets, minlength=20_000)
        assert cited.max() > 100 * cited.mean()
        assert np.median(cited) < cited.mean() / 2

    def test_no_two_terms_are_spelt_alike(self) -> None:
        """Frequent, rare and rarest content words differ from each other and function words."""
        last = vocabulary.N_SPELLINGS
        ranks = np.r_[0:200_000, 270_000:480_000, 4_000_000:4_100_000, last - 50_000 : last]
        spelt = vocabulary.spell(ranks.astype(np.int32))
        words = {*spelt, *vocabulary.FUNCTION_WORDS}
        assert len(words) == len(ranks) + len(vocabulary.FUNCTION_WORDS)
        assert all(re.fullmatch("[a-z]{6,11}", word) for word in spelt[::997])

    def test_rare_terms_are_spelt_like_listed_ones(self) -> None:
        """A term beyond the list of kept spellings has the spelling of its rank."""
        terms = np.array([0, 5, 500_000, 131_072, 131_071], dtype=np.int32)
        ranks = terms[2:] - len(vocabulary.FUNCTION_WORDS)
        assert vocabulary.spell_all(terms) == ["the", "a", *vocabulary.spell(ranks)]

    def test_litstore_loads_it(self, tmp_path: Path) -> None:
        """Every line is a paper with all its fields."""
        path = written(tmp_path / "a.jsonl", 150)
        with litstore.open(tmp_path / "a.db") as store, jsonl.open_papers(str(path)) as papers:
            loaded = store.load(papers)
            paper = store.paper("p149")
        assert (loaded.new, loaded.failed, loaded.odd_years) == (150, 0, 0)
        assert paper.title
        assert paper.abstract.endswith(".")
        assert paper.authors
        assert paper.references


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A prepared corpus of 200 papers."""
    return prepared.make(tmp_path_factory.mktemp("work"), 200, 1, lambda _: None)


class TestPreparedCorpus:
    """What every engine reads."""

    def test_holds_what_litstore_would_index(self, small: Corpus) -> None:
        """Tokens, ids and counts are those of the papers."""
        with jsonl.open_papers(str(small.papers)) as papers:
            read = [paper for paper in papers if isinstance(paper, litstore.Paper)]
        texts = [litstore.tokenise(paper.text) for paper in read]
        assert list(small.texts()) == [" ".join(text) for text in texts]
        assert small.ids() == [paper.id for paper in read]
        assert small.n_papers == 200
        assert small.n_tokens == sum(map(len, texts))
        assert small.n_terms == len({word for text in texts for word in text})

    def test_is_made_once(self, small: Corpus) -> None:
        """Asked for again, it is read; nothing is written."""
        before = {path: path.stat().st_mtime_ns for path in small.folder.iterdir()}
        assert prepared.make(small.folder.parent, 200, 1, lambda _: None) == small
        assert {path: path.stat().st_mtime_ns for path in small.folder.iterdir()} == before

    def test_queries_are_cut_from_titles(self, small: Corpus) -> None:
        """Each is a run of 2 to 8 words of a title; the seed decides which."""
        titles = (small.folder / "titles.txt").read_text(encoding="utf-8").split("\n")
        found = prepared.queries(small, 100, 1)
        assert found == prepared.queries(small, 100, 1) != prepared.queries(small, 100, 2)
        assert {len(query.split()) for query in found} == {2, 3, 4, 5, 6, 7, 8}
        assert all(any(f" {query} " in f" {title} " for title in titles) for query in found)
        assert len(prepared.queries(small, 1_000, 1)) == 200

    def test_a_file_of_papers_will_do(self, tmp_path: Path) -> None:
        """Bad lines are left out; the digest names the folder."""
        path = tmp_path / "mine.jsonl"
        lines = ['{"id": "a", "title": "Big cats"}', "{", '{"id": "b", "abstract": "Naïve dogs"}']
        path.write_text("\n".join(lines), encoding="utf-8")
        taken = prepared.take(tmp_path / "work", path, lambda _: None)
        assert (taken.n_papers, taken.n_tokens, taken.ids()) == (2, 4, ["a", "b"])
        assert list(taken.texts()) == ["big cats", "naïve dogs"]
        assert taken.digest.startswith(taken.folder.name.removeprefix("file-"))
        assert prepared.take(tmp_path / "work", path, lambda _: None) == taken

    @pytest.mark.parametrize(
        "content", ["", '{"id": "a"}', '{"id": "a", "title": "x y"}\n{"id": "a", "title": "z y"}']
    )
    def test_a_file_that_cannot_be_compared_is_refused(self, tmp_path: Path, content: str) -> None:
        """No papers, no titles, or an id twice."""
        path = tmp_path / "mine.jsonl"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match="papers with titles, each id once"):
            prepared.take(tmp_path / "work", path, lambda _: None)

    def test_a_missing_file_is_said(self, tmp_path: Path) -> None:
        """The message names it."""
        with pytest.raises(InputError, match=r"cannot read .*none\.jsonl: No such file"):
            prepared.take(tmp_path, tmp_path / "none.jsonl", lambda _: None)


@dataclass
class Pretend(Engine):
    """An engine that finds what it is told to."""

    name: str = "pretend"
    index: str = "pretend"

    def build(self, corpus: Corpus, folder: Path) -> None:
        """Nothing to build."""

    def open(self, corpus: Corpus, folder: Path) -> None:
        """Nothing to open."""

    def search(self, query: str, k: int) -> Hits:
        return []


@dataclass
class PretendWorker:
    """A worker whose searches take a fixed time; it notes who was asked what."""

    engine: Engine
    took_ms: float
    asked: list[tuple[str, str]] = field(default_factory=list)

    def search(self, query: str, k: int, *, hits: bool = False) -> dict[str, Any]:
        self.asked.append((self.engine.name, query))
        return {"cpu_ms": self.took_ms, "wall_ms": self.took_ms, **({"hits": []} if hits else {})}


def timings(
    *cpu_ms: float, hits: dict[int, Hits] | None = None, engine: Engine | None = None
) -> Timings:
    """Timings of one round."""
    times = {at: [taken] for at, taken in enumerate(cpu_ms)}
    return Timings(engine or Pretend(), 10, FAST, times, times, hits or {})


class TestMeasure:
    """Turns and arithmetic."""

    def test_engines_are_asked_in_turns(self) -> None:
        """Each query goes to all engines before the next; another engine begins each time."""
        asked: list[tuple[str, str]] = []
        workers: Any = [PretendWorker(Pretend(name), 1.0, asked) for name in "abc"]
        measure.interleave(workers, ["q0", "q1", "q2", "q3"], 10, lambda: None)
        warm = 3 * (3 + 4 + 4)
        assert asked[warm : warm + 6] == [
            ("a", "q0"), ("b", "q0"), ("c", "q0"), ("b", "q1"), ("c", "q1"), ("a", "q1"),
        ]  # fmt: skip
        assert asked[warm + 12][0] == "b"

    @pytest.mark.parametrize(
        ("took_ms", "pace", "n_queries"), [(1.0, FAST, 40), (60.0, MEDIUM, 40), (900.0, SLOW, 4)]
    )
    def test_the_slower_the_less_often(
        self, took_ms: float, pace: measure.Pace, n_queries: int
    ) -> None:
        """Fast engines have five rounds, medium ones one, slow ones every tenth query."""
        worker: Any = PretendWorker(Pretend(), took_ms)
        queries = [f"q{at}" for at in range(40)]
        (taken,) = measure.interleave([worker], queries, 10, lambda: None)
        assert taken.pace == pace
        assert len(taken.cpu_ms) == n_queries
        assert {len(rounds) for rounds in taken.cpu_ms.values()} == {pace.rounds}

    def test_waiting_for_the_disk_at_first_is_no_slow_engine(self) -> None:
        """Each query takes a second the first time, and a millisecond from then on."""

        class ColdWorker(PretendWorker):
            def search(self, query: str, k: int, *, hits: bool = False) -> dict[str, Any]:
                is_new = query != "q0" and (self.engine.name, query) not in self.asked
                answer = super().search(query, k, hits=hits)
                return {**answer, "wall_ms": 1_000.0 if is_new else 1.0}

        worker: Any = ColdWorker(Pretend(), 1.0)
        assert measure.warm_up(worker, [f"q{at}" for at in range(40)], 10).pace == FAST

    def test_a_query_takes_the_median_of_its_rounds(self) -> None:
        """Percentiles and mean are over queries, not over calls."""
        times = {0: [1.0, 9.0, 2.0], 1: [4.0, 4.0, 4.0]}
        assert measure.percentiles(times)["mean"] == (2 + 4) / 2
        assert measure.percentiles(times)["p50"] == (2 + 4) / 2

    def test_the_ratio_is_of_means_on_common_queries(self) -> None:
        """(2 + 10) / (1 + 2), whatever the base took for a third query; the interval holds it."""
        found = measure.ratio(timings(2.0, 10.0), timings(1.0, 2.0, 50.0), seed=1)
        assert found["mean"] == (2 + 10) / (1 + 2)
        assert (found["low"], found["high"]) == (2 / 1, 10 / 2)
        assert found == measure.ratio(timings(2.0, 10.0), timings(1.0, 2.0, 50.0), seed=1)

    def test_a_constant_ratio_has_no_spread(self) -> None:
        """Three times slower on every query."""
        found = measure.ratio(timings(3.0, 6.0, 30.0), timings(1.0, 2.0, 10.0), seed=1)
        assert found == pytest.approx({"mean": 3.0, "low": 3.0, "high": 3.0})

    @pytest.mark.parametrize(
        ("engine", "hits", "expected"),
        [
            (Pretend(formula=Formula.IDENTICAL), [("a", 2.0), ("b", 1.0)], (1, 1, 1.0)),
            (Pretend(formula=Formula.IDENTICAL), [("a", 2.0), ("b", 1.0 + 1e-15)], (0, 1, 1.0)),
            (Pretend(formula=Formula.SAME, factor=2.0), [(0, 1.0), (1, 0.50001)], (1, 1, 1.0)),
            (Pretend(formula=Formula.SAME, factor=2.0), [(0, 1.0), (2, 0.5)], (1, 1, 0.5)),
            (Pretend(formula=Formula.SAME), [(0, 1.0), (1, 0.5)], (0, 1, 1.0)),
            (Pretend(formula=Formula.SAME), [(0, 2.0)], (0, 1, 0.5)),
            (Pretend(formula=Formula.SAME, distinct_only=True), [(0, 9.0)], (0, 0, 0.5)),
        ],
    )
    def test_agreement(self, engine: Engine, hits: Hits, expected: tuple[int, int, float]) -> None:
        """To the last bit, or up to a factor; a tie may be another paper, which overlap shows."""
        base = timings(1.0, hits={0: [("a", 2.0), ("b", 1.0)]})
        taken = timings(1.0, hits={0: hits}, engine=engine)
        found = measure.agreement(taken, base, ["cat cat"], ["a", "b", "c"])
        assert (found["same"], found["of"], found["overlap"]) == expected

    def test_another_formula_is_only_compared_by_overlap(self) -> None:
        """No count of equal lists is given."""
        base = timings(1.0, hits={0: [("a", 2.0), ("b", 1.0)]})
        found = measure.agreement(timings(1.0, hits={0: [(0, 7.0)]}), base, ["x"], ["a"])
        assert found == {"formula": "other", "overlap": 0.5}


class TestEngines:
    """The table of engines."""

    def test_names_are_keys(self) -> None:
        """Each engine is listed once, litstore first."""
        assert next(iter(engines.table())) == engines.BASE
        assert all(name == engine.name for name, engine in engines.table().items())

    def test_litstore_always_takes_part(self) -> None:
        """Engines are run in the order of the table; the two-pass search has its own switch."""
        assert suite.chosen(["tantivy", "fts5"], two_pass=False) == ("litstore", "fts5", "tantivy")
        assert suite.chosen(["fts5"], two_pass=True)[1:] == ("litstore-two-pass", "fts5")
        assert set(engines.table()) == set(suite.chosen(None, two_pass=True))

    def test_an_unknown_engine_is_named(self) -> None:
        """The message lists those there are."""
        with pytest.raises(ConfigError, match="no engine 'solr'; choose from litstore, "):
            suite.chosen(["solr"], two_pass=False)

    def test_what_is_missing_is_said(self) -> None:
        """What to install, or from which size on it is left out."""
        absent = Pretend(modules=(("no_such_module", "no-such-package"),))
        assert absent.missing(10) == "not installed; pip install no-such-package"
        assert "above 5 papers" in str(Pretend(max_papers=5).missing(6))
        assert Pretend(max_papers=5).missing(5) is None


@contextmanager
def no_bar(_total: float | None) -> Iterator[Any]:
    """A progress bar that nobody sees."""

    class Bar:
        def update(self, **_told: object) -> None: ...

    yield Bar()


def measured(small: Corpus, told: list[str], **options: Any) -> dict[str, Any]:
    """One run over the small corpus."""
    listener = suite.Listener(tell=told.append, progress=no_bar)
    chosen = suite.Options(**{"queries": 12, "fresh": False, **options})
    return suite.run(small, chosen, listener)


class TestRun:
    """A whole run, small."""

    def test_every_installed_engine_agrees(self, small: Corpus) -> None:
        """Where the formula permits the lists are litstore's; elsewhere most papers are."""
        names = suite.chosen(None, two_pass=True)
        result = measured(small, [], engines=names, logging=False)
        assert result["corpus"]["n_papers"] == 200
        left_out = {row["engine"] for row in result["skipped"]}
        rows = {row["engine"]: row for row in result["searches"]}
        assert rows.keys() | left_out == set(names)
        assert left_out.isdisjoint({"litstore", "litstore-two-pass"})
        for name, row in rows.items():
            assert row["n_queries"] == 12
            assert 0 < row["cpu_ms"]["p50"] <= row["cpu_ms"]["p99"]
            found = row["agreement"]
            assert found is None if name == "litstore-two-pass" else found["overlap"] > 0.6
            assert not found or found.get("same") == found.get("of")
        for row in result["indexes"]:
            assert row["wall_s"] > 0
            assert row["peak_bytes"] > 1e6

    def test_indexes_are_kept(self, small: Corpus) -> None:
        """A second run builds nothing, unless it is told to."""
        told: list[str] = []
        measured(small, [], engines=("litstore",), logging=False)
        first = measured(small, told, engines=("litstore",), logging=False)
        assert [line for line in told if line.startswith("building")] == []
        again = measured(small, told, engines=("litstore",), rebuild=True, logging=False)
        assert "building litstore from 200 papers" in told
        assert again["indexes"][0]["index_bytes"] == first["indexes"][0]["index_bytes"]

    def test_growth_stands_side_by_side(self, small: Corpus) -> None:
        """A column per size; what was not measured at one size is empty there."""
        first = measured(small, [], engines=("litstore",))
        second = json.loads(json.dumps(first))
        second["corpus"]["n_papers"] = 400
        second["searches"][0]["engine"] = "fts5"
        columns, rows = report.growth([first, second])
        assert columns == ("what", "200", "400")
        cells = {row[0]: row[1:] for row in rows}
        assert cells["litstore cpu_mean, k = 10"][1] == cells["fts5 cpu_mean, k = 10"][0] == ""


class Asked:
    """A client that notes what it was asked, in a list that several share."""

    def __init__(self, name: str, heard: list[tuple[str, str]]) -> None:
        self.name = name
        self.heard = heard

    def search(self, query: str, limit: int) -> None:
        """Note one search."""
        assert limit == logcost.LIMIT
        self.heard.append((self.name, query))


class TestLogCost:
    """What logging costs a search."""

    def test_both_are_asked_all_queries_in_stretches(self) -> None:
        """The log is on as often as off, each goes first in turn; first queries are not timed."""
        heard: list[tuple[str, str]] = []
        queries = [f"q{at}" for at in range(60)]
        on: Any = Asked("on", heard)
        off: Any = Asked("off", heard)
        times = logcost.in_turns(on, off, queries)
        warm, timed = heard[:60], heard[60:]
        assert warm == [("off", query) for query in queries]
        assert Counter(timed) == {
            (name, query): logcost.ROUNDS for name in ("on", "off") for query in queries
        }
        stretches = [timed[at : at + 25] for at in range(0, 100, 25)]
        assert [stretch[0] for stretch in stretches] == [
            ("on", "q0"), ("off", "q0"), ("off", "q25"), ("on", "q25"),
        ]  # fmt: skip
        assert all(len({name for name, _ in stretch}) == 1 for stretch in stretches)
        firsts = {"q0", "q25", "q50"}
        for logged in (True, False):
            assert times[logged].keys() == set(queries) - firsts
            assert {len(found) for found in times[logged].values()} == {logcost.ROUNDS}

    def test_differences_are_taken_query_by_query(self) -> None:
        """A query counts with the median of its rounds; the share is of what is not logged."""
        cpu, wall = logcost.compared(
            {
                True: {"a": [(1.2, 5.0), (1.4, 7.0), (9.0, 9.0)], "b": [(2.2, 3.0)] * 3, "x": []},
                False: {"a": [(1.0, 4.0), (1.0, 6.0), (1.0, 6.0)], "b": [(2.0, 2.0)] * 3},
            },
            1,
        )
        assert (cpu.clock, cpu.n_queries, wall.clock) == ("cpu", 2, "wall")
        assert cpu.passes == wall.passes == 1
        # a: 1.4 - 1.0 = 0.4, b: 2.2 - 2.0 = 0.2
        assert cpu.more_ms == pytest.approx((0.4 + 0.2) / 2)
        assert (cpu.on_ms, cpu.off_ms) == (pytest.approx(1.8), pytest.approx(1.5))
        assert cpu.share == pytest.approx(0.3 / 1.5)
        assert wall.more_ms == pytest.approx(1.0)

    def test_a_store_is_not_changed(self, small: Corpus) -> None:
        """The searches go to a copy, which is gone afterwards; each of them was logged or not."""
        result = measured(small, [], engines=("litstore",))
        cpu, wall, *both_passes = result["logging"]
        assert (cpu["clock"], wall["clock"]) == ("cpu", "wall")
        assert [cost["passes"] for cost in (cpu, *both_passes)] == [1, 2, 2]
        assert 0 < cpu["n_queries"] < 12
        assert cpu["off_ms"] > 0
        table = report.logging(result["logging"])
        assert [row[:2] for row in table[1]] == [
            (1, "cpu"), (1, "wall"), (2, "cpu"), (2, "wall"),
        ]  # fmt: skip
        stores = list((small.folder / "indexes" / "litstore").rglob("*.db"))
        assert [store.name for store in stores] == ["papers.db"]
        with litstore.open(stores[0]) as store:
            assert store.stats().n_queries == 0


class TestCommand:
    """What the command prints."""

    def test_tables(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The header says what is measured and what is not; the figures are kept as JSON."""
        monkeypatch.setattr(fresh, "RUNS", 1)
        code = run(["bench", "--papers", "150", "--queries", "10", "--engines", "fts5",
                    "--no-two-pass", "--work", str(tmp_path)])  # fmt: skip
        captured = capsys.readouterr()
        assert code == 0
        for opening in ("machine ", "versions ", "threads ", "measured ", "not ", "corpus "):
            assert f"\n{opening}" in f"\n{captured.out}"
        assert re.search(r"^litstore +10 .* 10/10 +1\.000", captured.out, re.MULTILINE)
        assert "first query in a fresh process" in captured.out
        assert "what logging costs a search" in captured.out
        (kept,) = (tmp_path / "results").iterdir()
        content = json.loads(kept.read_text(encoding="utf-8"))
        row = content["results"][0]["first_queries"][0]
        assert 0 < row["imports_cpu_ms"]
        assert row["own_cpu_ms"] == row["cpu_ms"] - row["imports_cpu_ms"]

    def test_json(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """One envelope with a result for each size and a row for each k."""
        code = run(["bench", "--sweep", "150,200", "--queries", "10", "--engines", "litstore",
                    "--k", "5", "--k", "50", "--no-two-pass", "--no-fresh", "--no-logging",
                    "--json",
                    "--work", str(tmp_path)])  # fmt: skip
        envelope = json.loads(capsys.readouterr().out)
        assert (code, envelope["command"], envelope["count"]) == (0, "bench", 2)
        assert [result["corpus"]["n_papers"] for result in envelope["results"]] == [150, 200]
        assert [row["k"] for row in envelope["results"][0]["searches"]] == [5, 50]
        assert [result["logging"] for result in envelope["results"]] == [[], []]
        assert envelope["machine"]["threads"]["OPENBLAS_NUM_THREADS"] == "1"

    @pytest.mark.parametrize(
        "arguments",
        [("--papers", "200", "--sweep", "100,200"), ("--sweep", "ten"), ("--engines", "solr")],
    )
    def test_usage(
        self, arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Contradictions and unknown engines are usage errors; nothing is made."""
        assert run(["bench", *arguments, "--work", str(tmp_path / "work")]) == 2
        assert capsys.readouterr().out == ""
        assert not (tmp_path / "work").exists()
