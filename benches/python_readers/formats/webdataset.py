"""WebDataset shards at random: tarfile's own index, then the member's bytes into numpy.

The webdataset package streams shards and has no random access; its companion wids has, and imports torch.
"""

import io
import tarfile

import numpy as np

from ..reading import Source


def scanned(path):
    """(key, offset, size) of the .npy members, out of the headers of a shard."""
    with tarfile.open(path, "r:") as shard:
        for member in shard:
            if member.name.endswith(".npy"):
                yield member.name.rsplit("/", 1)[-1][:-4], member.offset_data, member.size


def indexed(path):
    """The same out of the index beside it, as DALI's wds2idx writes it: a sample a line."""
    for line in path.with_suffix(".idx").read_text().splitlines()[1:]:
        words = line.split()
        at = words.index("npy")
        yield words[at + 3].rsplit("/", 1)[-1][:-4], int(words[at + 1]), int(words[at + 2])


class Shards(Source):
    """Offsets of all samples, found when opened; one seek and read for each, decoded as webdataset does."""

    def __init__(self, paths, ids, members):
        self.files = [open(path, "rb") for path in paths]
        places = [(key, (file, *place)) for path, file in zip(paths, self.files) for key, *place in members(path)]
        # Keys are object ids, or rows in table order where ids would be no file names.
        by_key = dict(places)
        known = by_key.keys() >= set(ids)
        self.places = [by_key[key] for key in ids] if known else [place for _, place in places]

    def rect(self, image, y0, y1, x0, x1):
        file, offset, size = self.places[image]
        file.seek(offset)
        return np.load(io.BytesIO(file.read(size)))[:, y0:y1, x0:x1]

    def close(self):
        for file in self.files:
            file.close()


def readers(form, dataset):
    shards = sorted(file for file in form.files if file.suffix == ".tar")
    if len(shards) < len(form.files):
        return {"wds2idx + numpy.load": lambda: Shards(shards, dataset.ids, indexed)}
    return {"tarfile + numpy.load": lambda: Shards(shards, dataset.ids, scanned)}
