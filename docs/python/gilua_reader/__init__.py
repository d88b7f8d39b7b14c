"""Runs of gilua as pandas data frames: the archive, the result, the tuned settings.

    from gilua_reader import Run

    run = Run("out/km-1")
    run.evaluations()   # a row for each mutant: genome, parents, status, ticks, errors, fitness
    run.lineage(33)     # one of them, its parents, their parents ...
    run.result["speedup"]

Only the standard library is needed for rows as dicts (``run.rows("evaluations")``); what returns a
data frame needs pandas. The archive is opened to be read alone, also while the run is on, and no
code of the run's is executed. The columns are those of docs/archive.md and docs/formats.md.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Union
from urllib.request import pathname2url

if TYPE_CHECKING:
    import pandas

__all__ = ["Run", "ReaderError", "SchemaError", "VERSIONS"]

#: Versions of the archive's schema that this reader knows (PRAGMA user_version).
VERSIONS = (1, 2, 3, 4)

ARCHIVE = "archive.sqlite"
VIEWS = ("evaluations", "generations")

# Columns of evaluations, as docs/archive.md has them. Whole numbers and booleans that may be missing
# have types of their own, because pandas would convert them to floats.
EVALUATIONS = (
    "run", "id", "generation", "birth", "first_parent", "second_parent", "genome", "case", "status",
    "message", "ticks", "ns", "max_error", "mean_error", "wrong", "unset", "registers", "source",
    "ptx", "fitness", "acceptable",
)
GENERATIONS = ("run", "generation", "evaluations", "ran", "acceptable", "best_fitness")
# Births of who is no part of a population.
ALONE = ("unmodified", "finalist", "knock-out", "best", "front", "try")
MAY_MISS = {
    "first_parent": "Int64", "second_parent": "Int64", "parent": "Int64", "registers": "Int64",
}

Row = Dict[str, Any]
PathLike = Union[str, "os.PathLike[str]"]


class ReaderError(Exception):
    """What keeps a run from being read, as a sentence."""


class SchemaError(ReaderError):
    """The archive is of a version that this reader does not know."""


def _connect(path: Path) -> sqlite3.Connection:
    """An archive, to be read. SQLite wants to write a file beside one that is in WAL mode; where
    it may not, and nobody is writing, the file is read as it is."""
    if not path.is_file():
        raise ReaderError(f"{path} is not there: it is no run, or one of a gilua before 0.2")
    still = not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists()
    uri = f"file:{pathname2url(str(path.resolve()))}?{'immutable=1' if still else 'mode=ro'}"
    try:
        connection = sqlite3.connect(uri, uri=True)
        connection.row_factory = sqlite3.Row
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as why:
        raise ReaderError(f"{path} is no archive of gilua's, or a broken one: {why}") from None
    if version not in VERSIONS:
        connection.close()
        known = ", ".join(map(str, VERSIONS))
        raise SchemaError(
            f"{path} is an archive of version {version}, and this gilua-reader knows {known}: "
            "install the one that came with the gilua that wrote it (docs/python)"
        )
    return connection


def _frame(rows: Sequence[Row], columns: Sequence[str]) -> "pandas.DataFrame":
    try:
        import pandas
    except ImportError:
        raise ReaderError(
            "a data frame needs pandas, which is not installed: pip install pandas, or take "
            "Run.rows(), which gives dicts"
        ) from None
    frame = pandas.DataFrame(list(rows), columns=list(columns))
    return frame.astype({name: kind for name, kind in MAY_MISS.items() if name in frame})


def _evaluations(rows: Sequence[Row], columns: Sequence[str]) -> "pandas.DataFrame":
    frame = _frame(rows, columns)
    return frame.astype({"acceptable": "boolean"})


def genes_of(genome: str) -> List[str]:
    """The genes of a genome, in order."""
    return genome.split()


def kind_of(gene: str) -> str:
    """What a gene does: "delete", "replace", "insert" or "parameter"."""
    if not gene.startswith("<"):
        return "parameter"
    if ">+<" in gene:
        return "insert"
    return "replace" if "><" in gene else "delete"


class Run:
    """A run: its folder, or its archive alone.

    Where one folder has several runs: `run`, or the last one with a recorded generation.
    """

    def __init__(self, path: PathLike, run: Optional[int] = None) -> None:
        given = Path(path)
        self.folder: Path = given.parent if given.is_file() else given
        self.archive: Path = given if given.is_file() else given / ARCHIVE
        self._connection = _connect(self.archive)
        rows = self._query("SELECT * FROM run ORDER BY id")
        runs = [row["id"] for row in rows]
        # the other evolutions of a run's command are parts of it
        whole = [row["id"] for row in rows if row.get("part_of") is None]
        if not runs:
            raise ReaderError(f"{self.archive}: no run has begun there")
        if run is not None and run not in runs:
            raise ReaderError(f"{self.archive} has no run {run}: its runs are {runs}")
        self.id: int = self._told(whole) if run is None else run

    def _told(self, runs: List[int]) -> int:
        told = self._query("SELECT id FROM run WHERE EXISTS (SELECT 1 FROM evaluation "
                           "WHERE run = run.id AND birth <> 'unmodified')")
        return max({row["id"] for row in told} & set(runs), default=runs[-1])

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, run={self.id})"

    def close(self) -> None:
        self._connection.close()

    def _query(self, sql: str, *values: Any) -> List[Row]:
        try:
            return [dict(row) for row in self._connection.execute(sql, values)]
        except sqlite3.DatabaseError as why:
            raise ReaderError(f"{self.archive} cannot be read: {why}") from None

    # -- rows, without pandas

    def rows(self, view: str) -> List[Row]:
        """The rows of a view of this run: "evaluations" or "generations"."""
        if view not in VIEWS:
            raise ReaderError(f"there is no view {view!r}: {' and '.join(VIEWS)} there are")
        if view == "generations":
            return self._query("SELECT * FROM generations WHERE run = ? ORDER BY generation", self.id)
        rows = self._query("SELECT * FROM evaluations WHERE run = ? ORDER BY id", self.id)
        for row in rows:
            row["acceptable"] = None if row["acceptable"] is None else bool(row["acceptable"])
        return rows

    @property
    def about(self) -> Row:
        """How the run was begun: seed, device, problem, command, began, ended (UTC)."""
        row = self._query("SELECT * FROM run WHERE id = ?", self.id)[0]
        row["command"] = json.loads(row["command"])
        return row

    @property
    def result(self) -> Row:
        """result.json of the run's folder."""
        path = self.folder / "result.json"
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except OSError as why:
            raise ReaderError(f"{path} cannot be read: {why.strerror}") from None
        except ValueError as why:
            raise ReaderError(f"{path} is not what a run leaves: {why}") from None

    # -- data frames

    def evaluations(self) -> "pandas.DataFrame":
        """Every evaluation, by its `id`. A time that does not exist is inf, a field NaN."""
        return _evaluations(self.rows("evaluations"), EVALUATIONS).set_index("id")

    def population(self) -> "pandas.DataFrame":
        """The same without who is no part of a population: the unmodified kernel, and what was
        measured after the last generation, on another case, or tried and not kept."""
        frame = self.evaluations()
        return frame[~frame.birth.isin(ALONE)]

    def generations(self) -> "pandas.DataFrame":
        """How many were evaluated, ran and were right, and the best fitness, by generation."""
        return _frame(self.rows("generations"), GENERATIONS).set_index("generation")

    def best_times(self) -> "pandas.DataFrame":
        """By generation: ticks of the unmodified kernel, of the best and the median of those that
        are acceptable, and the speed-up of the best."""
        frame, members = self.evaluations(), self.population()
        right = members[members.acceptable.fillna(False)].groupby("generation").ticks
        found = frame[frame.birth == "unmodified"].groupby("generation")[["ticks"]].first()
        found = found.rename(columns={"ticks": "unmodified"})
        found["best"], found["median"] = right.min(), right.median()
        found["speedup"] = found.unmodified / found.best
        return found

    def genes(self) -> "pandas.DataFrame":
        """A row for each gene of each mutant of a population: id, generation, position, gene,
        kind, acceptable."""
        rows = [
            {"id": row["id"], "generation": row["generation"], "position": position, "gene": gene,
             "kind": kind_of(gene), "acceptable": row["acceptable"]}
            for row in self.rows("evaluations") if row["birth"] not in ALONE
            for position, gene in enumerate(genes_of(row["genome"]), 1)
        ]
        return _evaluations(rows, ["id", "generation", "position", "gene", "kind", "acceptable"])

    def gene_frequencies(self, most: int = 10) -> "pandas.DataFrame":
        """The share of each generation's mutants that have a gene, for the `most` frequent genes:
        a row a generation, a column a gene."""
        sizes = self.population().groupby("generation").size()
        genes = self.genes().drop_duplicates(["id", "gene"])
        counts = genes.groupby(["generation", "gene"]).size().unstack(fill_value=0)
        frequent = counts.sum().sort_values(ascending=False, kind="stable").index[:most]
        return counts[frequent].reindex(sizes.index, fill_value=0).div(sizes, axis=0)

    def parents(self) -> "pandas.DataFrame":
        """Who descends from whom: id, parent, birth; a row for each parent."""
        edges = [
            {"id": row["id"], "parent": row[which], "birth": row["birth"]}
            for row in self.rows("evaluations")
            for which in ("first_parent", "second_parent") if row[which] is not None
        ]
        return _frame(edges, ["id", "parent", "birth"])

    def lineage(self, id: int) -> "pandas.DataFrame":
        """An evaluation and its ancestors, nearest first, with `depth` (0: itself)."""
        known = {row["id"]: row for row in self.rows("evaluations")}
        if id not in known:
            raise ReaderError(f"{self.archive} has no evaluation {id} in run {self.id}")
        depths, front = {id: 0}, [id]
        for one in front:  # which grows as it is read
            for which in ("first_parent", "second_parent"):
                parent = known[one][which]
                if parent in known and parent not in depths:
                    depths[parent] = depths[one] + 1
                    front.append(parent)
        rows = [{**known[one], "depth": depth} for one, depth in depths.items()]
        rows.sort(key=lambda row: (row["depth"], row["id"]))
        return _evaluations(rows, (*EVALUATIONS, "depth")).set_index("id")

    def settings(self) -> "pandas.DataFrame":
        """What `gilua tune` measured: genome, status, right, ticks, ns, errors, registers."""
        rows = self.result.get("rows")
        if rows is None:
            raise ReaderError(f"{self.folder} holds no settings: it is no run of gilua tune")
        return _frame(rows, list(rows[0]))
