"""How far a run has come, and how much of its budget that is."""

from dataclasses import dataclass

from damas_rl.config import RunConfig


@dataclass
class Counts:
    """How far a run has come.

    Attributes:
        iteration: iterations done.
        positions, games: plies and finished games of self-play.
        seconds: wall-clock time of training, all parts of the run together.
        evaluated, saved: ``seconds`` at the last measurement and the last checkpoint.
        measured: the closing measurement has been made.
        pretrained: learner steps of pre-training.
        pretraining: pre-training has not been finished.
    """

    iteration: int = 0
    positions: int = 0
    games: int = 0
    seconds: float = 0.0
    evaluated: float = 0.0
    saved: float = 0.0
    measured: bool = False
    pretrained: int = 0
    pretraining: bool = True

    def __post_init__(self) -> None:
        for key, value in vars(self).items():
            if value < 0:
                raise ValueError(f"{key}={value} of a run is below 0.")

    def share_of(self, config: RunConfig, seconds: float) -> float:
        """Share of the budget that is used up after so many seconds of training, at most 1."""
        by_time = seconds / (60 * config.minutes) if config.minutes else 0.0
        by_count = self.iteration / config.iterations if config.iterations else 0.0
        return min(1.0, max(by_time, by_count))


def limits(config: RunConfig) -> list[str]:
    """The keys that bound the budget of a run."""
    return [key for key in ("minutes", "iterations") if getattr(config, key)]


def budget_text(config: RunConfig) -> str:
    """The budget of a run in words."""
    parts = [f"{config.minutes:g} minutes"] if config.minutes else []
    parts += [f"{config.iterations} iterations"] if config.iterations else []
    return " and ".join(parts)
