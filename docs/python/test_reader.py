"""Tests of gilua_reader on a run and a tuning that gilua left: RUN and TUNING name their folders,
EXPORT a prefix of what gilua export wrote of RUN (.csv, .jsonl). Where there is no pandas, what
needs it is skipped.
"""

import csv
import json
import math
import os
import shutil
import sqlite3
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import gilua_reader
from gilua_reader import ReaderError, Run, SchemaError

try:
    import pandas
except ImportError:
    pandas = None

RUN, TUNING, EXPORT = os.environ["RUN"], os.environ["TUNING"], os.environ["EXPORT"]
needs_pandas = unittest.skipUnless(pandas, "there is no pandas here")


class Rows(unittest.TestCase):
    """What works with the standard library alone."""

    def setUp(self):
        self.run_ = Run(RUN)
        self.addCleanup(self.run_.close)

    def test_rows_are_those_of_the_archive(self):
        rows = self.run_.rows("evaluations")
        self.assertEqual([row["id"] for row in rows], list(range(1, len(rows) + 1)))
        self.assertEqual(tuple(rows[0]), gilua_reader.EVALUATIONS)
        self.assertEqual(rows[0]["birth"], "unmodified")
        self.assertEqual(rows[0]["genome"], "")
        self.assertIn(True, [row["acceptable"] for row in rows])
        views = self.run_.rows("generations")
        self.assertEqual(tuple(views[0]), gilua_reader.GENERATIONS)
        members = sum(row["birth"] not in gilua_reader.ALONE for row in rows)
        self.assertEqual(sum(row["evaluations"] for row in views), members)

    def test_a_run_says_how_it_was_begun(self):
        about = self.run_.about
        self.assertEqual((about["seed"], about["device"]), (1, "emu"))
        self.assertEqual(about["command"]["words"][0], "evolve")
        self.assertIsNotNone(about["ended"])

    def test_the_result_is_result_json(self):
        self.assertEqual(self.run_.result["seed"], 1)
        best = self.run_.result["best"]["genome"]
        self.assertIn(best, [row["genome"] for row in self.run_.rows("evaluations")])

    def test_the_archive_alone_will_do(self):
        with Run(Path(RUN) / "archive.sqlite") as run:
            self.assertEqual(run.folder, Path(RUN))
            self.assertEqual(run.id, self.run_.id)

    def test_genes_know_what_they_do(self):
        genes = gilua_reader.genes_of("<_k.cu_1> <_k.cu_1><_k.cu_2> <_k.cu_1>+<_k.cu_2> N=3 S")
        self.assertEqual([gilua_reader.kind_of(gene) for gene in genes],
                         ["delete", "replace", "insert", "parameter", "parameter"])

    def test_without_pandas_a_sentence_says_so(self):
        with mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ReaderError, "a data frame needs pandas"):
                self.run_.evaluations()

    def test_export_is_the_same_table(self):
        rows = self.run_.rows("evaluations")
        with open(f"{EXPORT}.csv", newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        with open(f"{EXPORT}.jsonl", encoding="utf-8") as file:
            objects = [json.loads(line) for line in file]
        self.assertEqual(len(table), len(rows))
        self.assertEqual(tuple(table[0]), (*gilua_reader.EVALUATIONS[1:], "right"))
        self.assertEqual([list(o) for o in objects], [list(table[0])] * len(rows))
        for row, fields, one in zip(rows, table, objects):
            self.assertEqual((fields["genome"], one["genome"]), (row["genome"],) * 2)
            self.assertEqual(int(fields["id"]), row["id"])
            if row["ticks"] is not None:
                self.assertEqual(float(fields["ticks"]), row["ticks"])
                self.assertEqual(one["ticks"], None if math.isinf(row["ticks"]) else row["ticks"])
            self.assertEqual(fields["message"], row["message"] or "")


class Refusals(unittest.TestCase):
    """What cannot be read is said in a sentence."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = self.folder / "archive.sqlite"

    def refuses(self, error, pattern):
        with self.assertRaisesRegex(error, pattern):
            Run(self.folder)

    def test_no_run(self):
        self.refuses(ReaderError, "archive.sqlite is not there")

    def test_no_archive(self):
        self.path.write_text("nothing of the kind " * 100)
        self.refuses(ReaderError, "no archive of gilua's")

    def test_another_version(self):
        shutil.copy(Path(RUN) / "archive.sqlite", self.path)
        with sqlite3.connect(self.path) as connection:
            connection.execute("PRAGMA user_version = 999")
        connection.close()
        self.refuses(SchemaError, "an archive of version 999, and this gilua-reader knows [0-9]")

    def test_an_empty_archive(self):
        with sqlite3.connect(self.path) as connection:
            connection.execute(f"PRAGMA user_version = {gilua_reader.VERSIONS[-1]}")
            connection.execute("CREATE TABLE run (id INTEGER)")
        connection.close()
        self.refuses(ReaderError, "no run has begun there")

    def test_a_later_run_that_got_nowhere_is_not_meant(self):
        shutil.copy(Path(RUN) / "archive.sqlite", self.path)
        with sqlite3.connect(self.path) as connection:
            connection.execute("INSERT INTO run (id, world, seed, device, problem, command, began) "
                               "SELECT id + 50, world, seed, device, problem, command, began FROM run")
        connection.close()
        with Run(self.folder) as run, Run(RUN) as whole:
            self.assertEqual(run.rows("evaluations"), whole.rows("evaluations"))

    def test_views_runs_and_files_that_are_not_there(self):
        shutil.copy(Path(RUN) / "archive.sqlite", self.path)
        with self.assertRaisesRegex(ReaderError, "has no run 7"):
            Run(self.folder, run=7)
        with Run(self.folder) as run:
            with self.assertRaisesRegex(ReaderError, "there is no view 'world'"):
                run.rows("world")
            with self.assertRaisesRegex(ReaderError, "result.json cannot be read: No such file"):
                run.result
            (self.folder / "result.json").write_text("{")
            with self.assertRaisesRegex(ReaderError, "is not what a run leaves"):
                run.result
            with self.assertRaisesRegex(ReaderError, "no evaluation 1000000"):
                run.lineage(1000000)


@needs_pandas
class Frames(unittest.TestCase):
    def setUp(self):
        self.run_ = Run(RUN)
        self.addCleanup(self.run_.close)

    def test_evaluations_are_typed(self):
        frame = self.run_.evaluations()
        self.assertEqual(len(frame), len(self.run_.rows("evaluations")))
        kinds = {name: str(kind) for name, kind in frame.dtypes.items()}
        self.assertEqual((kinds["ticks"], kinds["first_parent"], kinds["acceptable"]),
                         ("float64", "Int64", "boolean"))

    def test_generations_have_the_same_counts(self):
        members, counted = self.run_.population(), self.run_.best_times()
        right = members[members.acceptable.fillna(False)]
        for generation, row in counted.iterrows():
            best = right[right.generation == generation].ticks.min()
            self.assertEqual(row.best, best)
            self.assertAlmostEqual(row.speedup, row.unmodified / best)
        self.assertEqual(list(counted.index), sorted(set(members.generation)))

    def test_gene_frequencies_are_shares(self):
        shares = self.run_.gene_frequencies(5)
        self.assertLessEqual(len(shares.columns), 5)
        gene, members = shares.columns[0], self.run_.population()
        last = members[members.generation == shares.index[-1]]
        having = sum(gene in genome.split() for genome in last.genome)
        self.assertAlmostEqual(shares[gene].iloc[-1], having / len(last))

    def test_a_lineage_goes_back_to_who_has_no_parents(self):
        frame = self.run_.evaluations()
        last = int(frame[frame.first_parent.notna()].index[-1])
        line = self.run_.lineage(last)
        self.assertEqual((line.index[0], line.depth.iloc[0]), (last, 0))
        parents = self.run_.parents()
        wanted = set(parents[parents.id == last].parent)
        self.assertEqual(set(line[line.depth == 1].index), wanted)
        self.assertTrue(line[line.depth == line.depth.max()].first_parent.isna().all())

    def test_settings_of_a_tuning(self):
        with Run(TUNING) as run:
            frame = run.settings()
            self.assertEqual(len(frame), run.result["settings"])
            self.assertEqual(frame.ns[frame.right].min(), run.result["best"]["ns"])
        with self.assertRaisesRegex(ReaderError, "holds no settings"):
            self.run_.settings()

    def test_pandas_reads_the_export(self):
        ours = self.run_.evaluations()
        table = pandas.read_csv(f"{EXPORT}.csv", index_col="id", float_precision="round_trip")
        lines = pandas.read_json(f"{EXPORT}.jsonl", lines=True, precise_float=True)
        for read in (table, lines.set_index("id")):
            self.assertEqual(list(read.genome.fillna("")), list(ours.genome))
            self.assertEqual(list(read.status), list(ours.status))
            self.assertEqual(str(read.ticks.dtype), "float64")
            finite = ours.ticks[ours.ticks < math.inf]
            self.assertEqual(list(read.ticks[finite.index]), list(finite))
        self.assertEqual(list(table.ticks), list(ours.ticks))


if __name__ == "__main__":
    unittest.main()
