"""Alpha-beta as kernels: principal variation search with an explicit stack, one frame for each ply.

A *node* is settled at once (the game is over, the table knows enough, or the horizon is reached and nothing can be
captured), or its moves are searched one after the other. Scores belong to the side to move of their node.

Beyond the horizon captures are searched until none is left: capturing is compulsory, so such a position has no other
moves and no score of its own. Draw laws and repetition are those of ``damas_env.outcome``, over the game and the
path of the search. What of them can still decide a node's value is its *context*, part of its key in the table.
"""

from typing import NamedTuple

import numpy as np

from damas_env.actions import encode, find
from damas_env.kernel import kernel, popcount
from damas_env.movegen import (
    STACK_SHAPE,
    captures,
    count_moves,
    generate,
    is_capture,
    move_captured,
    move_from,
    move_to,
    play,
)
from damas_env.outcome import advance_counters, events_of, judge, key, standing_laws
from damas_env.rules import EVENT_CAPTURE, EVENT_MAN_MOVE, MAX_COUNTERS, DrawTables, RuleSet
from damas_rl.search.clock import nanoseconds
from damas_rl.search.evaluation import evaluate
from damas_rl.search.transpositions import EXACT, LOWER, PROVEN, UPPER, WON, move_tag, probe, store

MAX_DEPTH = 60
"""Deepest iteration."""

_FRAMES = 128
_LAST = _FRAMES - 2
_INFINITY = WON + 1
_CLOCK_NODES = 1024
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)

# Columns of ``Work.frames``.
_DEPTH, _ALPHA, _BETA, _FLOOR, _BEST, _COUNT, _NEXT, _STAGE, _LAWS, _START, _SEEN, _TAG = range(12)
# Stages of the child in hand: a null window at reduced depth, a null window, the full window.
_REDUCED, _NULL, _FULL = range(3)
# Fields of ``Work.control``; games begin at ``_BASE`` in ``Work.path``.
_NODES, _NODE_LIMIT, _DEADLINE, _ABORTED, _BASE, _PLIES, _GENERATION, _FULL_WIDTH = range(8)


class Work(NamedTuple):
    """Memory of one searching thread; F frames, M moves, H positions of history.

    Attributes:
        boards: uint64[F, 4], position of each ply of the path.
        counters: int16[F, 4], its draw counters.
        path: uint64[H + F], keys of the game's positions since the last irreversible ply, then of the path.
        repeated: uint64[F, 2], sums over the keys that can still come back: all, and those that came back.
        contexts: uint64[F], see :func:`_context`.
        frames: int64[F, 12], depth, window, best score and so on of each ply (columns ``_DEPTH`` ...).
        moves: uint64[F, M]; scores: int64[F, M], for the order in which they are tried.
        best: uint64[F], best move of each ply.
        lines: uint64[F, F], principal variation from each ply on; line_lengths: int64[F].
        killers: uint64[F, 2], quiet moves that refuted the last siblings.
        history: int64[2, 4096], how often a quiet move (by from and to) has refuted, for each side.
        order: int64[M], root moves in the order of trial.
        stack: work space of move generation.
        control: int64[8], see ``_NODES`` ...
        stop: int64[1], shared by all threads; anything but 0 ends the search.
        nearest: int64[4], the smallest limit of each draw counter.
        history_length: int64[1], positions that the rules compare with for repetitions.
    """

    boards: np.ndarray
    counters: np.ndarray
    path: np.ndarray
    repeated: np.ndarray
    contexts: np.ndarray
    frames: np.ndarray
    moves: np.ndarray
    scores: np.ndarray
    best: np.ndarray
    lines: np.ndarray
    line_lengths: np.ndarray
    killers: np.ndarray
    history: np.ndarray
    order: np.ndarray
    stack: np.ndarray
    control: np.ndarray
    stop: np.ndarray
    nearest: np.ndarray
    history_length: np.ndarray


def new_work(rules: RuleSet, stop: np.ndarray) -> Work:
    """Memory for one thread; ``stop`` is shared between threads."""
    frames, moves = _FRAMES, rules.max_moves
    nearest = np.full(MAX_COUNTERS, 1 << 40, dtype=np.int64)
    for law in rules.draw_laws:
        slot = rules.counter_names.index(law.counter)
        nearest[slot] = min(nearest[slot], law.plies)
    return Work(
        boards=np.zeros((frames, 4), dtype=np.uint64),
        counters=np.zeros((frames, MAX_COUNTERS), dtype=np.int16),
        path=np.zeros(rules.history_length + frames, dtype=np.uint64),
        repeated=np.zeros((frames, 2), dtype=np.uint64),
        contexts=np.zeros(frames, dtype=np.uint64),
        frames=np.zeros((frames, 12), dtype=np.int64),
        moves=np.zeros((frames, moves), dtype=np.uint64),
        scores=np.zeros((frames, moves), dtype=np.int64),
        best=np.zeros(frames, dtype=np.uint64),
        lines=np.zeros((frames, frames), dtype=np.uint64),
        line_lengths=np.zeros(frames, dtype=np.int64),
        killers=np.zeros((frames, 2), dtype=np.uint64),
        history=np.zeros((2, 4096), dtype=np.int64),
        order=np.zeros(moves, dtype=np.int64),
        stack=np.zeros(STACK_SHAPE, dtype=np.uint64),
        control=np.zeros(8, dtype=np.int64),
        stop=stop,
        nearest=nearest,
        history_length=np.array([rules.history_length], dtype=np.int64),
    )


@kernel
def _play(spec, tables, work, ply, code):
    """Plays a move of the position at ``ply`` and sets up ``ply + 1``: boards, counters, repetitions."""
    a, b, c, d = work.boards[ply, 0], work.boards[ply, 1], work.boards[ply, 2], work.boards[ply, 3]
    frames, down = work.frames, ply + 1
    before, events = frames[ply, _LAWS], events_of(a, code)
    a, b, c, d = play(spec, a, b, c, d, code)
    work.boards[down, 0], work.boards[down, 1], work.boards[down, 2], work.boards[down, 3] = a, b, c, d
    after = standing_laws(tables, a, b, c, d)
    frames[down, _LAWS] = after
    advance_counters(tables, before, after, events, work.counters[ply], work.counters[down])
    at = work.control[_BASE] + down
    new_key = key(a, b, c, d)
    work.path[at] = new_key
    mark = new_key
    if at & 1:
        mark *= _GOLDEN
    if events & (EVENT_CAPTURE | EVENT_MAN_MOVE):
        frames[down, _START], frames[down, _SEEN] = at, 0
        work.repeated[down, 0], work.repeated[down, 1] = mark, _ZERO
        return
    start = frames[ply, _START]
    frames[down, _START] = start
    start = max(start, at - work.history_length[0] + 1)
    seen = 0
    index = at - 2
    while index >= start:
        if work.path[index] == new_key:
            seen += 1
        index -= 2
    frames[down, _SEEN] = seen
    work.repeated[down, 0] = work.repeated[ply, 0] + mark
    work.repeated[down, 1] = work.repeated[ply, 1]
    if seen > 0:
        work.repeated[down, 1] += mark


@kernel
def _context(tables, work, ply, depth):
    """What decides the value of the node at ``ply``, searched to ``depth``, besides its squares (uint64).

    Counters that cannot reach their limit below the node are left out, and so are repetitions where a side without
    king can make none: two paths that differ in these only lead to one value.
    """
    boards = work.boards[ply]
    reach = depth + popcount(boards[0] | boards[1] | boards[2] | boards[3])
    counts, shift = _ZERO, _ZERO
    for counter in range(MAX_COUNTERS):
        count = np.int64(work.counters[ply, counter])
        if count > 0 and count + reach >= work.nearest[counter]:
            counts |= np.uint64(count) << shift
        shift += np.uint64(16)
    repeated = _ZERO
    if tables.repetition and boards[1] != _ZERO and boards[3] != _ZERO:
        # A position that has occurred once can come back twice within five plies at the earliest. A search that
        # takes deeper results for shallow ones anyway does without that last bit of exactness.
        if tables.repetition == 2 or (depth >= 5 and work.control[_FULL_WIDTH]):
            repeated = work.repeated[ply, 0]
        else:
            repeated = work.repeated[ply, 1]
        if repeated != _ZERO:
            repeated += np.uint64(work.control[_BASE] + ply & 1)
    plies = work.control[_PLIES] + ply
    late = tables.ply_cap > 0 and plies + reach >= tables.ply_cap
    if counts == _ZERO and repeated == _ZERO and not late:
        return _ZERO
    return key(counts, repeated, np.uint64(plies) if late else _ZERO, _ONE)


@kernel
def _score_moves(work, ply, count):
    """Scores for the order of trial: the table's move, crowning, killers, then the history of refutations."""
    tag, killers, history = work.frames[ply, _TAG], work.killers[ply], work.history[ply & 1]
    for index in range(count):
        code = work.moves[ply, index]
        this = move_tag(code)
        if this == tag:
            score = 1 << 40
        elif code & _ONE:
            score = 1 << 39
        elif code == killers[0]:
            score = (1 << 38) + 1
        elif code == killers[1]:
            score = 1 << 38
        else:
            score = history[this]
        work.scores[ply, index] = score


@kernel
def _score_captures(spec, work, ply, count):
    """The same for captures: most pieces first, kings before men."""
    kings = work.boards[ply, 3]
    tag = work.frames[ply, _TAG]
    for index in range(count):
        code = work.moves[ply, index]
        taken = move_captured(spec, code)
        score = popcount(taken) + popcount(taken & kings)
        work.scores[ply, index] = 1 << 40 if move_tag(code) == tag else score


@kernel
def _open(spec, tables, work, table, ply):
    """Looks at a node: (True, score) if it is settled at once, else (False, 0) with its moves ready."""
    control, frames = work.control, work.frames
    nodes = control[_NODES] + 1
    control[_NODES] = nodes
    if nodes >= control[_NODE_LIMIT] or (
        nodes % _CLOCK_NODES == 0 and (work.stop[0] != 0 or nanoseconds() >= control[_DEADLINE])
    ):
        control[_ABORTED] = 1
        return True, 0
    work.line_lengths[ply] = 0
    a, b, c, d = work.boards[ply, 0], work.boards[ply, 1], work.boards[ply, 2], work.boards[ply, 3]
    over = judge(
        tables, 1, a | b, frames[ply, _LAWS], work.counters[ply], frames[ply, _SEEN], control[_PLIES] + ply
    )
    moves = work.moves[ply]
    if over:
        lost = count_moves(spec, a, b, c, d, moves, work.stack) == 0
        return True, ply - WON if lost else 0
    depth, alpha, beta = frames[ply, _DEPTH], frames[ply, _ALPHA], frames[ply, _BETA]
    frames[ply, _TAG] = -1
    if depth <= 0:
        count = captures(spec, a, b, c, d, moves, work.stack)
        if count == 0 and count_moves(spec, a, b, c, d, moves, work.stack) == 0:
            return True, ply - WON
        if count == 0 or ply >= _LAST:
            return True, evaluate(spec, tables.diagonal, a, b, c, d)
    else:
        context = _context(tables, work, ply, depth)
        work.contexts[ply] = context
        known, score, kind, tag = probe(table, control[_GENERATION], work.path[control[_BASE] + ply], context)
        frames[ply, _TAG] = tag
        if kind and beta - alpha == 1 and (known == depth or (known > depth and not control[_FULL_WIDTH])):
            if score >= PROVEN:
                score -= ply
            elif score <= -PROVEN:
                score += ply
            if kind == EXACT or (kind == LOWER and score >= beta) or (kind == UPPER and score <= alpha):
                return True, score
        count = generate(spec, a, b, c, d, moves, work.stack)
        if count == 0:
            return True, ply - WON
        if ply >= _LAST:
            return True, evaluate(spec, tables.diagonal, a, b, c, d)
    if is_capture(moves[0]):
        _score_captures(spec, work, ply, count)
    else:
        _score_moves(work, ply, count)
    frames[ply, _COUNT], frames[ply, _NEXT] = count, 0
    frames[ply, _FLOOR], frames[ply, _BEST] = alpha, -_INFINITY
    return False, 0


@kernel
def _finish(work, table, ply):
    """Keeps what a searched node has taught: killers, history and the table. Returns its score."""
    frames, control = work.frames, work.control
    best, depth, beta = frames[ply, _BEST], frames[ply, _DEPTH], frames[ply, _BETA]
    if depth <= 0:
        return best
    code = work.best[ply]
    kind = EXACT
    if best >= beta:
        kind = LOWER
        if not is_capture(code):
            if work.killers[ply, 0] != code:
                work.killers[ply, 1] = work.killers[ply, 0]
                work.killers[ply, 0] = code
            tag = move_tag(code)
            work.history[ply & 1, tag] = min(work.history[ply & 1, tag] + depth * depth, np.int64(1 << 30))
    elif best <= frames[ply, _FLOOR]:
        kind = UPPER
    score = best
    if score >= PROVEN:
        score += ply
    elif score <= -PROVEN:
        score -= ply
    position = work.path[control[_BASE] + ply]
    store(table, control[_GENERATION], position, work.contexts[ply], depth, score, kind, move_tag(code))
    return best


@kernel
def _next(spec, tables, work, table, ply):
    """Starts the next child of a node: (False, 0) with the child set up, or (True, score) if the node is done."""
    frames = work.frames
    number, count = frames[ply, _NEXT], frames[ply, _COUNT]
    alpha, beta = frames[ply, _ALPHA], frames[ply, _BETA]
    if number == count or frames[ply, _BEST] >= beta:
        return True, _finish(work, table, ply)
    moves, scores = work.moves[ply], work.scores[ply]
    pick = number
    for index in range(number + 1, count):
        if scores[index] > scores[pick]:
            pick = index
    code = moves[pick]
    moves[pick], scores[pick] = moves[number], scores[number]
    moves[number] = code
    frames[ply, _NEXT] = number + 1
    _play(spec, tables, work, ply, code)
    depth = frames[ply, _DEPTH]
    down, stage = max(depth - 1, 0), _FULL if number == 0 else _NULL
    if not work.control[_FULL_WIDTH] and depth > 0:
        if count == 1 and ply < _LAST // 2:
            down = depth
        elif depth >= 3 and number >= 3 and not is_capture(code) and not code & _ONE:
            down -= 2 if depth >= 6 and number >= 7 else 1
            stage = _REDUCED
    frames[ply, _STAGE] = stage
    frames[ply + 1, _DEPTH] = down
    frames[ply + 1, _ALPHA] = -beta if stage == _FULL else -alpha - 1
    frames[ply + 1, _BETA] = -alpha
    return False, 0


@kernel
def _take(work, ply, score):
    """Takes the score of the child in hand; True if the child must be searched again, with the window set for it."""
    frames = work.frames
    alpha, beta, stage = frames[ply, _ALPHA], frames[ply, _BETA], frames[ply, _STAGE]
    if stage == _REDUCED and score > alpha:
        frames[ply, _STAGE] = _NULL
        frames[ply + 1, _DEPTH] = frames[ply, _DEPTH] - 1
        return True
    if stage == _NULL and alpha < score < beta:
        frames[ply, _STAGE] = _FULL
        frames[ply + 1, _ALPHA] = -beta
        return True
    if score > frames[ply, _BEST]:
        code = work.moves[ply, frames[ply, _NEXT] - 1]
        frames[ply, _BEST] = score
        work.best[ply] = code
        if score > alpha:
            frames[ply, _ALPHA] = score
            _lengthen(work, ply, code)
    return False


@kernel
def _lengthen(work, ply, code):
    """The principal variation at ``ply`` becomes ``code`` and what follows it."""
    length = work.line_lengths[ply + 1]
    work.lines[ply, 0] = code
    for index in range(length):
        work.lines[ply, index + 1] = work.lines[ply + 1, index]
    work.line_lengths[ply] = length + 1


@kernel
def _negamax(spec, tables, work, table, depth, alpha, beta):
    """Score (int64) of the position at ply 1, searched to ``depth`` with a window; meaningless once aborted."""
    frames, ply = work.frames, 1
    frames[ply, _DEPTH], frames[ply, _ALPHA], frames[ply, _BETA] = depth, alpha, beta
    while True:
        settled, score = _open(spec, tables, work, table, ply)
        if work.control[_ABORTED]:
            return 0
        # Upwards, as long as nodes are done.
        while True:
            if settled:
                if ply == 1:
                    return score
                ply -= 1
                if _take(work, ply, -score):
                    break
            settled, score = _next(spec, tables, work, table, ply)
            if not settled:
                break
        ply += 1


@kernel
def _shuffle(order, count, seed):
    """A random order of the root moves, decided by ``seed``."""
    for index in range(count):
        order[index] = index
    for index in range(count - 1, 0, -1):
        other = np.int64(key(seed, np.uint64(index), _ONE, _ZERO) % np.uint64(index + 1))
        order[index], order[other] = order[other], order[index]


@kernel
def _root(spec, tables, work, table, legal, count, max_depth, seed):
    """Iterative deepening over the root moves; returns (index of the chosen move, its score, depth reached).

    Moves of equal score are chosen between by ``seed``, each with the same probability: later moves are asked
    whether they reach the best score, not whether they exceed it.
    """
    order, control = work.order, work.control
    _shuffle(order, count, seed)
    chosen, score, reached, draws = order[0], 0, 0, 0
    node_limit, deadline = control[_NODE_LIMIT], control[_DEADLINE]
    for depth in range(1, max_depth + 1):
        # The first iteration is always completed, so that there is a move.
        control[_NODE_LIMIT] = node_limit if depth > 1 else 1 << 62
        control[_DEADLINE] = deadline if depth > 1 else 1 << 62
        best, ties, favourite = -_INFINITY, 0, 0
        for number in range(count):
            _play(spec, tables, work, 0, legal[order[number]])
            if number == 0:
                value = -_negamax(spec, tables, work, table, depth - 1, -_INFINITY, _INFINITY)
            else:
                value = -_negamax(spec, tables, work, table, depth - 1, -best, 1 - best)
                if value >= best and not control[_ABORTED]:
                    value = -_negamax(spec, tables, work, table, depth - 1, -_INFINITY, 1 - best)
            if control[_ABORTED]:
                break
            if value > best:
                best, ties = value, 0
            if value == best:
                ties += 1
                draws += 1
                if key(seed, np.uint64(draws), _TWO, _ZERO) % np.uint64(ties) == _ZERO:
                    favourite = number
                    _lengthen(work, 0, legal[order[number]])
        if best > -_INFINITY:
            chosen, score, reached = order[favourite], best, depth
            while favourite > 0:
                order[favourite] = order[favourite - 1]
                favourite -= 1
            order[0] = chosen
        # More depth cannot change a result that is proven within full width, and a single move needs no thought
        # where thought is limited.
        if control[_ABORTED] or WON - abs(score) <= depth or (count == 1 and not control[_FULL_WIDTH]):
            break
    control[_NODE_LIMIT], control[_DEADLINE] = node_limit, deadline
    return chosen, score, reached


@kernel
def _load(tables, work, boards, plies, counters, repetitions, history, history_len):
    """Puts the position of a game at ply 0."""
    work.boards[0] = boards
    work.counters[0] = counters
    frames = work.frames
    frames[0, _LAWS] = standing_laws(tables, boards[0], boards[1], boards[2], boards[3])
    frames[0, _START], frames[0, _SEEN] = 0, repetitions
    base = history_len - 1
    work.control[_BASE], work.control[_PLIES] = base, plies
    work.repeated[0] = _ZERO
    for index in range(history_len):
        this = history[index]
        work.path[index] = this
        mark = this
        if index & 1:
            mark *= _GOLDEN
        work.repeated[0, 0] += mark
        earlier = index - 2
        while earlier >= 0:
            if work.path[earlier] == this:
                work.repeated[0, 1] += mark
                break
            earlier -= 2


@kernel
def _principal_variation(spec, work, legal, actions, count, out):
    """Writes the action indices (int16) of the line found at the root into ``out``, -1 after its end."""
    out[:] = -1
    length = min(work.line_lengths[0], out.shape[0])
    moves, indices = work.moves[1], np.empty(work.moves.shape[1], dtype=np.int16)
    boards = work.boards[0]
    a, b, c, d = boards[0], boards[1], boards[2], boards[3]
    for index in range(length):
        number = generate(spec, a, b, c, d, moves, work.stack)
        encode(spec, moves, number, indices)
        code = work.lines[0, index]
        for other in range(number):
            if moves[other] == code:
                out[index] = indices[other]
        a, b, c, d = play(spec, a, b, c, d, code)


@kernel
def search_games(
    start, end, spec, tables, work, table, generation, boards, plies, counters, repetitions, history, history_len,
    legal, actions, counts, seeds, max_depth, node_limit, time_limit, full_width, chosen, scores, depths, nodes, lines,
):  # fmt: skip
    """Searches the games ``start`` to ``end`` of a batch, one after the other.

    Args:
        start, end, spec, tables: games, movement flags and draw laws.
        work, table: memory of this thread and its transposition table.
        generation: mark of the first game's entries in the table; the others take the marks that follow.
        boards, plies, counters, repetitions, history, history_len, legal, actions, counts: arrays of ``Positions``
            (``legal`` = its moves).
        seeds: uint64[B], decide between moves of equal score.
        max_depth: deepest iteration.
        node_limit, time_limit: nodes and nanoseconds for each game.
        full_width: no reductions or extensions, and results of exactly the wanted depth only.
        chosen: int16[B], receives the action.
        scores, depths, nodes: int64[B], receive the score, the depth reached and the nodes searched.
        lines: int16[B, L], receives the principal variation as actions, padded with -1.
    """
    control = work.control
    for game in range(start, end):
        _load(tables, work, boards[game], plies[game], counters[game], repetitions[game], history[game], history_len[game])
        work.killers[:] = _ZERO
        work.history[:] = 0
        control[_NODES], control[_NODE_LIMIT], control[_ABORTED] = 0, node_limit, 0
        control[_DEADLINE] = nanoseconds() + time_limit if time_limit > 0 else 1 << 62
        control[_GENERATION] = generation + game - start
        control[_FULL_WIDTH] = full_width
        index, score, depth = _root(
            spec, tables, work, table, legal[game], counts[game], max_depth, seeds[game]
        )
        chosen[game] = actions[game, index]
        scores[game], depths[game], nodes[game] = score, depth, control[_NODES]
        _principal_variation(spec, work, legal[game], actions[game], counts[game], lines[game])
