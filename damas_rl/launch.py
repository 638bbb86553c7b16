"""From the words of a command line to a finished training run: what ``train.py`` does."""

import dataclasses
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from damas_env.errors import shown
from damas_env.notation import one_line, visible
from damas_env.presets import RULE_SETS
from damas_env.rules import get_rules
from damas_rl import compose, pretrain, sweep
from damas_rl.checkpoint import CheckpointError, load_newest, numbered
from damas_rl.closing import resume_command
from damas_rl.cluster.source import check_ray
from damas_rl.config import RunConfig, of_older_versions
from damas_rl.console import Console
from damas_rl.files import why
from damas_rl.learner import choose_learning_device
from damas_rl.metrics import read_metrics
from damas_rl.networks import SHIPPED, build_network, check_network
from damas_rl.openings import load_openings
from damas_rl.players import anchored_spec
from damas_rl.progress import Progress, Status
from damas_rl.rundir import RunDirectory, RunError, default_path
from damas_rl.signals import StopSignal
from damas_rl.strict import ConfigError, build
from damas_rl.trainer import Trainer
from damas_rl.transfer import Source, read_source

EXIT_BAD_INPUT = 2

USAGE = """\
Trains a player of draughts from nothing but the rules, and measures it.

  python train.py                              the default run: experiment=quick
  python train.py experiment=quick seed=3      another seed
  python train.py minutes=60 network.width=512 any key can be changed
  python train.py rules=russian                another game; also a .yaml file that describes one
  python train.py rules=russian init_from=RUN  start from the weights of another run's network
  python train.py resume=runs/latest           go on with an interrupted run
  python train.py resume=RUN minutes=30        go on until all parts together have trained for 30 minutes
  python train.py -m seed=1,2 search=gumbel,puct   a run of each combination, one after the other
  python train.py -m resume=SWEEP              go on with an interrupted sweep

Ctrl-C saves a checkpoint and stops; pressed twice it stops at once. Curves: tensorboard --logdir runs
"""

_HELP, _MULTIRUN = {"-h", "--help"}, {"-m", "--multirun"}

FIXED = ("seed", "rules", "network", "pretrain", "run_dir", "runs_dir", "name", "init_from")
"""Keys that a run that goes on cannot change."""


def main(arguments: Sequence[str]) -> int:
    """Runs ``train.py`` with these arguments.

    Returns:
        0 when the run is finished, 2 with one line on stderr for anything that the user can mend, 128 + the number
        of the signal when the run was stopped (everything is saved then).
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names of folders, bars and arrows reach every terminal
            stream.reconfigure(errors="backslashreplace")
    console = Console()
    if not console.is_terminal:
        console.width = 120
    words = [text for text in arguments if text not in _HELP | _MULTIRUN]
    if _HELP & set(arguments):
        return _reported(lambda: _help(words, console))
    if _MULTIRUN & set(arguments):
        return _reported(lambda: _sweep(words, console))
    return _reported(lambda: _train(words, console))


def _reported(work: Callable[[], int]) -> int:
    """The exit status of some work; what the user can mend is told in one line."""
    try:
        return work()
    except (ConfigError, RunError, CheckpointError) as error:
        text = str(error)
    except OSError as error:
        text = f"{error.filename or 'A file'} could not be written or read: {why(error)}."
    print(f"train.py: {one_line(text)}", file=sys.stderr)
    return EXIT_BAD_INPUT


def _help(words: Sequence[str], console: Console) -> int:
    console.out(USAGE + "\n" + visible(compose.describe(_configured(words))), highlight=False)
    return 0


def _sweep(words: Sequence[str], console: Console) -> int:
    """Makes the runs of a new sweep, or of one that goes on."""
    resumed, others = _words(words)
    if resumed is not None and others:
        raise ConfigError(f"A sweep goes on as it was begun, without {shown(others[0])}.")
    found = sweep.create(others) if resumed is None else sweep.reopen(resumed)

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    return sweep.make_runs(found, lambda words, path: _reported(lambda: _train(words, console, path)), say)


def _words(arguments: Sequence[str]) -> tuple[Path | None, list[str]]:
    """The run that ``resume=`` names, and all other words."""
    resumed = [text.partition("=")[2] for text in arguments if text.startswith("resume=")]
    return Path(resumed[-1]) if resumed else None, [text for text in arguments if not text.startswith("resume=")]


def _configured(arguments: Sequence[str]) -> RunConfig:
    """The configuration that a command with these words would use."""
    resumed, overrides = _words(arguments)
    return compose.load(overrides) if resumed is None else _reached(RunDirectory(resumed), overrides)[0]


def _reached(
    run: RunDirectory, overrides: Sequence[str]
) -> tuple[RunConfig, dict[str, Any] | None, Path, dict[Path, str]]:
    """How far a run has come.

    Returns:
        its configuration with the overrides, the content of its newest usable checkpoint (None if it ended before its
        first one and can only begin again), the file that this was read from, and the damaged checkpoints that had to
        be passed over, each with a sentence why.
    """
    written = run.path / "config.yaml"
    begun = numbered(run.checkpoints) or (run.metrics.exists() and any(read_metrics(run.metrics)))
    if not begun and written.exists():
        return compose.override(compose.read(written), overrides), None, written, {}
    content, used, passed_over = load_newest(run.checkpoints)
    return compose.override(_saved_config(content, used), overrides), content, used, passed_over


def _saved_config(content: Mapping[str, Any], path: Path) -> RunConfig:
    """The configuration in a checkpoint; ``path`` is for messages."""
    if content.get("kind") != "checkpoint":
        raise CheckpointError(f"{path} holds no run that can go on, only a network or less.")
    counts = content.get("counts")
    if not isinstance(counts, Mapping) or counts.get("iteration") != int(path.stem.rpartition("-")[2]):
        raise CheckpointError(f"{path} does not hold the iteration that its name tells; give it its old name again.")
    saved = content.get("config")
    try:
        if isinstance(saved, Mapping):
            return build(RunConfig, of_older_versions(saved))
    except ConfigError as error:
        raise CheckpointError(f"The configuration in {path} cannot be used: {error}") from None
    raise CheckpointError(f"The checkpoint {path} holds no configuration, so the run cannot go on from it.")


def _train(arguments: Sequence[str], console: Console, path: Path | None = None) -> int:
    """Makes a run, in the folder ``path`` where one is given, or goes on with one."""
    resumed, overrides = _words(arguments)
    content = None
    if resumed is not None:
        run, config, content = _resume(resumed, overrides, console)
    else:
        config = compose.load(overrides)
        check_ray(config)
        _check_device(config)
        _check_openings(config)
        _check_records(config)
        config = _anchored(config)
        _source(config)  # what it refuses is better known before there is a directory
        _check_network(config)
        runs = compose.folder("runs_dir", config.runs_dir)
        if path is None:
            named = compose.folder("run_dir", config.run_dir) if config.run_dir else None
            path = named or default_path(runs, config.name, config.seed)
        run = RunDirectory.create(path, latest=path.absolute().parent == runs.absolute())
    stop = StopSignal()
    try:
        with stop, Progress(Status(name=run.path.name), console) as progress:
            if content is None:
                run.write_config(dataclasses.asdict(config))  # what a run without a checkpoint begins again from
            trainer = Trainer(config, run, progress, stop, content, _source(config) if content is None else None)
            run.add_part(trainer.made_by | {"words": list(arguments)})
            if content is not None:
                run.write_config(dataclasses.asdict(config))
            trainer.run()
    except (ValueError, FloatingPointError) as error:
        raise RunError(f"{error} {_how_to_go_on(run)}") from error
    except OSError as error:
        place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        raise RunError(f"The run stopped: {place}{why(error)}. {_how_to_go_on(run)}") from error
    except (MemoryError, RuntimeError) as error:
        # Torch has no common type for this: it says "not enough memory", "can't allocate memory", "out of memory".
        if isinstance(error, RunError) or not (isinstance(error, MemoryError) or "memory" in str(error)):
            raise
        reason = "there is not enough memory; choose fewer games, simulations or records, or a smaller network."
        raise RunError(f"The run stopped: {reason} {_how_to_go_on(run)}") from error
    finally:
        run.close()
    return 128 + stop.signal if stop.signal is not None else 0


def _check_network(config: RunConfig) -> None:
    """Refuses a network of somebody's own that answers in a wrong shape, before there is a directory."""
    if config.network.kind in SHIPPED:
        return
    rules = get_rules(config.rules.name)
    try:
        check_network(build_network(config.network, rules), rules)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _how_to_go_on(run: RunDirectory) -> str:
    saved = numbered(run.checkpoints)
    if not run.path.exists():
        return f"The run directory {run.path} is no longer there."
    if not saved:
        again = f"; begin again with: {resume_command(run.path)}" if (run.path / "config.yaml").exists() else "."
        return f"No checkpoint had been written yet{again}"
    return f"The last checkpoint is {saved[-1]}; go on from it with: {resume_command(run.path)}"


def _source(config: RunConfig) -> Source | None:
    """The network whose weights a new run starts from."""
    return read_source(config.init_from, config.network) if config.init_from else None


def _check_device(config: RunConfig) -> None:
    try:
        choose_learning_device(config.device, config.learner.processes)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _check_openings(config: RunConfig) -> None:
    """Refuses files of openings that cannot be used."""
    try:
        for openings in filter(None, (config.selfplay.openings, config.arena.openings)):
            load_openings(openings, get_rules(config.rules.name))
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _check_records(config: RunConfig) -> None:
    """Refuses a file of training records that cannot be used."""
    try:
        pretrain.load(config.pretrain, get_rules(config.rules.name))
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _anchored(config: RunConfig) -> RunConfig:
    """The configuration with absolute paths of the files that it reads: the run may go on from another folder."""
    keys = [("selfplay", "openings"), ("arena", "openings"), ("pretrain", "records")]
    if config.rules.name not in RULE_SETS:
        keys.append(("rules", "name"))
    for section, key in keys:
        part = getattr(config, section)
        if path := getattr(part, key):
            part = dataclasses.replace(part, **{key: str(Path(path).absolute())})
            config = dataclasses.replace(config, **{section: part})
    if config.init_from and Path(config.init_from).exists():
        config = dataclasses.replace(config, init_from=str(Path(config.init_from).absolute()))
    ladder = tuple(map(anchored_spec, config.arena.ladder))
    return dataclasses.replace(config, arena=dataclasses.replace(config.arena, ladder=ladder))


def _resume(
    path: Path, overrides: Sequence[str], console: Console
) -> tuple[RunDirectory, RunConfig, dict[str, Any] | None]:
    """Opens a run again: its directory, its configuration with the overrides, its newest usable checkpoint if any."""
    for text in overrides:
        key = text.partition("=")[0]
        if key.partition(".")[0] in FIXED:
            raise ConfigError(f"{key} cannot be changed when a run goes on; start a new run for that.")
    overrides = [re.sub("^cluster=", "cluster.kind=", text) for text in overrides]
    run = RunDirectory.open(path)
    try:
        config, content, used, passed_over = _reached(run, overrides)
        check_ray(config)
        _check_device(config)
        _check_openings(config)
        config = _anchored(config)
        if content is None:
            sentence = f"No checkpoint had been written yet; beginning again from {used}."
            console.print(sentence, markup=False, highlight=False)
        for damaged, sentence in passed_over.items():
            # Out of the way, or it would count as the newest one when old checkpoints are removed.
            damaged.rename(damaged.with_suffix(".unusable"))
            console.print(f"{sentence} Going on from {used.name} instead.", markup=False, highlight=False)
    except BaseException:
        run.close()
        raise
    return run, config, content
