"""Pillow: one file for each record, channels beside or below each other, or a file for each channel."""

import numpy as np
from PIL import Image

from ..reading import Source


class Pictures(Source):
    """Opens and decodes whole files; `paths[record]` lists them. Channels lie along the height or the width."""

    def __init__(self, paths, channels):
        self.paths, self.channels = paths, channels

    def rect(self, image, y0, y1, x0, x1):
        paths = self.paths[image]
        if len(paths) > 1:
            return np.stack([decoded(path)[y0:y1, x0:x1] for path in paths])
        pixels = decoded(paths[0])
        height, width = pixels.shape
        if height > width:
            return pixels.reshape(self.channels, -1, width)[:, y0:y1, x0:x1]
        return pixels.reshape(height, self.channels, -1).transpose(1, 0, 2)[:, y0:y1, x0:x1]


def decoded(path):
    with Image.open(path) as picture:
        return np.asarray(picture)


def readers(form, dataset):
    """Files in table order: as many for each record as the form has."""
    files = sorted(form.files)
    each = len(files) // len(dataset)
    paths = [files[first : first + each] for first in range(0, len(files), each)]
    return {"Pillow": lambda: Pictures(paths, dataset.channels)}
