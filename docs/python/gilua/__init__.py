"""gilua from Python: judge, evolve and run, thin over the program's own --json.

    import gilua

    gilua.judge("old.cu", "new.cu").right             # True, False
    best = gilua.evolve("problem", seed=1)            # best["speedup"], best.run.evaluations()
    gilua.run("./app", "100", check="races").frame("kernels")

An option of the command line is a keyword: seed=1 is --seed 1, own_size=True is --own-size, a list has
commas between. What comes back is the JSON object that the program printed, as a dict (docs/formats.md);
frame(FIELD) is one of its lists as a pandas data frame. Where the program refuses, Error has its sentence
and its exit status. The program is $GILUA, or the one beside this file (in the wheel), or the one on PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    import pandas
    from gilua_reader import Run

__all__ = ["judge", "evolve", "run", "Result", "Error", "HOME", "PROGRAM"]

__version__ = "0.2.0"

HOME = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HOME, "gilua")

RIGHT, WRONG, NOTHING_BETTER = 0, 1, 3  # exit statuses with a result


class Error(RuntimeError):
    """What gilua refused: its sentence, and its exit status."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Result(Dict[str, Any]):
    """What the program printed; `status` is its exit status, `output` what else it said."""

    status: int = 0
    output: str = ""

    @property
    def right(self) -> bool:
        return bool(self["right"])

    @property
    def faster(self) -> bool:
        return bool(self["faster"])

    @property
    def run(self) -> "Run":
        """The folder of an evolution, as gilua_reader reads it."""
        from gilua_reader import Run

        return Run(self["folder"])

    def frame(self, field: str) -> "pandas.DataFrame":
        """A list of objects, a row for each."""
        import pandas

        return pandas.DataFrame(self[field])


def _program() -> str:
    found = os.environ.get("GILUA") or (PROGRAM if os.path.exists(PROGRAM) else shutil.which("gilua"))
    if not found:
        raise Error("there is no program gilua: name it in $GILUA, or put it on PATH", 127)
    return found


def _words(options: Dict[str, Any]) -> List[str]:
    words: List[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.rstrip("_").replace("_", "-"))
        if isinstance(value, (list, tuple)):
            words.append(",".join(str(part) for part in value))
        elif value is not True:
            words.append(str(value))
    return words


def _sentence(said: str) -> str:
    lines = [line[len("gilua: "):] for line in said.splitlines() if line.startswith("gilua: ")]
    return lines[-1] if lines else said.strip() or "gilua ended without a word"


def _call(words: List[str]) -> Tuple[int, str, str]:
    ended = subprocess.run([_program()] + words, stdin=subprocess.DEVNULL, capture_output=True,
                           encoding="utf-8", errors="replace", check=False)
    return ended.returncode, ended.stdout, ended.stderr


def _result(text: str, status: int, said: str, allowed: Tuple[int, ...]) -> Result:
    if status not in allowed or not text.strip():
        raise Error(_sentence(said), status)
    result = Result(json.loads(text))
    result.status, result.output = status, said
    return result


def judge(old: str, new: str, **options: Any) -> Result:
    """Is the kernel of another file right, and faster? `gilua judge OLD NEW`."""
    status, out, said = _call(["judge", str(old), str(new), "--json"] + _words(options))
    return _result(out, status, said, (RIGHT, WRONG, NOTHING_BETTER))


def evolve(problem: str, **options: Any) -> Result:
    """Evolves a problem; the result of its last stage, and `folder`, where the run is."""
    out = options.setdefault("out", os.path.join("out", os.path.basename(os.path.normpath(str(problem)))))
    status, text, said = _call(["evolve", str(problem), "--json"] + _words(options))
    last = [line for line in text.splitlines() if '"event": "result"' in line]
    result = _result(last[-1] if last else "", status, said, (RIGHT, NOTHING_BETTER))
    result["folder"] = str(out)
    return result


def run(program: str, *arguments: str, **options: Any) -> Result:
    """Runs a program on the virtual GPU; `output` is what it printed, `status` its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.json")
        status, out, said = _call(["run", "--json", path, "--quiet"] + _words(options)
                                  + ["--", str(program)] + [str(word) for word in arguments])
        text: Optional[str] = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
    result = _result(text or "", status, said, tuple(range(-64, 256)))
    result.output = out
    return result
