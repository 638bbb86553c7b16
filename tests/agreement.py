"""Compares the rules core with the reference: legal moves, promotions and successors of positions, and whole games.

Shared by the tests and by `benchmarks/crosscheck.py`. Positions travel as reference states; the only thing taken
from the core is where it keeps each square (`damas_env.board`), to put a state in and to read moves out.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from damas_env.board import GEOMETRY
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_env.termination import Termination
from reference_draws import SYSTEMS, ReferenceGame
from reference_rules import RefMove, State, Variant, load_variants

VARIANTS = load_variants()
BRAZILIAN = VARIANTS["brazilian"]
RULES_OF_VARIANT = {system.variant: name for name, system in reversed(SYSTEMS.items())}
"""For each variant of the reference the first rule set that moves like it."""


def number_to_bit(variant: Variant, white: bool) -> dict[int, int]:
    """Square number -> bit in the view of the side to move, derived from the reference's own coordinates."""
    geometry = GEOMETRY[variant.size]
    last = variant.size - 1
    bits = {}
    for view in range(geometry.num_squares):
        row, column = geometry.coordinates(view)
        square = (column, row) if not variant.mirrored else (last - column, row)
        if not white:
            square = (last - square[0], last - square[1])
        bits[variant.numbers[square]] = int(geometry.bit_of_view[view])
    return bits


@cache
def _layouts(name: str) -> tuple[dict[bool, dict[int, int]], dict[bool, dict[int, int]]]:
    bits = {white: number_to_bit(VARIANTS[name], white) for white in (True, False)}
    return bits, {white: {bit: number for number, bit in bits[white].items()} for white in bits}


def to_boards(state: State) -> tuple[int, int, int, int]:
    """(own men, own kings, other men, other kings) as the core keeps them."""
    bits = _layouts(state.variant.name)[0][state.white]
    words = {"w": 0, "W": 0, "b": 0, "B": 0}
    for square, letter in state.pieces.items():
        words[letter] |= 1 << bits[state.variant.numbers[square]]
    white, black = (words["w"], words["W"]), (words["b"], words["B"])
    return (*white, *black) if state.white else (*black, *white)


def to_positions(states: list[State], rules: str | RuleSet | None = None) -> Positions:
    """The states as one batch of the core, each as a game that was set up there (under the rules of their variant)."""
    boards = np.array([to_boards(state) for state in states], dtype=np.uint64).reshape(-1, 4)
    colors = np.array([0 if state.white else 1 for state in states], dtype=np.int8)
    return Positions.from_boards(rules or RULES_OF_VARIANT[states[0].variant.name], boards, colors)


class Decoder:
    """Move codes of the core -> moves of the reference.

    The captured set is plain bits, on 10x10 without those that no square has.
    """

    def __init__(self, variant: Variant) -> None:
        self.numbers = _layouts(variant.name)[1]
        self.captured = {
            white: dict(enumerate(numbers[bit] for bit in sorted(numbers))) if variant.size == 10 else numbers
            for white, numbers in self.numbers.items()
        }
        self._sets: dict[tuple[bool, int], tuple[int, ...]] = {}

    def move(self, code: int, white: bool) -> RefMove:
        numbers = self.numbers[white]
        captured = (code & ((1 << 52) - 1)) >> 1
        key = (white, captured)
        if key not in self._sets:
            victims = self.captured[white]
            self._sets[key] = tuple(sorted(victims[bit] for bit in range(52) if captured >> bit & 1))
        return RefMove(numbers[code >> 58], numbers[code >> 52 & 63], self._sets[key], bool(code & 1))

    def legal(self, positions: Positions, index: int) -> list[RefMove]:
        """Legal moves of one game in the core's order."""
        codes = positions.moves[index, : positions.counts[index]].tolist()
        white = bool(positions.colors[index] == 0)
        return [self.move(code, white) for code in codes]


# Positions ------------------------------------------------------------------------------------------------


def random_setup(rng: random.Random, variant: Variant = BRAZILIAN) -> State:
    """A random set-up: 1 to 12 pieces a side, from mostly men to kings only; no man on its crowning row."""
    full = variant.men_rows * variant.size // 2
    squares = list(variant.squares)
    rng.shuffle(squares)
    kings = rng.choice((0.2, 0.5, 0.8, 1.0))
    pieces = {}
    for letter in ("w", "b"):
        for _ in range(rng.randint(1, full)):
            square = squares.pop()
            crowning = square[1] == variant.crowning_rank(letter == "w")
            pieces[square] = letter.upper() if crowning or rng.random() < kings else letter
    return State(variant, pieces, rng.random() < 0.5)


def few_against_many(rng: random.Random, variant: Variant = BRAZILIAN) -> State:
    """1 to 4 kings to move among 4 to 12 pieces off the rim: the home of long and ambiguous captures."""
    inner = [s for s in variant.squares if 0 < s[0] < variant.size - 1 and 0 < s[1] < variant.size - 1]
    rng.shuffle(inner)
    white = rng.random() < 0.5
    own, other = ("W", "b") if white else ("B", "w")
    full = variant.men_rows * variant.size // 2
    pieces = {
        square: other.upper() if rng.random() < 0.3 else other for square in inner[: rng.randint(min(4, full), full)]
    }
    free = [square for square in variant.squares if square not in pieces]
    for square in rng.sample(free, rng.randint(1, 4)):
        pieces[square] = own
    return State(variant, pieces, white)


def game_positions(
    rng: random.Random, variant: Variant = BRAZILIAN, longest: int = 120
) -> Iterator[tuple[State, list[RefMove]]]:
    """Positions of random games with their legal moves by the reference, without end."""
    while True:
        state = State.initial(variant)
        for _ in range(longest):
            legal = state.legal_moves()
            yield state, legal
            if not legal:
                break
            state = state.play(rng.choice(legal))


def mixed_positions(seed: int, count: int, variant: Variant = BRAZILIAN) -> Iterator[tuple[State, list[RefMove]]]:
    """Half from random games (each third one with the other side to move), the rest random set-ups."""
    rng = random.Random(seed)
    games = game_positions(rng, variant)
    for index in range(count):
        if index % 2 == 0:
            state, legal = next(games)
            if index % 6 == 0:
                state = State(variant, state.pieces, not state.white)
                legal = state.legal_moves()
        else:
            state = few_against_many(rng, variant) if index % 4 == 1 else random_setup(rng, variant)
            legal = state.legal_moves()
        yield state, legal


# Comparison -----------------------------------------------------------------------------------------------


@dataclass
class Report:
    """What was compared, and every disagreement as one line of text."""

    positions: int = 0
    moves: int = 0
    captures: int = 0
    promotions: int = 0
    shared_pairs: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        self.positions += other.positions
        self.moves += other.moves
        self.captures += other.captures
        self.promotions += other.promotions
        self.shared_pairs += other.shared_pairs
        self.failures += other.failures

    def __str__(self) -> str:
        return (
            f"{self.positions} positions, {self.moves} moves with their successors ({self.captures} captures, "
            f"{self.promotions} promotions, {self.shared_pairs} sharing their from-to), "
            f"{len(self.failures)} disagreements"
        )


def compare(batch: list[tuple[State, list[RefMove]]], rules: RuleSet | None = None) -> Report:
    """Compares legal moves (all fields) and the position after each of them; ``rules`` as for :func:`to_positions`."""
    report = Report(positions=len(batch))
    positions = to_positions([state for state, _ in batch], rules)
    decoder = Decoder(batch[0][0].variant)
    parents: list[int] = []
    played: list[RefMove] = []
    for index, (state, legal) in enumerate(batch):
        found = decoder.legal(positions, index)
        if len(found) != len(legal) or set(found) != set(legal):
            report.failures.append(
                f"{state.fen()}: only core {sorted(set(found) - set(legal))}, "
                f"only reference {sorted(set(legal) - set(found))}, {len(found)} and {len(legal)} moves"
            )
            continue
        parents += [index] * len(found)
        played += found
        report.captures += sum(1 for move in found if move.captures)
        report.promotions += sum(1 for move in found if move.promotes)
        report.shared_pairs += len(found) - len({move[:2] for move in found})
    report.moves = len(played)
    if not played:
        return report
    rows = np.array(parents)
    after = positions.take(rows)
    after.terminations[:] = 0  # a drawn set-up is played on: only the board matters here
    first = np.searchsorted(rows, rows)
    after.step(positions.actions[rows, np.arange(len(rows)) - first])
    expected = [to_boards(batch[parent][0].play(move)) for parent, move in zip(parents, played, strict=True)]
    wrong = (after.boards != np.array(expected, dtype=np.uint64)).any(axis=1)
    wrong |= after.colors == positions.colors[rows]
    for row in np.flatnonzero(wrong):
        report.failures.append(f"{batch[parents[row]][0].fen()}: wrong position after {played[row]}")
    return report


def compare_mixed(seed: int, count: int, variant: str = "brazilian", chunk: int = 2000) -> Report:
    """Compares `count` mixed positions; a function of the module, so that processes can run it."""
    report = Report()
    source = mixed_positions(seed, count, VARIANTS[variant])
    while batch := [pair for _, pair in zip(range(chunk), source, strict=False)]:
        report.add(compare(batch))
    return report


# Whole games ----------------------------------------------------------------------------------------------


def ending_setup(rng: random.Random, variant: Variant = BRAZILIAN) -> State:
    """1 to 3 pieces a side (now and then 4 or 5), mostly kings, often on the main diagonal."""
    pieces: dict[tuple[int, int], str] = {}
    for letter in ("w", "b"):
        for _ in range(rng.randint(1, 3) if rng.random() < 0.8 else rng.randint(4, 5)):
            free = [square for square in variant.squares if square not in pieces]
            long = [square for square in free if variant.on_main_diagonal(square)]
            square = rng.choice(long if rng.random() < 0.3 and long else free)
            crowning = square[1] == variant.crowning_rank(letter == "w")
            pieces[square] = letter.upper() if crowning or rng.random() < 0.75 else letter
    return State(variant, pieces, rng.random() < 0.5)


def _gives_something_away(state: State, move: RefMove) -> bool:
    return any(answer.captures for answer in state.play(move).legal_moves())


@dataclass
class GamesReport:
    """What games played in lock-step came to, and every disagreement as one line of text."""

    plies: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def compare_games(rules: str, starts: list[State], rng: random.Random) -> GamesReport:
    """Plays random games in the core and in the reference at once; compares how each stands after every ply.

    Terminations, winners, counters, repetitions and plies are compared. A game ends at its first disagreement.
    """
    report = GamesReport()
    games = [ReferenceGame(state, SYSTEMS[rules]) for state in starts]
    positions = to_positions(starts, rules)
    slots = {name: slot for slot, name in enumerate(positions.rules.counter_names)}
    decoder = Decoder(starts[0].variant)
    last: list[dict[bool, tuple[int, int]]] = [{} for _ in games]
    going_on = list(range(len(games)))
    while going_on:
        actions = np.full(len(games), -1)
        still = []
        for index in going_on:
            game = games[index]
            ended = game.outcome()
            expected = (*(ended or ("NONE", None)), game.counts, game.earlier_occurrences, game.ply)
            found = (
                Termination(int(positions.terminations[index])).name,
                {-1: None, 0: "W", 1: "B"}[int(positions.winners()[index])],
                {name: int(positions.counters[index, slot]) for name, slot in slots.items()},
                int(positions.repetitions[index]),
                int(positions.plies[index]),
            )
            if found != expected:
                report.failures.append(f"{rules}, {game.state.fen()}: core {found}, reference {expected}")
                continue
            if ended:
                report.endings[ended[0]] += 1
                continue
            legal = decoder.legal(positions, index)
            white = game.state.white
            back = [nth for nth, move in enumerate(legal) if move[:2] == last[index].get(white)]
            nth = back[0] if back and rng.random() < 0.6 else rng.randrange(len(legal))
            if index % 3 == 0:  # careful players, whose games last longer
                tries = [rng.randrange(len(legal)) for _ in range(6)]
                nth = next((n for n in tries if not _gives_something_away(game.state, legal[n])), nth)
            last[index][white] = (legal[nth].to, legal[nth].frm)
            actions[index] = positions.actions[index, nth]
            game.push(legal[nth])
            still.append(index)
        where = np.zeros(len(games), dtype=np.bool_)
        where[still] = True
        positions.step(actions, where)
        report.plies += len(still)
        going_on = still
    return report
