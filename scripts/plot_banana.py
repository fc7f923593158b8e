#!/usr/bin/env python3
"""plot_banana.py - docs/banana.svg: the speed limit, and draws on the banana.

    relmc sample banana --kinetic separable:c=3 --leapfrog 80 \\
        --target-accept 0.98 --samples 5000 --seed 1 -o banana
    scripts/plot_banana.py banana_*.csv > docs/banana.svg
"""

import math
import sys

N_SHOWN = 2000
C = 3.0  # speed of light of the run above

LEFT = dict(x=50, y=40, w=250, h=260, x0=-10.0, x1=10.0, y0=-5.0, y1=5.0)
RIGHT = dict(x=370, y=40, w=460, h=260, x0=-24.0, x1=24.0, y0=-38.0, y1=15.0)


def read_draws(paths):
    """(x1, x2) of every draw of those files, chain by chain."""
    for path in paths:
        with open(path, encoding="utf-8") as file:
            rows = [line.split(",") for line in file if not line.startswith("#")]
        header, rows = [name.strip() for name in rows[0]], rows[1:]
        i, j = header.index("x.1"), header.index("x.2")
        for row in rows:
            yield float(row[i]), float(row[j])


def place(panel, x, y):
    """The point (x, y) of a panel on the page."""
    u = panel["x"] + panel["w"] * (x - panel["x0"]) / (panel["x1"] - panel["x0"])
    v = panel["y"] + panel["h"] * (panel["y1"] - y) / (panel["y1"] - panel["y0"])
    return f"{u:.1f} {v:.1f}"


def line(panel, points, style):
    path = "L".join(place(panel, x, y) for x, y in points)
    return f'<path d="M{path}" fill="none" {style}/>'


def frame(panel, title, x_ticks, y_ticks):
    """Title, box and numbers of a panel."""
    yield (f'<rect x="{panel["x"]}" y="{panel["y"]}" width="{panel["w"]}" '
           f'height="{panel["h"]}" fill="none" stroke="#888"/>')
    yield (f'<text x="{panel["x"]}" y="{panel["y"] - 12}" font-size="13">'
           f"{title}</text>")
    for x in x_ticks:
        u, _ = place(panel, x, 0).split()
        yield (f'<text x="{u}" y="{panel["y"] + panel["h"] + 16}" '
               f'text-anchor="middle">{x:g}</text>')
    for y in y_ticks:
        _, v = place(panel, 0, y).split()
        yield (f'<text x="{panel["x"] - 6}" y="{float(v) + 4:.1f}" '
               f'text-anchor="end">{y:g}</text>')


def speed_panel():
    momenta = [-10 + 0.25 * i for i in range(81)]
    yield from frame(LEFT, "velocity dK/dp against momentum p, m = 1",
                     (-10, -5, 0, 5, 10), (-5, -3, 0, 3, 5))
    for limit in (-C, C):
        yield line(LEFT, [(-10, limit), (10, limit)],
                   'stroke="#888" stroke-dasharray="4 4"')
    yield line(LEFT, [(-5, -5), (5, 5)], 'stroke="#999" stroke-width="2"')
    yield line(LEFT, [(p, p / math.sqrt(1 + p * p / C**2)) for p in momenta],
               'stroke="#c33" stroke-width="2.5"')
    for x, y, colour, text in ((-9.5, 3.3, "#666", "speed of light c = 3"),
                               (-1.0, -4.6, "#666", "Newtonian: no limit"),
                               (2.5, 1.2, "#c33", "relativistic")):
        u, v = place(LEFT, x, y).split()
        yield f'<text x="{u}" y="{v}" fill="{colour}">{text}</text>'


def banana_panel(draws):
    step = max(1, len(draws) // N_SHOWN)
    shown = [d for d in draws[::step] if d[1] > RIGHT["y0"]]
    yield from frame(RIGHT, f"{len(shown)} draws of relativistic HMC; contours "
                     "around 50, 90 and 99 % of the banana",
                     (-20, -10, 0, 10, 20), (-30, -20, -10, 0, 10))
    for share in (0.5, 0.9, 0.99):
        radius = math.sqrt(-2 * math.log(1 - share))
        curve = []
        for i in range(241):
            angle = 2 * math.pi * i / 240
            x = 10 * radius * math.cos(angle)
            curve.append((x, 10 - 0.1 * x * x + radius * math.sin(angle)))
        yield line(RIGHT, curve, 'stroke="#336" stroke-width="0.8" '
                   'clip-path="url(#right)"')
    # One path of dots: a line of length 0 with round ends is a dot.
    dots = "".join(f"M{place(RIGHT, x, y)}h0" for x, y in shown)
    yield (f'<path d="{dots}" stroke="#c33" stroke-width="2" '
           'stroke-linecap="round" stroke-opacity="0.6"/>')


def main():
    draws = list(read_draws(sys.argv[1:]))
    if not draws:
        sys.exit(__doc__)
    print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 850 330" '
          'font-family="sans-serif" font-size="11" fill="#222">')
    print('<rect width="850" height="330" fill="#fff"/>')
    print(f'<clipPath id="right"><rect x="{RIGHT["x"]}" y="{RIGHT["y"]}" '
          f'width="{RIGHT["w"]}" height="{RIGHT["h"]}"/></clipPath>')
    for item in speed_panel():
        print(item)
    for item in banana_panel(draws):
        print(item)
    print("</svg>")


if __name__ == "__main__":
    main()
