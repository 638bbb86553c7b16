"""What a player thinks of a position and its moves, and of the moves of a finished game."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from damas_env.notation import PdnGame, legal_moves, parse_fen
from damas_env.notation.pdn import afresh
from damas_env.position import COLORS, THREADS, Positions
from damas_rl.play.lines import signed, spell_line
from damas_rl.players import Choice, MctsPlayer, Player
from damas_rl.tablebase.probe import Verdict, probe, table_for

DECIDED = 0.5
"""Value from which a position counts as won; in between it is open. Two men are worth 0.46."""

_FALL = 0.3
"""A move throws a result away if the value falls by so much as well, so that none does at the border of a result."""

_RESULTS = ("loss", "draw", "win")


@dataclass(frozen=True)
class MoveView:
    """One move of a position, all for the side that plays it.

    Attributes:
        action: its index.
        pdn: its spelling.
        value: from -1 to 1.
        line: how the player expects the game to go on, the move first.
        prior, visits: of tree search; None for other players.
        table: what an endgame table says, if it holds what the move leads to.
    """

    action: int
    pdn: str
    value: float
    line: list[str]
    prior: float | None = None
    visits: int | None = None
    table: Verdict | None = None


@dataclass(frozen=True)
class PositionView:
    """A position.

    Attributes:
        value: for the side to move, from -1 to 1.
        nodes: positions that were looked at.
        line: principal variation; its first move is the player's choice.
        moves: the best ones first.
        table: what an endgame table says.
    """

    value: float
    nodes: int
    line: list[str]
    moves: list[MoveView]
    table: Verdict | None


@dataclass(frozen=True)
class PlyView:
    """One ply of a game, values for the side that moved.

    Attributes:
        ply: from 1.
        color: ``"W"`` or ``"B"``.
        pdn: the move.
        before, after: value of the position before the move and after it.
        best: the line that the player would have gone for.
        lost: ``"win"`` or ``"draw"`` if the move threw that away, else None.
    """

    ply: int
    color: str
    pdn: str
    before: float
    after: float
    best: list[str]
    lost: str | None

    @property
    def remark(self) -> str:
        """The comment of an annotated game."""
        values = f"{signed(self.before)} before, {signed(self.after)} after"
        if self.lost is None:
            return values
        return f"$4 {values}: throws the {self.lost} away, better {' '.join(self.best[:5])}"


def look_at(positions: Positions, player: Player, notation: str = "numeric") -> PositionView:
    """Looks at a position (a batch of one that is not over) and each of its moves.

    Tree search gives the values of the moves with its own. For other players each position that a move leads to is
    searched, and the best move gives the value.
    """
    legal = legal_moves(positions)
    children = positions.take(np.zeros(len(legal), dtype=int))
    children.step(np.array([move.action for move in legal]))
    table = table_for(positions)
    here = probe(table, positions) if table else None
    there = [probe(table, children.take(np.array([number]))) if table else None for number in range(len(legal))]
    if isinstance(player, MctsPlayer):
        choice, result = player.look(positions)
        value, nodes, line = float(choice.values[0]), int(choice.nodes[0]), choice.pvs[0]
        lines = [line if line[0] == move.action else [move.action] for move in legal]
        values, visits = result.q[0].tolist(), result.visits[0].tolist()
        priors = result.priors[0].tolist()
        order = sorted(range(len(legal)), key=lambda number: (lines[number] is not line, -visits[number]))
    else:
        values, lines, nodes = judge_moves(children, player.choose)
        lines = [[move.action, *line] for move, line in zip(legal, lines, strict=True)]
        order = sorted(range(len(legal)), key=lambda number: -values[number])
        value, line = values[order[0]], lines[order[0]]
        priors = visits = [None] * len(legal)
    views = [
        MoveView(
            action=legal[number].action,
            pdn=spell_line(positions, lines[number][:1], notation)[0],
            value=values[number] + 0.0,
            line=spell_line(positions, lines[number], notation),
            prior=priors[number],
            visits=visits[number],
            table=verdict.before if (verdict := there[number]) else None,
        )
        for number in order
    ]
    return PositionView(value + 0.0, nodes, spell_line(positions, line, notation), views, here)


def judge_moves(
    children: Positions, choose: Callable[[Positions], Choice], stop: Callable[[], bool] | None = None
) -> tuple[list[float], list[list[int]], int]:
    """Values of the moves that have led to some positions, how the games would go on, and positions looked at.

    Args:
        children: the positions.
        choose: how a player replies there.
        stop: asked between searches, of few positions then; True leaves the other moves without a judgement.
    """
    values = -children.rewards().astype(np.float64)
    lines: list[list[int]] = [[] for _ in range(len(children))]
    going_on, nodes = np.flatnonzero(children.terminations == 0), 0
    at_once = THREADS if stop else len(children)
    for start in range(0, len(going_on), at_once):
        rows = going_on[start : start + at_once]
        replies = choose(children.take(rows))
        nodes += int(replies.nodes.sum())
        values[rows] = -replies.values
        for row, line, action in zip(rows, replies.pvs, replies.actions, strict=True):
            lines[row] = line or [int(action)]
        if stop and stop():
            break
    return values.tolist(), lines, nodes


@dataclass
class GameView:
    """A game ply by ply, as far as it was looked at.

    Attributes:
        game: the game, its moves with remarks.
        plies: one entry for each move.
    """

    game: PdnGame
    plies: list[PlyView] = field(default_factory=list)


def review(
    game: PdnGame,
    player: Player,
    notation: str | None = None,
    progress: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> GameView:
    """Looks at each position of a game with one search, and writes remarks on its moves.

    Args:
        game: as far as it is legal.
        player: of the rules of the game.
        notation: of the moves; None = that of the rule set.
        progress: called with the number of plies that are done.
        stop: asked between searches; True ends the review, and what is done is kept.
    """
    view = GameView(game)
    rules = game.rules
    walk, texts = _positions_of(game), notation or rules.notation
    # Few at a time, so that a stop is soon heard; each thread has work to do.
    values = np.zeros(len(walk))
    lines: list[list[int]] = [[] for _ in walk]
    for start in range(0, len(walk), THREADS):
        if stop and stop():
            break
        part = range(start, min(start + THREADS, len(walk)))
        _judge(walk, part, player, values, lines)
        for ply in range(max(start - 1, 0), part[-1]):
            before, after = float(values[ply]), -float(values[ply + 1])
            view.plies.append(_ply_view(walk[ply], game, ply, before, after, lines[ply], texts))
        if progress:
            progress(len(view.plies))
    game.remarks = {ply.ply - 1: ply.remark for ply in view.plies}
    return view


def _positions_of(game: PdnGame) -> list[Positions]:
    """The positions of a game, the last one included; a draw law that was passed over begins to count anew."""
    boards, color = parse_fen(game.fen, game.rules)
    positions = Positions.from_boards(game.rules, boards[None], np.array([color], dtype=np.int8))
    walk = []
    for move in game.moves:
        positions = afresh(positions)
        walk.append(positions.copy())
        positions.step(np.array([move.action]))
    return [*walk, positions]


def _judge(walk: list[Positions], part: range, player: Player, values: np.ndarray, lines: list[list[int]]) -> None:
    """Values and lines of some positions of a game; one that is over has its result."""
    open_ones = [number for number in part if not walk[number].terminations[0]]
    for number in part:
        values[number] = walk[number].rewards()[0]
    if not open_ones:
        return
    choice = player.choose(_joined([walk[number] for number in open_ones]))
    for row, number in enumerate(open_ones):
        values[number] = choice.values[row]
        lines[number] = choice.pvs[row] or [int(choice.actions[row])]


def _joined(parts: list[Positions]) -> Positions:
    joined = Positions(parts[0].rules, len(parts))
    for name in Positions.ARRAYS:
        getattr(joined, name)[:] = np.concatenate([getattr(part, name) for part in parts])
    return joined


def _ply_view(
    positions: Positions, game: PdnGame, ply: int, before: float, after: float, best: list[int], notation: str
) -> PlyView:
    played = game.moves[ply].action
    pdn, line = spell_line(positions, [played], notation)[0], spell_line(positions, best, notation)
    lost = lost_by(positions, played, best[0], before, after)
    color = COLORS[int(positions.colors[0])]
    return PlyView(ply + 1, color, pdn, before + 0.0, after + 0.0, line, lost)


def lost_by(positions: Positions, played: int, best: int, before: float, after: float) -> str | None:
    """The result that the move ``played`` throws away, where another one was ``best``; forced moves throw none away."""
    return thrown_away(before, after) if positions.counts[0] > 1 and played != best else None


def thrown_away(before: float, after: float) -> str | None:
    """The result, "win" or "draw", that a move throws away by the values before and after it."""
    held, kept = (int(value >= DECIDED) - int(value <= -DECIDED) for value in (before, after))
    return _RESULTS[held + 1] if kept < held and before - after >= _FALL else None
