# SPDX-License-Identifier: GPL-2.0
"""Pictures of results: ratios with intervals and goals; cost against the number of peers"""

from html import escape

INK, FAINT, GRID = "#222222", "#777777", "#dddddd"
GOOD, BAD, PLAIN, SECOND = "#2a7f3f", "#b3261e", "#4a6fa5", "#c98a2b"


class Picture:
    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
        self.text(16, 24, title, size=16)

    def text(self, x, y, words, fill=INK, anchor="start", size=12):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}" font-size="{size}">'
                          f'{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, stroke=GRID, width=1):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
                          f'stroke-width="{width}"/>')

    def dot(self, x, y, fill, radius=4):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"/>')

    def path(self, points, stroke):
        where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{where}" fill="none" stroke="{stroke}" stroke-width="2"/>')

    def end(self):
        return "\n".join(self.parts + ["</svg>", ""])


def advantage(r, value):
    """Return a ratio above 1 if ours is better than the peer, whatever the unit."""
    return 1 / value if r["better"] == "lower" else value


def ratios(results, title):
    """Draw a row for each: median and interval of the ratio, and the goal. Logarithmic."""
    import math
    rows = [r for r in results if r["ratio"]]
    left, right, top, step = 400, 900, 70, 24
    picture = Picture(1000, top + step * len(rows) + 40, f"{title}: ratio to the peer, median and 95% interval")
    low, high = 1 / 16, 16

    def x(value):
        value = min(max(value, low), high)
        return left + (right - left) * math.log(value / low) / math.log(high / low)

    for mark in (1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 16):
        picture.line(x(mark), top - 12, x(mark), top + step * len(rows), INK if mark == 1 else GRID)
        picture.text(x(mark), top - 18, f"{mark:g}" if mark >= 1 else f"1/{1 / mark:g}", FAINT, "middle", 11)
    picture.text(x(1) + 6, top - 34, "better than the peer →", FAINT)
    picture.text(x(1) - 6, top - 34, "← worse", FAINT, "end")
    for i, r in enumerate(rows):
        ratio_row(picture, r, x, top + step * i + 12, right)
    return picture.end()


def ratio_row(picture, r, x, y, right):
    color = {True: GOOD, False: BAD, None: PLAIN}[r["met"]]
    picture.text(16, y + 4, f"{r['bench']}: {r['op']} / {r['peer_name']}")
    if r["interval"]:
        picture.line(x(advantage(r, r["interval"][0])), y, x(advantage(r, r["interval"][1])), y, color, 3)
    if r["goal"]:
        goal = x(advantage(r, r["goal"]))
        picture.line(goal, y - 9, goal, y + 9, INK, 2)
    picture.dot(x(advantage(r, r["ratio"])), y, color)
    picture.text(right + 16, y + 4, f"{r['ratio']:.3f}", color)


def peers(series, counts):
    """Draw the cost of a round trip by number of peers; series: name -> microseconds by count."""
    width, height, left, bottom = 640, 360, 70, 310
    picture = Picture(width, height, "Cost of a round trip with many peers")
    top_value = max((max(v.values()) for v in series.values() if v), default=1) * 1.15

    def place(i, value):
        return left + i * (width - left - 120) / (len(counts) - 1), bottom - value / top_value * (bottom - 50)

    for i, n in enumerate(counts):
        picture.text(place(i, 0)[0], bottom + 20, f"{n}", FAINT, "middle")
    for k in range(5):
        value = top_value * k / 4
        y = place(0, value)[1]
        picture.line(left, y, width - 120, y)
        picture.text(left - 8, y + 4, f"{value:.1f}", FAINT, "end")
    picture.text(left, 46, "microseconds", FAINT)
    picture.text((left + width - 120) / 2, bottom + 40, "peers of one endpoint", FAINT, "middle")
    for (name, values), color in zip(series.items(), (PLAIN, SECOND)):
        points = [place(i, values[n]) for i, n in enumerate(counts) if n in values]
        if not points:
            continue
        picture.path(points, color)
        for x, y in points:
            picture.dot(x, y, color)
        picture.text(points[-1][0] + 10, points[-1][1] + 4, name, color)
    return picture.end()
