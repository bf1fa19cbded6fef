#!/usr/bin/env python3
"""Native readers of pcb against each format's own Python reader: same stored files, same crops, same order.

    make bench-python                                          all stored forms of the dataset `small`
    python benches/python_readers.py --forms '^hdf5' --quick   some of them, roughly

Every number comes from a fresh process, native and Python in turns. Both read the same random rows of the object table
into (C, Y, X) arrays of the stored dtype, with one thread, and must hand out the same pixels; otherwise the row is a
`mismatch`. `pcb-data write DATASET FORMS` stores a dataset in more forms.
"""

import argparse
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from python_readers import formats, pagecache, table
from python_readers.dataset import Dataset, Form
from python_readers.statistics import middle, ratio

HERE = Path(__file__).resolve().parent
PACKAGES = [line.split("==")[0] for line in (HERE / "requirements.txt").read_text().split() if "==" in line]

# One thread each; and freed memory is kept, so that page faults of fresh arrays do not stand in for reading.
ENVIRONMENT = {
    **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "TIFFFILE")},
    "BLOSC_NTHREADS": "1",
    "LANCE_CPU_THREADS": "1",
    "LANCE_IO_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(128 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "PYTHONPATH": str(HERE),
    "PYTHONWARNINGS": "ignore",
    "ZARR_THREADING__MAX_WORKERS": "1",
}

# Seconds after which a process counts as stuck.
TOO_LONG = 300


class Failed(Exception):
    """What a measuring process said before it died."""


def data_folder():
    """Where pcb-data keeps datasets."""
    if "PCB_DATA" in os.environ:
        return Path(os.environ["PCB_DATA"])
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return Path(cache if cache.startswith("/") else Path.home() / ".cache") / "pcb/data"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dataset", type=Path, default=data_folder() / "small",
                        help="its folder (default: %(default)s)")
    parser.add_argument("--forms", default="", metavar="REGEX", help="forms to compare, like '^hdf5:.*/object$'")
    parser.add_argument("--crop", type=int, default=128, metavar="PIXELS")
    parser.add_argument("--rows", type=int, help="crops of a pass (default: 128, quick: 48)")
    parser.add_argument("--repeats", type=int, help="fresh processes of each measurement (default: 5, quick: 3)")
    parser.add_argument("--seconds", type=float, help="timed passes of a warm process (default: 0.5, quick: 0.2)")
    parser.add_argument("--patience", type=float, help="seconds a pass may take; slower readers read fewer crops, and\
                        are compared on those (default: 5, quick: 2)")
    parser.add_argument("--seed", type=int, default=1, help="decides the crops and their order")
    parser.add_argument("--quick", action="store_true", help="fewer crops, processes and passes")
    parser.add_argument("--native", type=Path, metavar="PROGRAM",
                        default=HERE.parent / "target/release/examples/read_forms",
                        help="program of the native side (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=HERE.parent / "results/python-readers.json", metavar="FILE",
                        help="JSON file of all numbers, replaced (default: %(default)s)")
    chosen = parser.parse_args()
    for name, usual, quick in (("rows", 128, 48), ("repeats", 5, 3), ("seconds", 0.5, 0.2), ("patience", 5, 2)):
        if getattr(chosen, name) is None:
            setattr(chosen, name, quick if chosen.quick else usual)
    if not (chosen.dataset / "dataset.json").exists():
        parser.error(f"{chosen.dataset} is no dataset: pcb-data make small; pcb-data write small FORMS")
    if not chosen.native.exists():
        parser.error(f"{chosen.native} is missing: cargo build --release -p pcb-formats --example read_forms")
    return chosen


def stored_forms(chosen):
    listed = subprocess.run([chosen.native, chosen.dataset], capture_output=True, text=True)
    if listed.returncode:
        sys.exit(f"python_readers: {listed.stderr.strip()}")
    lines = [line for line in listed.stdout.splitlines() if re.search(chosen.forms, Form.parse(line).name)]
    if not lines:
        sys.exit(f"python_readers: {chosen.dataset} has no stored form that matches {chosen.forms!r}")
    return lines


def measured(command, files=None):
    """What one fresh process measured; with `files` they are dropped from the page cache before it reads."""
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env={**os.environ, **ENVIRONMENT})
    stuck = threading.Timer(TOO_LONG, process.kill)
    stuck.start()
    try:
        if process.stdout.readline() == "armed\n":
            if files is not None:
                pagecache.drop(files)
            out, error = process.communicate("go\n")
        else:
            out, error = process.communicate()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        stuck.cancel()
    if process.returncode == -signal.SIGKILL:
        raise Failed(f"killed: out of memory, or not done after {TOO_LONG} s")
    if process.returncode:
        raise Failed((error.strip().splitlines() or [f"exit code {process.returncode}"])[-1])
    return json.loads(out)


def compare(listed, dataset, rows, chosen):
    """A row for each Python reader of the form in the file `listed`. `rows(count)` is the file of the first rows."""
    form = Form.parse(listed.read_text())
    try:
        labels = list(formats.readers(form, dataset))
    except (ImportError, LookupError) as error:
        return [row_of(form, "none", 0, {}, [str(error)])]

    def command(label, count):
        tail = [chosen.crop, rows(count), *([] if label is None else [chosen.dataset])]
        if label is None:
            return [chosen.native, chosen.dataset, form.name, *tail]
        return [sys.executable, "-m", "python_readers.measure", listed, label, *tail]

    counts = {}
    runs = {}
    for label in labels:
        try:
            one = measured([*command(label, 1), 1, 0])["p50_ns"] / 1e9
            counts[label] = affordable(one, chosen)
            problems = []
        except Failed as error:
            counts[label], problems = 0, [f"failed: {error}"]
        runs[label, counts[label]] = {"warm": [], "cold": [], "problems": problems}
    # The native side reads as many crops as each Python reader does.
    runs.update({(None, count): {"warm": [], "cold": [], "problems": []} for count in set(counts.values()) - {0}})
    for block in range(chosen.repeats):
        # Whoever is first in one block is last in the next.
        for side in list(runs)[:: 1 if block % 2 == 0 else -1]:
            measure_into(runs[side], command(*side) if side[1] else None, form, chosen)
        print(f"{form.name}: block {block + 1} of {chosen.repeats}", file=sys.stderr)
    return [judged(form, label, counts[label], runs.get((None, counts[label])), runs[label, counts[label]])
            for label in labels]


def affordable(seconds, chosen):
    """How many crops of so many seconds a pass may have: all of them, or a power of two."""
    if seconds * chosen.rows <= chosen.patience:
        return chosen.rows
    return min(chosen.rows, 2 ** max(1, int(math.log2(chosen.patience / seconds))))


def measure_into(found, command, form, chosen):
    """One warm and one cold process, unless something went wrong before."""
    if found["problems"]:
        return
    try:
        found["warm"].append(measured([*command, 1, chosen.seconds]))
        found["cold"].append(measured([*command, 0, 0], form.files))
    except Failed as error:
        found["problems"].append(f"failed: {error}")
    except pagecache.StillResident as error:
        found["problems"].append(f"not cold: {error}")


def judged(form, label, count, ours, theirs):
    if not ours:
        return row_of(form, label, count, {}, theirs["problems"])
    problems = [f"native {problem}" for problem in ours["problems"]] + theirs["problems"]
    if len({run["sha256"] for run in ours["warm"] + theirs["warm"]}) > 1:
        problems.append("mismatch: the two read different pixels")
    return row_of(form, label, count, {"native": ours, "python": theirs}, problems)


def row_of(form, label, count, runs, problems):
    row = {"form": form.name, "reader": label, "crops": count, "bytes": form.bytes, "problems": problems}
    row.update({"keeps_decoded": False, "warm": None, "cold": None, "runs": runs})
    if runs and not problems:
        ours, theirs = runs["native"], runs["python"]
        row["keeps_decoded"] = theirs["warm"][0]["keeps_decoded"]
        row["warm"] = {
            f"{side}_{key}": middle([run[key] for run in found["warm"]])
            for side, found in runs.items() for key in ("p50_ns", "p95_ns")
        }
        p50 = [[run["p50_ns"] for run in side["warm"]] for side in (ours, theirs)]
        row["warm"]["ratio"] = ratio(*p50)
        # The one pass, and opening: what one side reads when it opens, the other may read in the pass.
        passes = [[run["open_ns"] + run["pass_ns"][0] for run in side["cold"]] for side in (ours, theirs)]
        row["cold"] = {"native_ns": middle(passes[0]), "python_ns": middle(passes[1]), "ratio": ratio(*passes)}
    return row


def versions():
    found = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def main():
    chosen = arguments()
    dataset = Dataset(chosen.dataset)
    if not 0 < chosen.crop <= min(dataset.record[1:]):
        sys.exit(f"python_readers: --crop {chosen.crop}: records of the object layout are {dataset.record[1:]}")
    chosen.rows = min(chosen.rows, len(dataset))
    order = random.Random(chosen.seed).sample(range(len(dataset)), chosen.rows)
    found = []
    with tempfile.TemporaryDirectory(prefix="python-readers-") as folder:

        def rows(count):
            path = Path(folder, str(count))
            path.write_text("\n".join(map(str, order[:count])))
            return path

        listed = Path(folder, "form")
        for line in stored_forms(chosen):
            # Forms of many files are too long for an argument.
            listed.write_text(line)
            found += compare(listed, dataset, rows, chosen)
    told = {key: str(value) if isinstance(value, Path) else value for key, value in vars(chosen).items()}
    document = {"arguments": told, "dataset": dataset.info["digest"], "versions": versions(), "rows": found}
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(document, indent=1) + "\n")
    print(table.render(found))


if __name__ == "__main__":
    main()
