"""From results to ratings: Elo differences with intervals, and a sequential test.

All statistics are over *pairs* of games from one opening with colours swapped. The two games of a pair depend on each
other (a lopsided opening gives each player one win), so their sum, not the single game, is the independent sample.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Mean score of a pair, for each of the five counts of points: 0, 1/2, 1, 3/2, 2."""

MOST = 2000.0
"""Largest Elo difference of a hypothesis: beyond it expected scores can hardly be told apart."""

_Z95 = 1.959964


@dataclass(frozen=True)
class Elo:
    """An Elo difference with the bounds of its 95 % interval.

    Finite games give finite differences: scores are kept a quarter of a point away from nothing and everything.
    """

    difference: float
    low: float
    high: float


def elo_difference(pairs: Sequence[int]) -> Elo:
    """The Elo difference that results speak for.

    The interval is that of the mean of the pairs, with one lost and one won pair added (as Agresti and Coull do for
    single trials), so that it is wide where few or equal results would make the variance vanish.

    Args:
        pairs: how many pairs gave 0, 1/2, 1, 3/2 and 2 points.
    """
    number = sum(pairs)
    if number == 0:
        return Elo(0.0, -math.inf, math.inf)
    score, _ = _mean_and_variance(pairs)
    mean, variance = _mean_and_variance(_two_more(pairs))
    margin = _Z95 * math.sqrt(variance / (number + 2))
    edge = 0.25 / (2 * number)

    def rating(share: float) -> float:
        share = min(max(share, edge), 1.0 - edge)
        return 400.0 * math.log10(share / (1.0 - share))

    return Elo(rating(score), rating(min(score, mean - margin)), rating(max(score, mean + margin)))


def expected_score(difference: float) -> float:
    """Expected score, 0 to 1, of a player that is ``difference`` Elo points stronger."""
    return 1.0 / (1.0 + 10.0 ** (-difference / 400.0))


@dataclass(frozen=True)
class Sprt:
    """A sequential test between two Elo differences, with 5 % risk on each side (Wald 1945).

    Attributes:
        low, high: the two hypotheses, up to ``MOST`` either way.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not -MOST <= self.low < self.high <= MOST:
            raise ValueError(
                f"A sequential test needs two rising Elo differences from {-MOST:g} to {MOST:g}, not {self.low:g} and "
                f"{self.high:g}."
            )

    def log_likelihood_ratio(self, pairs: Sequence[int]) -> float:
        """How strongly results speak for ``high`` against ``low``, the scores of pairs taken as normal."""
        pairs = _two_more(pairs)
        number = sum(pairs)
        mean, variance = _mean_and_variance(pairs)
        one, other = expected_score(self.low), expected_score(self.high)
        return number * (other - one) * (2 * mean - one - other) / (2 * variance)

    def decision(self, pairs: Sequence[int]) -> float | None:
        """The hypothesis that results have decided for, None as long as they have not."""
        ratio, bound = self.log_likelihood_ratio(pairs), math.log(0.95 / 0.05)
        if abs(ratio) < bound:
            return None
        return self.high if ratio > 0 else self.low


def _two_more(pairs: Sequence[int]) -> list[int]:
    """The results with one lost and one won pair added, whose variance is never 0."""
    lost, *others, won = pairs
    return [lost + 1, *others, won + 1]


def _mean_and_variance(pairs: Sequence[int]) -> tuple[float, float]:
    """Mean score of a pair and its variance."""
    number = sum(pairs)
    mean = sum(count * score for count, score in zip(pairs, PAIR_SCORES, strict=True)) / number
    return mean, sum(count * (score - mean) ** 2 for count, score in zip(pairs, PAIR_SCORES, strict=True)) / number
