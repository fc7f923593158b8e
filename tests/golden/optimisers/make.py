#!/usr/bin/env python3
"""make.py - paths of the optimisers, computed without the library.

Two problems: an ill-conditioned quadratic that is not aligned with the axes, and
a logistic regression.  Writes quadratic.csv and logistic.csv (the
data of the problems) and paths.csv: the point of every case after some of 100 steps.
It needs NumPy only.

The formulas minimise U = -lp / N; those of docs/math.md maximise lp.
"""

import math
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
STEPS = 100
KEPT = (1, 2, 3, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


# ---- problems ----------------------------------------------------------------

def quadratic():
    rng = np.random.default_rng(1)
    q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    a = q @ np.diag([1.0, 7.0, 40.0, 200.0]) @ q.T
    a = (a + a.T) / 2
    b = rng.standard_normal(4)
    x0 = rng.standard_normal(4) * 2
    return {"a": a, "b": b, "x0": x0}


def logistic():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((12, 3)) * np.array([1.0, 3.0, 0.2])
    y = (rng.random(12) < 1 / (1 + np.exp(-x @ np.array([1.0, -0.5, 2.0]))))
    return {"x": x, "y": y.astype(float), "x0": np.array([0.5, 1.0, -1.0])}


Q, L = quadratic(), logistic()


def slope_quadratic(t):
    return Q["a"] @ (t - Q["b"])


def slope_logistic(t):
    """Gradient of the mean over 12 rows, with a normal prior of variance 4."""
    p = 1 / (1 + np.exp(-L["x"] @ t))
    return (L["x"].T @ (p - L["y"]) + t / 4.0) / 12.0


PROBLEMS = {"quadratic": (slope_quadratic, Q["x0"], 1),
            "logistic": (slope_logistic, L["x0"], 12)}


# ---- optimisers: generators of points ------------------------------------------

def constant(_):
    return 1.0


def cosine(t):
    return 0.5 * (1 + math.cos(math.pi * t / STEPS))


def polynomial(t, b=10.0, g=0.5):
    return (1 + t / b) ** -g


def momentum(f, x, rate, mu=0.9, decay=0.0, schedule=constant):
    v = np.zeros_like(x)
    for t in range(STEPS):
        s = schedule(t)
        v = mu * v - rate * s * f(x)
        x = (1 - decay * s) * x + v
        yield x


def nesterov(f, x, rate, mu=0.9):
    """The form of Sutskever et al.: a look ahead.  Their x + mu v is kept."""
    v = np.zeros_like(x)
    for _ in range(STEPS):
        v = mu * v - rate * f(x + mu * v)
        x = x + v
        yield x + mu * v


def adam(f, x, rate, b1=0.9, b2=0.999, e=1e-8, decay=0.0, schedule=constant):
    m, v = np.zeros_like(x), np.zeros_like(x)
    for t in range(1, STEPS + 1):
        s = schedule(t - 1)
        g = f(x)
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        mhat, vhat = m / (1 - b1 ** t), v / (1 - b2 ** t)
        x = x - s * (rate * mhat / (np.sqrt(vhat) + e) + decay * x)
        yield x


def rmsprop(f, x, rate, b=0.9, e=1e-8):
    v = np.zeros_like(x)
    for _ in range(STEPS):
        g = f(x)
        v += (1 - b) * (g * g - v)
        x = x - rate * g / (np.sqrt(v) + e)
        yield x


def adagrad(f, x, rate, e=1e-8):
    squares = []
    for _ in range(STEPS):
        g = f(x)
        squares.append(g * g)
        x = x - rate * g / (np.sqrt(np.sum(squares, axis=0)) + e)
        yield x


def santa_euler(f, x, rate, s, lam, a, n=1):
    """Refinement; with a gradient on the scale of the sum if n > 1."""
    u, v = np.zeros_like(x), np.zeros_like(x)
    for _ in range(STEPS):
        g = f(x) * n
        v = s * v + (1 - s) / n ** 2 * g * g
        precondition = 1 / np.sqrt(lam + np.sqrt(v))
        u = (1 - a) * u - rate * precondition * g
        x = x + precondition * u
        yield x


def santa_ssa(f, x, rate, s, lam, a):
    """Refinement by A B O B A, each step in full.  Between two steps the halves
    of A have the same preconditioner, so the points in the middle, where
    gradients are taken, are what the library shows; u = 0 at first."""
    u, v, g = np.zeros_like(x), np.zeros_like(x), np.ones_like(x)
    for t in range(STEPS + 1):
        x = x + g * u / 2
        if t:
            yield x
        slope = f(x)
        v = s * v + (1 - s) * slope * slope
        g = 1 / np.sqrt(lam + np.sqrt(v))
        u = math.exp(-a / 2) * u
        u = u - rate * g * slope
        u = math.exp(-a / 2) * u
        x = x + g * u / 2


def relativistic(f, x, alpha, eta, friction, is_linear, decay=0.0,
                 schedule=constant):
    """RSGD from the four parameters of the paper, at eps = 1.

    alpha = eps c, eta = eps^2 / m, friction = eps D / m."""
    m, c, d = 1 / eta, alpha, friction / eta
    p = np.zeros_like(x)
    for t in range(STEPS):
        h = schedule(t)
        v = p / np.sqrt(m * m + p * p / (c * c))
        p = p * (1 - friction) if is_linear else p - d * v
        p = p - f(x)
        x = (1 - decay * h) * x + h * p / np.sqrt(m * m + p * p / (c * c))
        yield x


# ---- cases ---------------------------------------------------------------------

CASES = [
    ("quadratic", "momentum:lr=0.002", momentum, dict(rate=0.002)),
    ("quadratic", "momentum:lr=0.002,momentum=0.7,decay=0.001,"
     "schedule=cosine", momentum,
     dict(rate=0.002, mu=0.7, decay=0.001, schedule=cosine)),
    ("quadratic", "nesterov:lr=0.002", nesterov, dict(rate=0.002)),
    ("quadratic", "adam:lr=0.05", adam, dict(rate=0.05)),
    ("quadratic", "adamw:lr=0.05,decay=0.01,beta1=0.8,beta2=0.99,"
     "schedule=polynomial,offset=10,power=0.5", adam,
     dict(rate=0.05, decay=0.01, b1=0.8, b2=0.99, schedule=polynomial)),
    ("quadratic", "rmsprop:lr=0.01", rmsprop, dict(rate=0.01)),
    ("quadratic", "adagrad:lr=0.5", adagrad, dict(rate=0.5)),
    ("quadratic", "santa_sgd:lr=0.001,sigma=0.99,lambda=0.01,friction=0.2",
     santa_euler, dict(rate=0.001, s=0.99, lam=0.01, a=0.2)),
    ("quadratic", "santa:explore=0,lr=0.001,sigma=0.99,lambda=0.01,"
     "friction=0.2,scheme=ssa", santa_ssa,
     dict(rate=0.001, s=0.99, lam=0.01, a=0.2)),
    ("logistic", "momentum:lr=0.3", momentum, dict(rate=0.3)),
    ("logistic", "nesterov:lr=0.3,momentum=0.8", nesterov,
     dict(rate=0.3, mu=0.8)),
    ("logistic", "adam:lr=0.1,epsilon=0.001", adam,
     dict(rate=0.1, e=0.001)),
    ("logistic", "rmsprop:lr=0.02,beta=0.99,epsilon=0.01", rmsprop,
     dict(rate=0.02, b=0.99, e=0.01)),
    ("logistic", "adagrad:lr=0.3,epsilon=0.1", adagrad,
     dict(rate=0.3, e=0.1)),
    ("logistic", "santa_sgd:lr=0.05,lambda=0.001", santa_euler,
     dict(rate=0.05, s=0.999, lam=0.001, a=0.1)),
    ("logistic", "santa_sgd:lr=0.004,scale=sum,sigma=0.9", santa_euler,
     dict(rate=0.004, s=0.9, lam=0.01, a=0.1, n=12)),
    ("logistic", "santa_sgd:lr=0.05,scheme=ssa", santa_ssa,
     dict(rate=0.05, s=0.999, lam=0.01, a=0.1)),
    ("quadratic", "RSGD-bounded", relativistic,
     dict(alpha=0.05, eta=0.002, friction=0.2, is_linear=False)),
    ("quadratic", "RSGD-linear", relativistic,
     dict(alpha=0.05, eta=0.002, friction=0.2, is_linear=True)),
    ("logistic", "RSGD-bounded", relativistic,
     dict(alpha=0.1, eta=0.5, friction=0.1, is_linear=False)),
    ("logistic", "RSGD-linear-decay", relativistic,
     dict(alpha=0.1, eta=0.5, friction=0.1, is_linear=True, decay=0.002,
          schedule=cosine)),
]


def line(values):
    return ",".join(repr(float(v)) for v in values) + "\n"


def main():
    with open(HERE / "quadratic.csv", "w") as out:
        out.write("# the matrix, row by row; the centre; the start\n")
        for row in (*Q["a"], Q["b"], Q["x0"]):
            out.write(line(row))
    with open(HERE / "logistic.csv", "w") as out:
        out.write("# covariates and response, row by row; the start, 0\n")
        for row, y in zip(L["x"], L["y"]):
            out.write(line((*row, y)))
        out.write(line((*L["x0"], 0)))
    with open(HERE / "paths.csv", "w") as out:
        out.write("# case: problem; sampler. rows: step, point\n")
        for problem, spec, optimiser, arguments in CASES:
            out.write(f"{problem}; {spec}\n")
            f, x0, _ = PROBLEMS[problem]
            path = list(optimiser(f, x0.copy(), **arguments))
            assert len(path) == STEPS, spec
            for t in KEPT:
                x = path[t - 1]
                out.write(f"{t}," + line((*x, *[0.0] * (4 - len(x)))))


if __name__ == "__main__":
    main()
