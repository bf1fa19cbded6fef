"""Intervals over fresh processes. Pure."""

import math
from statistics import fmean, median, stdev

# 97.5 % quantiles of Student's t for 1 to 15 degrees of freedom; beyond, the last one is a little too wide.
T975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


def ratio(native, python):
    """{ratio, low, high} of native over Python, paired by block: t on logs, 95 %. Above 1 native is slower."""
    logs = [math.log(ours / theirs) for ours, theirs in zip(native, python)]
    if not logs:
        return None
    middle = fmean(logs)
    if len(logs) == 1:
        return {"ratio": math.exp(middle), "low": 0.0, "high": math.inf}
    half = T975[min(len(logs) - 1, len(T975)) - 1] * stdev(logs) / math.sqrt(len(logs))
    return {"ratio": math.exp(middle), "low": math.exp(middle - half), "high": math.exp(middle + half)}


def middle(values):
    return median(values) if values else None
