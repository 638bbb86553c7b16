"""Makes a learned evaluation for alpha-beta from games that the program plays against itself.

    python scripts/tune_evaluation.py --out my.eval [--data runs/tuning] [--games 30000 50000] [--nodes 1500 1000]

Each number after ``--games`` is a generation: the first one is played with the hand-made evaluation, the next one with
weights that were fitted to all games so far, and so on; what the last one leads to is written to ``--out``. Games are
kept in ``--data``: a run that was stopped goes on where it was, and more games can be asked for later.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from damas_env.rules import RuleSet, get_rules
from damas_rl.console import Console
from damas_rl.evaluations import load_evaluation, save_evaluation
from damas_rl.files import atomic_write, check_writable, why
from damas_rl.search.alphabeta import AlphaBeta, Limits
from damas_rl.search.learned import HAND_MADE
from damas_rl.tablebase import Tablebase, open_tablebase
from damas_rl.tuning.fit import FitConfig, Loss, fit
from damas_rl.tuning.games import Samples, play_games, solved_endgames

BATCH = 512
MOST_GAMES = 1000 * BATCH
PIECES, ENDGAMES = 4, 100_000


class Generation:
    """The games of one generation: a folder with a file for each batch of games.

    Args:
        data: the folder of all generations.
        number: from 0.
        rules: rule set.
        nodes: positions that each move is searched for.
    """

    def __init__(self, data: Path, number: int, rules: RuleSet, nodes: int) -> None:
        self.number, self.rules, self.nodes = number, rules, nodes
        self.evaluation = data / f"generation-{number}.eval"
        self._folder = data / f"generation-{number}"
        self._folder.mkdir(parents=True, exist_ok=True)
        settings, file = {"rules": rules.name, "nodes": nodes}, self._folder / "settings.json"
        if not file.exists():
            atomic_write(file, [json.dumps(settings).encode()])
        elif json.loads(file.read_text()) != settings:
            raise SystemExit(f"{self._folder} was begun with {file.read_text()}; choose another --data.")

    def play(self, batches: int, table: Tablebase, weights: np.void, console: Console) -> list[Samples]:
        """Plays what is missing of the first ``batches`` batches, and reads them all."""
        paths = [self._folder / f"{batch:05d}.npz" for batch in range(batches)]
        missing = [batch for batch, path in enumerate(paths) if not path.exists()]
        first = MOST_GAMES * self.number
        if missing:
            search = AlphaBeta(self.rules, Limits(nodes=self.nodes), weights=weights)
            columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
            with Progress(*columns, console=console) as progress:
                task = progress.add_task(
                    f"generation {self.number}, games",
                    total=BATCH * batches,
                    completed=BATCH * (batches - len(missing)),
                )
                for batch in missing:
                    play_games(search, table, BATCH, first // BATCH + batch).save(paths[batch])
                    progress.advance(task, BATCH)
        return [Samples.load(path, first + BATCH * batch) for batch, path in enumerate(paths)]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file for the evaluation")
    parser.add_argument("--data", type=Path, default=Path("runs/tuning"), help="folder for the games")
    parser.add_argument("--rules", default="cbd", help="rule set on 8x8 (default: %(default)s)")
    parser.add_argument("--games", type=int, nargs="+", default=[30_000, 50_000], help="of each generation")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1500, 1000], help="for each move, of each generation")
    arguments = parser.parse_args()
    if len(arguments.games) != len(arguments.nodes) or not all(0 < games <= MOST_GAMES for games in arguments.games):
        parser.error(f"give as many numbers of --games (1 to {MOST_GAMES}) as of --nodes")
    try:
        rules = get_rules(arguments.rules)
        if rules.size != 8:
            raise ValueError(f"Learned evaluations are for 8x8; {rules.name!r} is played on {rules.size}x{rules.size}.")
        check_writable(arguments.out)
        _run(arguments, rules, Console())
    except OSError as error:
        raise SystemExit(f"tune_evaluation: {error.filename}: {why(error)}.") from None
    except ValueError as error:
        raise SystemExit(f"tune_evaluation: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit("Stopped; the same command goes on from here.") from None


def _run(arguments: argparse.Namespace, rules: RuleSet, console: Console) -> None:
    def report(loss: Loss) -> None:
        console.print(
            f"epoch {loss.epoch}: loss {loss.training:.4f}, on other games {loss.mixed:.4f} (results alone "
            f"{loss.result:.4f})"
        )

    table = open_tablebase(rules, PIECES)
    weights, parts = HAND_MADE, []
    last = len(arguments.games) - 1
    for number, (games, nodes) in enumerate(zip(arguments.games, arguments.nodes, strict=True)):
        generation = Generation(arguments.data, number, rules, nodes)
        parts += generation.play(-(-games // BATCH), table, weights, console)
        if number < last and generation.evaluation.exists():
            weights = load_evaluation(str(generation.evaluation), rules)
            continue
        samples = Samples.join([*parts, solved_endgames(table, ENDGAMES, number)])
        console.print(f"Fitting to {len(samples):,} positions: {len(parts) * BATCH:,} games, and solved endgames.")
        weights = fit(samples, FitConfig(), report)
        save_evaluation(generation.evaluation if number < last else arguments.out, weights, rules)
    console.print(
        f"Wrote {arguments.out}. Next: damas match alphabeta:ms=50,eval={arguments.out} alphabeta:ms=50 --games 200",
        soft_wrap=True, highlight=False, markup=False,
    )  # fmt: skip


if __name__ == "__main__":
    main()
