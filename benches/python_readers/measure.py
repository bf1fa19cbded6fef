"""Measures one Python reader in a process of its own; the counterpart of worker/formats/examples/read_forms.rs.

    python -m python_readers.measure FORM READER CROP ROWS DATASET WARM SECONDS

FORM is a file with the form as `read_forms DATASET` lists it, ROWS one with rows of the object table.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np

from . import formats
from .dataset import Dataset, Form
from .reading import Crops

clock = time.perf_counter_ns


def main(form, reader, crop, rows, dataset, warm, seconds):
    """WARM 1: a pass that is not timed gives the digest, then passes are timed for SECONDS. WARM 0: one timed pass."""
    form, crop = Form.parse(Path(form).read_text()), int(crop)
    rows = [int(row) for row in Path(rows).read_text().split()]
    main_set = Dataset(dataset)
    opener = formats.readers(form, main_set)[reader]
    crops = Crops(main_set, form, crop)
    warm_code(form, reader, crop, main_set)
    print("armed", flush=True)
    sys.stdin.readline()

    start = clock()
    crops.source = opener()
    open_ns = clock() - start
    told = {"open_ns": open_ns, "keeps_decoded": crops.source.keeps_decoded, "samples": len(rows), "sha256": None}
    if int(warm):
        told["sha256"] = digest(crops, rows)
    samples, pass_ns = [], []
    end = clock() + int(float(seconds) * 1e9)
    while not pass_ns or clock() < end:
        start = clock()
        read_all(crops.read, rows, samples)
        pass_ns.append(clock() - start)
    told["pass_ns"] = pass_ns
    told["p50_ns"], told["p95_ns"] = (float(at) for at in np.quantile(samples, [0.5, 0.95]))
    print(json.dumps(told), flush=True)


def read_all(read, rows, samples):
    for row in rows:
        start = clock()
        read(row)
        samples.append(clock() - start)


def digest(crops, rows):
    """SHA-256 of the pixels of all crops, one after the other."""
    seen = hashlib.sha256()
    for row in rows:
        pixels = crops.read(row)
        if pixels.shape != crops.out.shape or pixels.dtype != crops.out.dtype:
            raise ValueError(f"a crop is {pixels.dtype} {pixels.shape}, not {crops.out.dtype} {crops.out.shape}")
        seen.update(np.ascontiguousarray(pixels))
    return seen.hexdigest()


def warm_code(form, reader, crop, dataset):
    """Imports and first calls cost up to a second: they are made on the dataset's decoy, where it has this form."""
    decoy = Dataset(dataset.root / "decoy")
    folder = decoy.root / "formats" / form.folder.name
    if not (folder.is_dir() or (form.stored == "source" and "source" in decoy.sites[0])):
        return
    # Of several variants of one form only some read all kinds of files.
    kinds = {path.suffix for path in form.files}
    files = sorted(path for path in folder.rglob("*") if path.suffix in kinds and path.is_file())
    files = [path for path in files if path.name != "form.json"]
    form = Form(**{**vars(form), "folder": folder, "files": files})
    crops = Crops(decoy, form, crop)
    crops.source = formats.readers(form, decoy)[reader]()
    for row in range(min(len(decoy), 32)):
        crops.read(row)
    crops.source.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
