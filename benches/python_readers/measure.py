"""Measures one Python reader in a process of its own; the counterpart of worker/formats/examples/read_forms.rs.

    python -m python_readers.measure FORM-AS-JSON READER CROP ROWS DATASET WARM SECONDS
"""

import hashlib
import json
import sys
import time

import numpy as np

from . import formats
from .dataset import Dataset, Form
from .reading import Crops

clock = time.perf_counter_ns


def main(form, reader, crop, rows, dataset, warm, seconds):
    """WARM is 1 for a pass that is not timed and gives the digest, then timed passes for SECONDS; 0 for one cold pass."""
    form, crop = Form.parse(form), int(crop)
    with open(rows) as file:
        rows = [int(row) for row in file]
    main_set = Dataset(dataset)
    opener = formats.readers(form, main_set)[reader]
    crops = Crops(main_set, form, crop)
    warm_code(form, reader, crop, main_set)
    print("armed", flush=True)
    sys.stdin.readline()

    start = clock()
    crops.source = opener()
    open_ns = clock() - start
    told = {"open_ns": open_ns, "samples": len(rows), "sha256": None}
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
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "form.json")
    form = Form(**{**vars(form), "folder": folder, "files": files})
    crops = Crops(decoy, form, crop)
    crops.source = formats.readers(form, decoy)[reader]()
    for row in range(min(len(decoy), 32)):
        crops.read(row)
    crops.source.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
