"""safetensors: slices out of a mapped file."""

from safetensors import safe_open

from ..reading import PerImage, Source


class Records(Source):
    """One file: a tensor for each object id, or one of all records."""

    def __init__(self, path, ids):
        self.tensors = safe_open(path, framework="numpy")
        names = set(self.tensors.keys())
        self.ids = ids if names.issuperset(ids) else None
        self.stack = None if self.ids else self.tensors.get_slice(next(iter(names)))

    def rect(self, image, y0, y1, x0, x1):
        if self.stack is None:
            return self.tensors.get_slice(self.ids[image])[:, y0:y1, x0:x1]
        return self.stack[image : image + 1, :, y0:y1, x0:x1][0]

    def close(self):
        self.tensors = self.stack = None


class Sites(PerImage):
    """A file for each site with one tensor."""

    def open_file(self, path):
        tensors = safe_open(path, framework="numpy")
        return tensors.get_slice(next(iter(tensors.keys())))

    def rect(self, image, y0, y1, x0, x1):
        return self.file(image)[:, y0:y1, x0:x1]


def readers(form, dataset):
    if form.layout == "object":
        return {"safe_open": lambda: Records(form.files[0], dataset.ids)}
    return {"safe_open": lambda: Sites(dataset.site_files(form.folder, "safetensors"))}
