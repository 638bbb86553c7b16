"""Draws plies per second of DamasVectorEnv by batch size, from what benchmarks/run_all.py wrote.

``python scripts/plot_speed.py results/performance.json --output docs/speed.svg`` (needs matplotlib, extra ``plot``).
"""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    figures = json.loads(arguments.results.read_text())["benchmarks"]["vector_env"]["figures"]
    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    colors: dict[str, str] = {}
    for row in figures["table"]:
        mode, threads = row["mode"], row["threads"]
        (line,) = axes.plot(
            figures["sizes"], row["plies_per_second"], marker="o", markersize=3, color=colors.get(mode),
            linestyle=":" if threads == 1 else "-", label=f"{mode}, {threads} thread{'s' if threads > 1 else ''}",
        )  # fmt: skip
        colors[mode] = line.get_color()
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("games in the batch")
    axes.set_ylabel("plies per second")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="lower right")
    figure.savefig(arguments.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
