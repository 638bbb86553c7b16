"""Draws the learning curves of runs: score against each opponent over minutes of training, mean and range over runs.

``python scripts/plot_curve.py runs/A runs/B runs/C --output docs/curve.svg`` (needs matplotlib, extra ``plot``).
"""

import argparse
import json
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
from matplotlib import pyplot


def measurements(run: Path) -> list[tuple[float, dict[str, float]]]:
    """(minutes of training, score by opponent) of each measurement of a run."""
    points = []
    for line in (run / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if "ladder" in entry:
            scores = {opponent: rung["score"] for opponent, rung in entry["ladder"].items()}
            points.append((entry["time"]["training"] / 60, scores))
    return points


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    runs = [measurements(run) for run in arguments.runs]
    steps = min(len(run) for run in runs)
    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    for opponent in runs[0][-1][1]:
        scores = np.array([[run[step][1][opponent] for step in range(steps)] for run in runs])
        minutes = np.mean([[run[step][0] for step in range(steps)] for run in runs], axis=0)
        (line,) = axes.plot(minutes, 100 * scores.mean(axis=0), marker="o", markersize=3, label=opponent)
        axes.fill_between(
            minutes, 100 * scores.min(axis=0), 100 * scores.max(axis=0), color=line.get_color(), alpha=0.15, linewidth=0
        )
    axes.set_xlabel("minutes of training on two CPU cores")
    axes.set_ylabel("score, %")
    axes.set_ylim(0, 101)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(title="opponent", fontsize=8, title_fontsize=8, loc="lower right")
    figure.savefig(arguments.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
