#!/usr/bin/env python3
"""make.py - posterior moments of small regressions, without the library.

Writes moments.txt: for each case its spec, rows, columns and classes, then the
rows (response first), then mean and standard deviation of every coordinate.
Logistic: the trapezoidal rule on a grid of both coefficients.  Linear: the
coefficients given sigma are normal, in closed form; log sigma by the trapezoidal
rule.
"""

import numpy as np


def logistic(y, a, sds):
    axes = [np.linspace(-40.0, 40.0, 3201)] * 2
    lp = -0.5 * (axes[0][:, None] / sds[0]) ** 2 - 0.5 * (axes[1][None, :] / sds[1]) ** 2
    for label, row in zip(y, a):
        z = row[0] * axes[0][:, None] + row[1] * axes[1][None, :]
        lp = lp - np.logaddexp(0.0, np.where(label > 0, -z, z))
    w = np.exp(lp - lp.max())
    w /= w.sum()
    out = []
    for axis, other in ((0, 1), (1, 0)):
        marginal = w.sum(axis=other)
        mean = marginal @ axes[axis]
        out.append((mean, np.sqrt(marginal @ (axes[axis] - mean) ** 2)))
    return out


def linear(y, a, sds, log_sigma_sd):
    """x ~ N(0, diag sds^2): y given s is N(0, sigma^2 + a D a')."""
    n, d = a.shape
    grid = np.linspace(-12.0, 12.0, 24001)
    logs, first, second = [], [], []
    prior = np.diag(1.0 / np.square(sds))
    for s in grid:
        precision = np.exp(-2.0 * s)
        inner = prior + precision * a.T @ a
        mean = np.linalg.solve(inner, precision * a.T @ y)
        _, log_det = np.linalg.slogdet(inner)
        fit = precision * (y @ y) - mean @ inner @ mean
        logs.append(-n * s - 0.5 * fit - 0.5 * log_det - 0.5 * (s / log_sigma_sd) ** 2)
        first.append(mean)
        second.append(np.diag(np.linalg.inv(inner)) + mean**2)
    w = np.exp(np.array(logs) - np.max(logs))
    w /= w.sum()
    mean = w @ np.array(first)
    sd = np.sqrt(w @ np.array(second) - mean**2)
    centre = w @ grid
    return list(zip(mean, sd)) + [(centre, np.sqrt(w @ (grid - centre) ** 2))]


def write(out, spec, classes, y, x, moments):
    n, d = x.shape
    out.write(f"{spec} {n} {d} {classes} {len(moments)}\n")
    for label, row in zip(y, x):
        out.write(" ".join(repr(float(v)) for v in (label, *row)) + "\n")
    for mean, sd in moments:
        out.write(f"{float(mean)!r} {float(sd)!r}\n")


def main():
    rng = np.random.default_rng(20170101)
    with open("moments.txt", "w", encoding="ascii") as out:
        x = np.round(rng.normal(size=(20, 2)), 3)
        y = (rng.uniform(size=20) < 1 / (1 + np.exp(-x @ [1.0, -0.5]))).astype(float)
        write(out, "logistic:sd=3", 2, y, x, logistic(y, x, (3.0, 3.0)))
        x1 = x[:13, :1]
        y1 = y[:13]
        ones = np.hstack([np.ones_like(x1), x1])
        write(out, "logistic:sd=2,intercept=1,intercept_sd=4", 2, y1, x1,
              logistic(y1, ones, (4.0, 2.0)))
        x2 = np.round(rng.normal(size=(11, 1)), 3)
        y2 = np.round(1.5 * x2[:, 0] + 0.7 * rng.normal(size=11), 3)
        write(out, "linear:sd=2,log_sigma_sd=1.5", 0, y2, x2,
              linear(y2, x2, (2.0,), 1.5))


if __name__ == "__main__":
    main()
