"""Alpha-beta as kernels: principal variation search with an explicit stack, one frame for each ply.

A *node* is settled at once (the game is over, the table knows enough, or the horizon is reached and nothing can be
captured), or its moves are searched one after the other. Scores belong to the side to move of their node.

Beyond the horizon captures are searched until none is left: capturing is compulsory, so such a position has no other
moves and no score of its own. Draw laws and repetition are those of ``damas_env.outcome``, over the game and the
path of the search. What of them can still decide a node's value is its *context*, part of its key in the table.

Memory is made of records (structured arrays): unlike arrays and tuples they are passed to functions as bare pointers,
without reference counts.
"""

import numpy as np

from damas_env.actions import encode
from damas_env.kernel import kernel, popcount
from damas_env.movegen import STACK_SIZE, generate, is_capture, move_captured, play
from damas_env.outcome import advance_counters, events_of, judge, key, standing_laws
from damas_env.rules import EVENT_CAPTURE, EVENT_MAN_MOVE, MAX_COUNTERS, MAX_HISTORY, RuleSet
from damas_rl.search.clock import nanoseconds
from damas_rl.search.learned import HIDDEN, evaluate_with
from damas_rl.search.transpositions import EXACT, LOWER, PROVEN, UPPER, WON, move_tag, probe, store
from damas_rl.tablebase.endgames import DRAW, UNKNOWN, verdict
from damas_rl.tablebase.index import LONGEST

MAX_DEPTH = 60
"""Deepest iteration."""

_FRAMES = 128
_LAST = _FRAMES - 2
_INFINITY = WON + 1
_NEVER = 1 << 62
_CLOCK_NODES = 1024
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
_LIKELY = 2_000
"""Score of a win that a draw law may still take away, less its distance."""
# Stages of the child in hand: a null window at reduced depth, a null window, the full window.
_REDUCED, _NULL, _FULL = range(3)
# Why a search is aborted: a limit, or a position with more moves than there is room for.
_LIMIT, _NO_ROOM = 1, 2


def new_frames(rules: RuleSet) -> np.ndarray:
    """One record for each ply of the path: the position, the window and the moves of a node.

    Fields: ``boards``, ``counters``, ``laws`` (standing draw laws) and ``seen`` (earlier occurrences) as in
    ``Positions``; ``start``, where in ``path`` the positions begin that can come back; ``visited`` and ``revisited``,
    sums over the keys of these, and of those among them that had occurred before; ``context``; ``depth``, ``alpha``,
    ``beta``; ``floor``, alpha on entry; ``best`` and ``best_move`` so far; ``count``, ``next`` and ``stage``, how many
    moves there are, how many have been begun, and how the last one is being searched; ``tag``, the table's move;
    ``moves`` with their ``scores`` for the order of trial; ``killers``, quiet moves that refuted the last siblings;
    ``line``, the principal variation, ``length`` moves long. With ``actions`` and ``stack`` a frame is work
    space of move generation as well.
    """
    moves = rules.max_moves
    words = (
        "laws", "seen", "start", "depth", "alpha", "beta", "floor", "best", "count", "next", "stage", "tag", "length",
    )  # fmt: skip
    layout = np.dtype(
        [
            ("boards", np.uint64, 4),
            ("counters", np.int16, MAX_COUNTERS),
            ("visited", np.uint64),
            ("revisited", np.uint64),
            ("context", np.uint64),
            *((word, np.int64) for word in words),
            ("best_move", np.uint64),
            ("killers", np.uint64, 2),
            ("moves", np.uint64, moves),
            ("scores", np.int64, moves),
            ("line", np.uint64, _FRAMES),
            ("actions", np.int16, moves),
            ("stack", np.uint64, STACK_SIZE),
        ],
        align=True,
    )
    return np.zeros(_FRAMES, dtype=layout)


def new_state(rules: RuleSet) -> np.ndarray:
    """What else a searching thread needs, as an array of one record.

    Fields: ``path``, keys of the game's positions since the last irreversible ply, then of the path; ``base``, where
    ply 0 is in it; ``plies`` played in the game; ``nodes`` so far, ``node_limit``, ``deadline`` (see ``nanoseconds``)
    and ``aborted``; ``full_width``; ``generation``, mark of this search in the table; ``history``, how often a quiet
    move (by its tag) has refuted, for each side; ``order``, root moves in the order of trial; ``nearest``, the
    smallest limit of each draw counter; ``reach``, how many positions the rules compare for repetitions; ``hidden``,
    work space of the learned evaluation.
    """
    words = ("base", "plies", "nodes", "node_limit", "deadline", "aborted", "full_width", "generation", "reach")
    layout = np.dtype(
        [
            *((word, np.int64) for word in words),
            ("nearest", np.int64, MAX_COUNTERS),
            ("order", np.int64, rules.max_moves),
            ("path", np.uint64, MAX_HISTORY + _FRAMES),
            ("history", np.int64, (2, 4096)),
            ("hidden", np.float32, HIDDEN),
        ],
        align=True,
    )
    state = np.zeros(1, dtype=layout)
    state["reach"] = rules.history_length
    state["nearest"] = _NEVER
    for law in rules.draw_laws:
        slot = rules.counter_names.index(law.counter)
        state["nearest"][0, slot] = min(state["nearest"][0, slot], law.plies)
    return state


@kernel
def _play(spec, tables, state, node, child, ply, code):
    """Plays a move of ``node``, which stands at ``ply``, and sets up its child: boards, counters, repetitions."""
    before, events = node.laws, events_of(node.boards[0], code)
    a, b, c, d = play(spec, node.boards[0], node.boards[1], node.boards[2], node.boards[3], code)
    child.boards[0], child.boards[1], child.boards[2], child.boards[3] = a, b, c, d
    after = standing_laws(tables, a, b, c, d)
    child.laws = after
    advance_counters(tables, before, after, events, node.counters, child.counters)
    at = state.base + ply + 1
    this = key(a, b, c, d)
    state.path[at] = this
    mark = this
    if at & 1:
        mark *= _GOLDEN
    if events & (EVENT_CAPTURE | EVENT_MAN_MOVE):
        child.start, child.seen = at, 0
        child.visited, child.revisited = mark, _ZERO
        return
    child.start = node.start
    start = max(node.start, at - state.reach + 1)
    seen = 0
    index = at - 2
    while index >= start:
        if state.path[index] == this:
            seen += 1
        index -= 2
    child.seen = seen
    child.visited, child.revisited = node.visited + mark, node.revisited
    if seen > 0:
        child.revisited += mark


@kernel
def _context(tables, endgames, state, node, ply, depth):
    """What decides the value of a node, searched to ``depth``, besides its squares (uint64).

    Counters that cannot reach their limit below the node are left out, and so are repetitions where a side without
    king can make none: two paths that differ in these only lead to one value.
    """
    boards = node.boards
    pieces = popcount(boards[0] | boards[1] | boards[2] | boards[3])
    # What an endgame table says of a position below this one reaches further than the search.
    reach = depth + pieces
    further = reach + LONGEST if endgames.pieces else reach
    counts, shift = _ZERO, _ZERO
    for counter in range(MAX_COUNTERS):
        count = np.int64(node.counters[counter])
        kept = pieces <= endgames.pieces or not tables.resets[counter] & EVENT_CAPTURE
        if count > 0 and count + (further if kept else reach) >= state.nearest[counter]:
            counts |= np.uint64(count) << shift
        shift += np.uint64(16)
    past = _ZERO
    if tables.repetition and boards[1] != _ZERO and boards[3] != _ZERO:
        # A position that has occurred once can come back twice within five plies at the earliest. A search that
        # takes deeper results for shallow ones anyway does without that last bit of exactness.
        if tables.repetition == 2 or (depth >= 5 and state.full_width):
            past = node.visited
        else:
            past = node.revisited
        if past != _ZERO:
            past += np.uint64((state.base + ply) & 1)
    plies = state.plies + ply
    late = tables.ply_cap > 0 and plies + further >= tables.ply_cap
    if counts == _ZERO and past == _ZERO and not late:
        return _ZERO
    return key(counts, past, np.uint64(plies) if late else _ZERO, _ONE)


@kernel
def _order_moves(spec, state, node, ply):
    """Scores for the order of trial: the table's move, crowning, killers, then the history of refutations.

    Captures, which are never mixed with quiet moves: most pieces first, kings before men.
    """
    tag, side = node.tag, ply & 1
    capturing = is_capture(node.moves[0])
    for index in range(node.count):
        code = node.moves[index]
        this = move_tag(code)
        if this == tag:
            score = 1 << 40
        elif capturing:
            taken = move_captured(spec, code)
            score = popcount(taken) + popcount(taken & node.boards[3])
        elif code & _ONE:
            score = 1 << 39
        elif code == node.killers[0]:
            score = (1 << 38) + 1
        elif code == node.killers[1]:
            score = 1 << 38
        else:
            score = state.history[side, this]
        node.scores[index] = score


@kernel
def _open(spec, tables, endgames, weights, state, table, stop, node, ply):
    """Looks at a node: (True, score) if it is settled at once, else (False, 0) with its moves ready."""
    state.nodes += 1
    if state.nodes >= state.node_limit or (
        state.nodes % _CLOCK_NODES == 0 and (stop[0] != 0 or nanoseconds() >= state.deadline)
    ):
        state.aborted = _LIMIT
        return True, 0
    node.length = 0
    a, b, c, d = node.boards[0], node.boards[1], node.boards[2], node.boards[3]
    over = judge(tables, 1, a | b, node.laws, node.counters, node.seen, state.plies + ply)
    depth, alpha, beta = node.depth, node.alpha, node.beta
    node.tag = -1
    if depth > 0 and not over:
        context = _context(tables, endgames, state, node, ply, depth)
        node.context = context
        known, score, kind, tag = probe(table, state.generation, state.path[state.base + ply], context)
        node.tag = tag
        if kind and beta - alpha == 1 and (known == depth or (known > depth and not state.full_width)):
            if score >= PROVEN:
                score -= ply
            elif score <= -PROVEN:
                score += ply
            if kind == EXACT or (kind == LOWER and score >= beta) or (kind == UPPER and score <= alpha):
                return True, score
    count = generate(spec, a, b, c, d, node)
    if count == 0:
        return True, ply - WON
    if count == len(node.moves):
        state.aborted = _NO_ROOM
        return True, 0
    if over:
        return True, 0
    if endgames.pieces:
        reversible = state.base + ply - node.start
        proof, result, distance = verdict(
            spec, tables, endgames, a, b, c, d, node.laws, node.counters, reversible, state.plies + ply
        )
        if proof == DRAW:
            return True, 0
        if proof != UNKNOWN:
            return True, result * (WON - ply - distance)
        if distance >= 0 and depth <= 0:
            return True, result * (_LIKELY - distance)
    if ply >= _LAST or (depth <= 0 and not is_capture(node.moves[0])):
        return True, evaluate_with(spec, weights, state, tables.diagonal, a, b, c, d)
    node.count, node.next = count, 0
    node.floor, node.best = alpha, -_INFINITY
    _order_moves(spec, state, node, ply)
    return False, 0


@kernel
def _finish(state, table, node, ply):
    """Keeps what a searched node has taught: killers, history and the table. Returns its score."""
    best, depth, code = node.best, node.depth, node.best_move
    if depth <= 0:
        return best
    kind = EXACT
    if best >= node.beta:
        kind = LOWER
        if not is_capture(code):
            if node.killers[0] != code:
                node.killers[1] = node.killers[0]
                node.killers[0] = code
            side, tag = ply & 1, move_tag(code)
            state.history[side, tag] = min(state.history[side, tag] + depth * depth, 1 << 30)
    elif best <= node.floor:
        kind = UPPER
    score = best
    if score >= PROVEN:
        score += ply
    elif score <= -PROVEN:
        score -= ply
    store(table, state.generation, state.path[state.base + ply], node.context, depth, score, kind, move_tag(code))
    return best


@kernel
def _next(spec, tables, state, table, node, child, ply):
    """Starts the next child of a node: (False, 0) with the child set up, or (True, score) if the node is done."""
    number, count, alpha, beta = node.next, node.count, node.alpha, node.beta
    if number == count or node.best >= beta:
        return True, _finish(state, table, node, ply)
    pick = number
    for index in range(number + 1, count):
        if node.scores[index] > node.scores[pick]:
            pick = index
    code = node.moves[pick]
    node.moves[pick], node.scores[pick] = node.moves[number], node.scores[number]
    node.moves[number] = code
    node.next = number + 1
    _play(spec, tables, state, node, child, ply, code)
    depth = node.depth
    down, stage = max(depth - 1, 0), _FULL if number == 0 else _NULL
    if not state.full_width and depth >= 3 and number >= 3 and not is_capture(code) and not code & _ONE:
        down -= 2 if depth >= 6 and number >= 7 else 1
        stage = _REDUCED
    node.stage = stage
    child.depth = down
    child.alpha = -beta if stage == _FULL else -alpha - 1
    child.beta = -alpha
    return False, 0


@kernel
def _take(node, child, score):
    """Takes the score of the child in hand; True if the child must be searched again, with the window set for it."""
    alpha, beta = node.alpha, node.beta
    if node.stage == _REDUCED and score > alpha:
        node.stage = _NULL
        child.depth = node.depth - 1
        return True
    if node.stage == _NULL and alpha < score < beta:
        node.stage = _FULL
        child.alpha = -beta
        return True
    if score > node.best:
        code = node.moves[node.next - 1]
        node.best, node.best_move = score, code
        if score > alpha:
            node.alpha = score
            _lengthen(node, child, code)
    return False


@kernel
def _lengthen(node, child, code):
    """The principal variation of a node becomes ``code`` and that of its child."""
    node.line[0] = code
    for index in range(child.length):
        node.line[index + 1] = child.line[index]
    node.length = child.length + 1


@kernel
def _negamax(spec, tables, endgames, weights, state, frames, table, stop, depth, alpha, beta):
    """Score (int64) of the position at ply 1, searched to ``depth`` with a window; meaningless once aborted."""
    ply = 1
    frames[ply].depth, frames[ply].alpha, frames[ply].beta = depth, alpha, beta
    while True:
        settled, score = _open(spec, tables, endgames, weights, state, table, stop, frames[ply], ply)
        if state.aborted:
            return 0
        # Upwards, as long as nodes are done.
        while True:
            if settled:
                if ply == 1:
                    return score
                ply -= 1
                if _take(frames[ply], frames[ply + 1], -score):
                    break
            settled, score = _next(spec, tables, state, table, frames[ply], frames[ply + 1], ply)
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
def _root(spec, tables, endgames, weights, state, frames, table, stop, legal, count, max_depth, seed):
    """Iterative deepening over the root moves; returns (index of the chosen move, its score, depth reached).

    Moves of equal score are chosen between by ``seed``, each with the same probability: later moves are asked
    whether they reach the best score, not whether they exceed it.
    """
    order, node, child = state.order, frames[0], frames[1]
    _shuffle(order, count, seed)
    chosen, score, reached, draws = order[0], 0, 0, 0
    node_limit, deadline = state.node_limit, state.deadline
    for depth in range(1, max_depth + 1):
        # The first iteration is always completed, so that there is a move.
        state.node_limit = node_limit if depth > 1 else _NEVER
        state.deadline = deadline if depth > 1 else _NEVER
        best, ties, favourite = -_INFINITY, 0, 0
        for number in range(count):
            code = legal[order[number]]
            _play(spec, tables, state, node, child, 0, code)
            low, high = -_INFINITY, _INFINITY
            if number > 0:
                low, high = -best, 1 - best
            while True:
                value = -_negamax(spec, tables, endgames, weights, state, frames, table, stop, depth - 1, low, high)
                if state.aborted or value < best or low == -_INFINITY:
                    break
                low = -_INFINITY
            if state.aborted:
                break
            if value > best:
                best, ties = value, 0
            if value == best:
                ties += 1
                draws += 1
                if key(seed, np.uint64(draws), _TWO, _ZERO) % np.uint64(ties) == _ZERO:
                    favourite = number
                    _lengthen(node, child, code)
        if best > -_INFINITY:
            chosen, score, reached = order[favourite], best, depth
            while favourite > 0:
                order[favourite] = order[favourite - 1]
                favourite -= 1
            order[0] = chosen
        # More depth cannot change a result that is proven within full width, and a single move needs no thought
        # where thought is limited.
        if state.aborted or WON - abs(score) <= depth or (count == 1 and not state.full_width):
            break
    return chosen, score, reached


@kernel
def _load(tables, state, root, boards, plies, counters, repetitions, history, history_len):
    """Puts the position of a game at ply 0."""
    for index in range(4):
        root.boards[index] = boards[index]
    for index in range(MAX_COUNTERS):
        root.counters[index] = counters[index]
    root.laws = standing_laws(tables, boards[0], boards[1], boards[2], boards[3])
    root.start, root.seen = 0, repetitions
    root.visited, root.revisited = _ZERO, _ZERO
    state.base, state.plies = history_len - 1, plies
    for index in range(history_len):
        this = history[index]
        state.path[index] = this
        mark = this
        if index & 1:
            mark *= _GOLDEN
        root.visited += mark
        earlier = index - 2
        while earlier >= 0:
            if history[earlier] == this:
                root.revisited += mark
                break
            earlier -= 2


@kernel
def _write_line(spec, state, root, scratch, actions):
    """Writes the action indices (int16) of the line found at the root into ``actions``, -1 after its end."""
    actions[:] = -1
    a, b, c, d = root.boards[0], root.boards[1], root.boards[2], root.boards[3]
    for index in range(min(root.length, len(actions))):
        count = generate(spec, a, b, c, d, scratch)
        encode(spec, count, scratch)
        code = root.line[index]
        for other in range(count):
            if scratch.moves[other] == code:
                actions[index] = scratch.actions[other]
        a, b, c, d = play(spec, a, b, c, d, code)


@kernel
def search_games(
    start, end, spec, tables, endgames, weights, state, frames, table, stop, generation, boards, plies, counters,
    repetitions, history, history_len, legal, actions, counts, seeds, max_depth, node_limit, time_limit, full_width,
    chosen, scores, depths, nodes, lines,
):  # fmt: skip
    """Searches the games ``start`` to ``end`` of a batch, one after the other.

    Args:
        start, end, spec, tables: games, movement flags and draw laws.
        endgames: exact endgames, see ``damas_rl.tablebase.endgames``.
        weights: of the evaluation, see ``learned``.
        state, frames, table: memory of this thread and its transposition table.
        stop: int64[1], anything but 0 ends the search soon; may be set by another thread.
        generation: mark of the first game's entries in the table; the others take the marks that follow.
        boards, plies, counters, repetitions, history, history_len, legal, actions, counts: arrays of ``Positions``
            (``legal`` = its moves).
        seeds: uint64[B], decide between moves of equal score.
        max_depth: deepest iteration.
        node_limit, time_limit: nodes and nanoseconds for each game; 0 = no limit.
        full_width: no reductions, and results of exactly the wanted depth only.
        chosen: int16[B], receives the action, -1 if a position has more moves than there is room for.
        scores, depths, nodes: int64[B], receive the score, the depth reached and the nodes searched.
        lines: int16[B, L], receives the principal variation as actions, padded with -1.
    """
    for game in range(start, end):
        _load(
            tables, state, frames[0], boards[game], plies[game], counters[game], repetitions[game], history[game],
            history_len[game],
        )  # fmt: skip
        for ply in range(len(frames)):
            frames[ply].killers[0] = frames[ply].killers[1] = _ZERO
        state.history[:] = 0
        state.nodes, state.aborted, state.full_width = 0, 0, full_width
        state.node_limit = node_limit if node_limit > 0 else _NEVER
        state.deadline = nanoseconds() + time_limit if time_limit > 0 else _NEVER
        state.generation = generation + game - start
        index, score, depth = _root(
            spec, tables, endgames, weights, state, frames, table, stop, legal[game], counts[game], max_depth,
            seeds[game],
        )  # fmt: skip
        chosen[game] = actions[game, index] if state.aborted != _NO_ROOM else -1
        scores[game], depths[game], nodes[game] = score, depth, state.nodes
        _write_line(spec, state, frames[0], frames[1], lines[game])
