"""Rows as a table that people read. Pure."""

HEAD = (
    "form", "Python reader", "crops", "native p50", "p95", "Python p50", "p95", "ratio, 95 % interval",
    "native cold", "Python cold", "ratio, 95 % interval", "",
)
NOTE = """warm: us of a crop after a warm-up pass; cold: s of opening and one pass, every page proven absent before
medians over processes; ratio: native over Python, below 1 native is faster
! native is slower   ? native looks slower, but the interval holds 1
kept: the Python library keeps decoded pixels between reads, which pcb's readers never do; its warm ratio is no match"""


def render(rows):
    cells = [HEAD, *(line(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEAD))]
    text = []
    for row in cells:
        parts = [cell.ljust(width) if at in (0, 1, 11) else cell.rjust(width) for at, (cell, width) in
                 enumerate(zip(row, widths))]
        text.append("  ".join(parts).rstrip())
    return "\n".join([*text, "", NOTE])


def line(row):
    warm, cold = row["warm"], row["cold"]
    cells = [row["form"], row["reader"], str(row["crops"])]
    cells += [us(warm, key) for key in ("native_p50_ns", "native_p95_ns", "python_p50_ns", "python_p95_ns")]
    cells += [interval(warm), seconds(cold, "native_ns"), seconds(cold, "python_ns"), interval(cold)]
    marks = mark(cold=cold) if row["keeps_decoded"] else mark(warm=warm, cold=cold)
    kept = "kept" if row["keeps_decoded"] else ""
    return (*cells, " ".join(row["problems"]) or ", ".join(filter(None, (kept, marks))))


def us(part, key):
    return f"{part[key] / 1000:.1f}" if part else "-"


def seconds(part, key):
    return f"{part[key] / 1e9:.4f}" if part else "-"


def interval(part):
    return "{ratio:.3f} [{low:.3f}, {high:.3f}]".format(**part["ratio"]) if part else "-"


def mark(**parts):
    """A sign for each state in which native is slower, or may be."""
    signs = []
    for state, part in parts.items():
        if part and part["ratio"]["ratio"] > 1:
            signs.append(f"{'!' if part['ratio']['low'] > 1 else '?'} {state}")
    return ", ".join(signs)
