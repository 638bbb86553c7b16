"""Exact endgames for learning: sampled positions as training records, and as a test of a player."""

import numpy as np
from numpy.typing import NDArray

from damas_env.observation import features
from damas_env.position import Positions
from damas_rl.players import Player
from damas_rl.records import Records, empty_records, policy_rows
from damas_rl.tablebase import Tablebase
from damas_rl.tablebase.endgames import DRAW, LOSS, UNKNOWN, WIN
from damas_rl.tablebase.index import place, slices

_ROUNDS = 200


def sample_endgames(tablebase: Tablebase, count: int, rng: np.random.Generator, critical: bool = False) -> Positions:
    """Positions of a table whose results are certain under the draw laws, with a choice of moves.

    Every balance of three pieces or more is as likely as the others (of two where the table has no more). The side to
    move is White or Black.

    Args:
        tablebase: the table.
        count: positions wanted.
        rng: source of randomness.
        critical: only positions in which some moves throw the result, a win or a draw, away.

    Raises:
        ValueError: no such positions could be found.
    """
    rules = tablebase.rules
    balances = [
        balance
        for balance in slices(tablebase.pieces)
        if balance.pieces >= min(3, tablebase.pieces)
        and max(balance.own_men + balance.own_kings, balance.other_men + balance.other_kings) <= rules.men
    ]
    found: list[NDArray[np.uint64]] = []
    held = 0
    for _ in range(_ROUNDS):
        chosen = rng.integers(0, len(balances), 2 * count)
        boards = np.array(
            [
                place(rules.spec, int(rng.integers(balance.size(rules.size))), *balance)
                for balance in map(balances.__getitem__, chosen)
            ],
            dtype=np.uint64,
        )
        own, other = boards[:, 0] | boards[:, 1], boards[:, 2] | boards[:, 3]
        hole = (boards[:, 0] & boards[:, 1]) | (boards[:, 2] & boards[:, 3]) | (own & other)
        boards = boards[hole == 0]
        positions = Positions.from_boards(rules, boards, np.zeros(len(boards), np.int8))
        verdicts = tablebase.judge(positions)
        usable = (verdicts.proof != UNKNOWN) & (positions.terminations == 0) & (positions.counts > 1)
        if critical:  # a win that a law takes away is not there to be thrown away
            usable &= ((verdicts.proof == DRAW) == (verdicts.result == 0)) & (
                tablebase.keeping_moves(positions).sum(axis=1) < positions.counts
            )
        found.append(boards[usable])
        held += int(usable.sum())
        if held >= count:
            boards = np.concatenate(found)[:count]
            return Positions.from_boards(rules, boards, rng.integers(0, 2, count, dtype=np.int8))
    raise ValueError(f"The table of {tablebase.pieces} pieces for {rules.name!r} holds too few positions to choose in.")


def endgame_records(tablebase: Tablebase, count: int, rng: np.random.Generator) -> Records:
    """Sampled endgames as training records: exact values, and the best moves with equal shares as the policy."""
    if not count:
        return empty_records(0)
    positions = sample_endgames(tablebase, count, rng)
    verdicts, best = tablebase.judge(positions), tablebase.best_moves(positions)
    records = empty_records(count)
    records.boards[:], records.features[:] = positions.boards, features(positions)
    records.actions[:], records.policy[:] = policy_rows(positions.actions, best.astype(np.float32))
    sign = np.select([verdicts.proof == WIN, verdicts.proof == LOSS], [1, -1], 0)
    records.z[:], records.q[:] = sign, sign
    # What best play would still take; a draw lasts as long as the first draw law allows.
    drawn = min((law.plies for law in tablebase.rules.draw_laws), default=0)
    records.plies_left[:] = np.where(sign == 0, drawn, verdicts.distance)
    return records


def mistakes(player: Player, tablebase: Tablebase, positions: Positions) -> float:
    """Share of positions of a table in which a player's choice throws away a win or a draw."""
    choices = np.asarray(player.choose(positions).actions)
    kept = tablebase.keeping_moves(positions) & (positions.actions == choices[:, None])
    return float(1.0 - kept.any(axis=1).mean())
