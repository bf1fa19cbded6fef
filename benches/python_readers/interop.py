"""Every Python reader against files of other writers: `python -m python_readers.interop FOLDER`.

FOLDER holds manifest.json with ids, shape and the SHA-256 of each image. It is read as if it were a dataset of pcb
whose records, and whose sites, are those images.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from . import formats
from .dataset import Dataset, Form


class Images(Dataset):
    """The images of a manifest as sites and as records."""

    def __init__(self, manifest):
        self.dtype, self.channels = np.dtype(manifest["dtype"]), manifest["shape"][0]
        self.record = tuple(manifest["shape"])
        self.ids = manifest["ids"]
        self.site_of = list(range(len(self.ids)))
        height, width = self.record[1:]
        self.sites = []
        for name in self.ids:
            plate, well, site = name.split("-s")[0].split("-") + [name.split("-s")[1]]
            self.sites.append({"plate": plate, "well": well, "site": site, "height": height, "width": width})
        self.centers = [(height / 2, width / 2)] * len(self.ids)


def forms(root):
    """Files of a folder as stored forms: (form, the only layout that it is)."""
    for format in sorted(path for path in root.iterdir() if path.is_dir()):
        name = "npy" if format.name == "npy-per-image" else format.name
        for stored in sorted(format.iterdir()) if format.name != "npy-per-image" else [format]:
            files = sorted(path for path in [stored, *stored.rglob("*")] if path.is_file())
            per_site = format.name in ("npy-per-image", "ome-tiff", "ome-zarr")
            folder = stored if stored.is_dir() and stored.suffix == "" else stored.parent
            variants = ("mmap", "pread", "reopen") if name == "npy" else (stored.name,)
            # Reading at offsets is for arrays in C order, as pcb writes them.
            for variant in variants if "fortran" not in stored.name else ("mmap",):
                yield Form(name, variant, "site" if per_site else "object", stored.name, folder, files, 0)


def main(root):
    root = Path(root)
    manifest = json.loads((root / "manifest.json").read_text())
    dataset, wrong, right = Images(manifest), 0, 0
    for form in forms(root):
        for label, opener in formats.readers(form, dataset).items():
            source = opener()
            bad = [name for row, name in enumerate(dataset.ids) if digest(source, form, dataset, row)
                   != manifest["sha256"][name]]
            source.close()
            wrong, right = wrong + bool(bad), right + (not bad)
            print(f"{form.name}, {label}: {'wrong: ' + ', '.join(bad) if bad else 'right'}")
    print(f"{right} right, {wrong} wrong")
    return wrong


def digest(source, form, dataset, row):
    """SHA-256 of an image put together from four parts."""
    height, width = dataset.record[1:]
    out = np.zeros(dataset.record, dataset.dtype)
    for y0, y1 in ((0, height // 3), (height // 3, height)):
        for x0, x1 in ((0, width // 3 + 5), (width // 3 + 5, width)):
            out[:, y0:y1, x0:x1] = source.rect(row, y0, y1, x0, x1)
    return hashlib.sha256(out).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) > 0)
