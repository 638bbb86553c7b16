"""Draws the learning curve of runs that differ only in their seed, for a page of text: score over minutes, as SVG.

``python scripts/plot_curve.py runs/A runs/B runs/C --output docs/curve.svg`` (needs matplotlib, extra ``plot``);
``damas compare`` draws everything there is.
"""

import argparse
from pathlib import Path

from damas_rl.reports.comparison import Group
from damas_rl.reports.curves import learning_curves, picture_bytes
from damas_rl.runs import read_run


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=read_run)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    figure = learning_curves([Group("", tuple(arguments.runs), {})], "score", ["minutes"])
    figure.set_size_inches(6, 3.9)
    arguments.output.write_bytes(picture_bytes(figure, "svg"))


if __name__ == "__main__":
    main()
