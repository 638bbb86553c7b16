"""Search trees of many games as one struct of arrays, and the kernels that grow them.

A tree is a pool of nodes and a pool of edges of fixed size; node 0 is the root. Legal moves become edges as soon as
a node is created; their priors follow when the network has answered. Values:

* ``value`` sums values for the side to move **in** the node, ``edge_value`` for the side that **chooses** the
  edge (the side to move in its parent). The backup flips the sign once per ply, since players always alternate.
* A proof (``proven``) is for the side to move in the node: a node with a lost child is won; a node all of whose
  children are proven takes the best of them (Winands, Björnsson and Saito, "Monte-Carlo Tree Search Solver", 2008).

A position with a single legal move is not worth a question to the network: its value is that of what follows. A new
node of that kind (a *forced* node) is passed through, and the simulation goes on to the first position with a choice.

Draw counters and repetitions are those of the real path: each node knows its ancestors and the game's history before
the root, so nothing is shared between transpositions that the rules would treat differently.
"""

import math
from typing import NamedTuple

import numpy as np

from damas_env.actions import encode
from damas_env.kernel import kernel
from damas_env.movegen import STACK_SHAPE, generate, play
from damas_env.outcome import advance_counters, events_of, judge, key, standing_laws
from damas_env.rules import EVENT_CAPTURE, EVENT_MAN_MOVE, MAX_COUNTERS, RuleSet

UNKNOWN, WIN, LOSS, DRAW = 0, 1, 2, 3
READY, PENDING, FULL = 0, 1, 2
"""State of a node: has priors; waits for the network; has no edges because the edge pool was full."""

_NOBODY, _COLLISION = -1, -2


class Trees(NamedTuple):
    """G trees of at most N nodes and E edges, with M legal moves at most in a node and H keys of history.

    Attributes:
        boards: uint64[G, N, 4]. counters: int16[G, N, 4]. keys: uint64[G, N]. reversible: int16[G, N], plies since
            the last capture or man move. plies: int32[G, N]. repetitions: int8[G, N].
        parent: int32[G, N], -1 at the root. parent_edge: int32[G, N]. first_edge: int32[G, N].
            num_edges: int16[G, N]. visits: int32[G, N], completed simulations through the node, its own evaluation
            included (forced nodes have none). value: float64[G, N]. net_value: float32[G, N]. proven: int8[G, N].
            state: int8[G, N].
        move: uint64[G, E]. action: int16[G, E]. prior: float32[G, E]. logit: float32[G, E].
            edge_visits: int32[G, E]. edge_value: float64[G, E]. child: int32[G, E], -1 = none.
            in_flight: int16[G, E], simulations that wait for the network (virtual loss).
        nodes_used, edges_used: int32[G]. simulations: int32[G], started so far. budget: int32[G].
        history: uint64[G, H], history_len: int32[G]: the game before and at the root.
        noise: float32[G, M], Gumbel noise of the root edges (zeros without).
    """

    boards: np.ndarray
    counters: np.ndarray
    keys: np.ndarray
    reversible: np.ndarray
    plies: np.ndarray
    repetitions: np.ndarray
    parent: np.ndarray
    parent_edge: np.ndarray
    first_edge: np.ndarray
    num_edges: np.ndarray
    visits: np.ndarray
    value: np.ndarray
    net_value: np.ndarray
    proven: np.ndarray
    state: np.ndarray
    move: np.ndarray
    action: np.ndarray
    prior: np.ndarray
    logit: np.ndarray
    edge_visits: np.ndarray
    edge_value: np.ndarray
    child: np.ndarray
    in_flight: np.ndarray
    nodes_used: np.ndarray
    edges_used: np.ndarray
    simulations: np.ndarray
    budget: np.ndarray
    history: np.ndarray
    history_len: np.ndarray
    noise: np.ndarray


class Leaves(NamedTuple):
    """Nodes that wait for the network, in the order in which they were found.

    Attributes:
        game, node: int32[L]. boards: uint64[L, 4]. counters: int16[L, 4]. repetitions: int8[L]. plies: int32[L].
    """

    game: np.ndarray
    node: np.ndarray
    boards: np.ndarray
    counters: np.ndarray
    repetitions: np.ndarray
    plies: np.ndarray


class Scales(NamedTuple):
    """Numbers of the search that kernels need (see ``SearchConfig``)."""

    c_puct: float
    fpu_reduction: float
    gumbel: bool
    considered: int
    c_visit: float
    c_scale: float


def new_trees(rules: RuleSet, games: int, simulations: int) -> Trees:
    """Empty pools; about 900 bytes for each simulation.

    There is room for a node that waits for the network in each simulation, and as much for forced ones.
    """
    nodes = 2 + 3 * simulations
    edges = 14 * (2 + simulations) + rules.max_moves
    pools = {
        "boards": ((nodes, 4), np.uint64), "counters": ((nodes, MAX_COUNTERS), np.int16), "keys": ((nodes,), np.uint64),
        "reversible": ((nodes,), np.int16), "plies": ((nodes,), np.int32), "repetitions": ((nodes,), np.int8),
        "parent": ((nodes,), np.int32), "parent_edge": ((nodes,), np.int32), "first_edge": ((nodes,), np.int32),
        "num_edges": ((nodes,), np.int16), "visits": ((nodes,), np.int32), "value": ((nodes,), np.float64),
        "net_value": ((nodes,), np.float32), "proven": ((nodes,), np.int8), "state": ((nodes,), np.int8),
        "move": ((edges,), np.uint64), "action": ((edges,), np.int16), "prior": ((edges,), np.float32),
        "logit": ((edges,), np.float32), "edge_visits": ((edges,), np.int32), "edge_value": ((edges,), np.float64),
        "child": ((edges,), np.int32), "in_flight": ((edges,), np.int16), "nodes_used": ((), np.int32),
        "edges_used": ((), np.int32), "simulations": ((), np.int32), "budget": ((), np.int32),
        "history": ((rules.history_length,), np.uint64), "history_len": ((), np.int32),
        "noise": ((rules.max_moves,), np.float32),
    }  # fmt: skip
    return Trees(**{name: np.zeros((games, *shape), dtype=dtype) for name, (shape, dtype) in pools.items()})


def new_leaves(size: int) -> Leaves:
    """Room for ``size`` leaves."""
    return Leaves(
        np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros((size, 4), np.uint64),
        np.zeros((size, MAX_COUNTERS), np.int16), np.zeros(size, np.int8), np.zeros(size, np.int32),
    )  # fmt: skip


@kernel
def _proven_value(proven):
    if proven == WIN:
        return 1.0
    if proven == LOSS:
        return -1.0
    return 0.0


@kernel
def _earlier_occurrences(trees, game, node, reversible):
    """Earlier positions of the game, in the tree or before its root, that equal a node's (same side to move)."""
    wanted, seen, distance = trees.keys[game, node], 0, 0
    ancestor = node
    length = trees.history_len[game]
    before_root = 0
    while distance + 2 <= reversible:
        distance += 2
        for _ in range(2):
            if before_root == 0 and trees.parent[game, ancestor] >= 0:
                ancestor = trees.parent[game, ancestor]
            else:
                before_root += 1
        if before_root == 0:
            seen += trees.keys[game, ancestor] == wanted
        else:
            place = length - 1 - before_root
            if place < 0:
                break
            seen += trees.history[game, place] == wanted
    return seen


@kernel
def _fill_node(spec, tables, trees, game, node, moves, stack):
    """Edges and termination of a node whose boards, counters, plies and repetitions are set.

    Returns (whether the game is over there, value for the side to move if so).
    """
    a, b = trees.boards[game, node, 0], trees.boards[game, node, 1]
    c, d = trees.boards[game, node, 2], trees.boards[game, node, 3]
    count = generate(spec, a, b, c, d, moves, stack)
    first = trees.edges_used[game]
    trees.first_edge[game, node] = first
    trees.visits[game, node], trees.value[game, node] = 0, 0.0
    trees.proven[game, node], trees.state[game, node] = UNKNOWN, PENDING
    trees.num_edges[game, node] = 0
    termination = judge(
        tables, count, a | b, standing_laws(tables, a, b, c, d), trees.counters[game, node],
        trees.repetitions[game, node], trees.plies[game, node],
    )  # fmt: skip
    if termination != 0 and trees.parent[game, node] >= 0:
        return True, -1.0 if count == 0 else 0.0
    if first + count > trees.move.shape[1]:
        trees.state[game, node] = FULL
        return False, 0.0
    trees.num_edges[game, node] = count
    trees.edges_used[game] = first + count
    encode(spec, moves, count, trees.action[game, first:])
    for index in range(count):
        edge = first + index
        trees.move[game, edge] = moves[index]
        trees.edge_visits[game, edge], trees.edge_value[game, edge] = 0, 0.0
        trees.child[game, edge], trees.in_flight[game, edge] = -1, 0
    return False, 0.0


@kernel
def plant(spec, tables, trees, leaves, boards, counters, plies, repetitions, history, history_len, budget):
    """Makes a fresh root for each game; all roots become leaves."""
    moves = np.empty(trees.noise.shape[1], dtype=np.uint64)
    stack = np.empty(STACK_SHAPE, dtype=np.uint64)
    for game in range(boards.shape[0]):
        trees.nodes_used[game], trees.edges_used[game] = 1, 0
        trees.simulations[game], trees.budget[game] = 0, budget[game]
        trees.boards[game, 0], trees.counters[game, 0] = boards[game], counters[game]
        trees.plies[game, 0], trees.repetitions[game, 0] = plies[game], repetitions[game]
        trees.history[game], trees.history_len[game] = history[game], history_len[game]
        trees.reversible[game, 0] = history_len[game] - 1
        trees.keys[game, 0] = key(boards[game, 0], boards[game, 1], boards[game, 2], boards[game, 3])
        trees.parent[game, 0], trees.parent_edge[game, 0] = -1, -1
        trees.noise[game] = 0.0
        _fill_node(spec, tables, trees, game, 0, moves, stack)
        _add_leaf(trees, leaves, game, game, 0)


@kernel
def _add_leaf(trees, leaves, place, game, node):
    leaves.game[place], leaves.node[place] = game, node
    leaves.boards[place], leaves.counters[place] = trees.boards[game, node], trees.counters[game, node]
    leaves.repetitions[place], leaves.plies[place] = trees.repetitions[game, node], trees.plies[game, node]


@kernel
def _choose_puct(trees, scales, game, node):
    """The edge that maximises Q + c P sqrt(N) / (1 + n) (Silver et al. 2017), lowest index on ties.

    Edges to positions that are proven won for the opponent are left out; an unvisited edge has the value of its
    parent less a reduction (first-play urgency, as Leela Chess Zero does it).
    """
    first, count = trees.first_edge[game, node], trees.num_edges[game, node]
    seen_prior = 0.0
    for edge in range(first, first + count):
        if trees.edge_visits[game, edge] > 0:
            seen_prior += trees.prior[game, edge]
    average = trees.value[game, node] / trees.visits[game, node]
    urgency = average - scales.fpu_reduction * math.sqrt(seen_prior)
    exploration = scales.c_puct * math.sqrt(trees.visits[game, node])
    best, best_score = first, -math.inf
    for edge in range(first, first + count):
        child = trees.child[game, edge]
        if child >= 0 and trees.proven[game, child] == WIN:
            continue
        flying = trees.in_flight[game, edge]
        tries = trees.edge_visits[game, edge] + flying
        quality = urgency if tries == 0 else (trees.edge_value[game, edge] - flying) / tries
        score = quality + exploration * trees.prior[game, edge] / (1 + tries)
        if score > best_score:
            best, best_score = edge, score
    return best


@kernel
def completed_quality(trees, game, node, edge, mixed):
    """Value of an edge for the side that chooses it: exact if proven, the mean if visited, else ``mixed``."""
    child = trees.child[game, edge]
    if child >= 0 and trees.proven[game, child] != UNKNOWN:
        return -_proven_value(trees.proven[game, child])
    if trees.edge_visits[game, edge] > 0:
        return trees.edge_value[game, edge] / trees.edge_visits[game, edge]
    return mixed


@kernel
def mixed_value(trees, game, node):
    """Network value of a node mixed with the values of its visited edges, weighted by priors.

    Equation 33 of Danihelka et al., "Policy improvement by planning with Gumbel" (2022).
    """
    first, count = trees.first_edge[game, node], trees.num_edges[game, node]
    total, seen_prior, weighted = 0, 0.0, 0.0
    for edge in range(first, first + count):
        visits = trees.edge_visits[game, edge]
        if visits > 0:
            total += visits
            seen_prior += trees.prior[game, edge]
            weighted += trees.prior[game, edge] * trees.edge_value[game, edge] / visits
    if total == 0 or seen_prior <= 0.0:
        return np.float64(trees.net_value[game, node])
    return (trees.net_value[game, node] + total * weighted / seen_prior) / (1 + total)


@kernel
def most_visits(trees, game, node):
    """Largest visit count among the edges of a node."""
    first, most = trees.first_edge[game, node], 0
    for edge in range(first, first + trees.num_edges[game, node]):
        most = max(most, trees.edge_visits[game, edge])
    return most


@kernel
def considered_visits(considered, budget, simulation):
    """Visit count (int64) of the root edges that are still in the race at a simulation (sequential halving).

    ``considered`` edges share ``budget`` simulations in about log2(considered) equal rounds; after each round the
    better half goes on, two at least.
    """
    if considered <= 1:
        return simulation
    rounds = 0
    while 1 << rounds < considered:
        rounds += 1
    racing, visits, start = considered, 0, 0
    while True:
        extra = max(1, budget // (rounds * racing))
        if simulation < start + extra * racing:
            return visits + (simulation - start) // racing
        start += extra * racing
        visits += extra
        racing = max(2, racing // 2)


@kernel
def _choose_gumbel(trees, scales, game):
    """Root edge by sequential halving with Gumbel noise (Danihelka et al. 2022, algorithm 2).

    Among the edges that have the visit count of the race the best of noise + logit + sigma(Q) is visited next.
    """
    first, count = trees.first_edge[game, 0], trees.num_edges[game, 0]
    considered = min(scales.considered, count)
    wanted = considered_visits(considered, np.int64(trees.budget[game]), np.int64(trees.simulations[game]))
    scale = (scales.c_visit + most_visits(trees, game, 0)) * scales.c_scale
    mixed = mixed_value(trees, game, 0)
    best, best_score, fewest = first, -math.inf, np.int64(1 << 60)
    for edge in range(first, first + count):
        fewest = min(fewest, trees.edge_visits[game, edge] + trees.in_flight[game, edge])
    for _ in range(2):
        for edge in range(first, first + count):
            if trees.edge_visits[game, edge] + trees.in_flight[game, edge] != wanted:
                continue
            quality = completed_quality(trees, game, 0, edge, mixed)
            score = trees.noise[game, edge - first] + trees.logit[game, edge] + scale * quality
            if score > best_score:
                best, best_score = edge, score
        if best_score > -math.inf:
            break
        wanted = fewest
    return best


@kernel
def _prove(trees, game, node, proof):
    """Records a proof and everything that follows from it for the ancestors."""
    trees.proven[game, node] = proof
    node = trees.parent[game, node]
    while node >= 0 and trees.proven[game, node] == UNKNOWN:
        best = LOSS
        first = trees.first_edge[game, node]
        for edge in range(first, first + trees.num_edges[game, node]):
            child = trees.child[game, edge]
            proof = UNKNOWN if child < 0 else trees.proven[game, child]
            if proof == LOSS:
                best = WIN
                break
            if proof == UNKNOWN:
                best = UNKNOWN
            elif proof == DRAW and best == LOSS:
                best = DRAW
        if best == UNKNOWN:
            return
        trees.proven[game, node] = best
        node = trees.parent[game, node]


@kernel
def _back_up(trees, game, node, value):
    """Adds a simulation that ended in ``node`` with ``value`` for the side to move there."""
    while True:
        trees.visits[game, node] += 1
        trees.value[game, node] += value
        if trees.parent[game, node] < 0:
            return
        edge = trees.parent_edge[game, node]
        trees.edge_visits[game, edge] += 1
        trees.edge_value[game, edge] -= value
        trees.in_flight[game, edge] -= 1
        value = -value
        node = trees.parent[game, node]


@kernel
def _grow(spec, tables, trees, game, node, edge, moves, stack):
    """The new node behind an edge: (node, is terminal, value for the side to move there)."""
    child = trees.nodes_used[game]
    trees.nodes_used[game] = child + 1
    trees.child[game, edge] = child
    code = trees.move[game, edge]
    a, b = trees.boards[game, node, 0], trees.boards[game, node, 1]
    c, d = trees.boards[game, node, 2], trees.boards[game, node, 3]
    before, events = standing_laws(tables, a, b, c, d), events_of(a, code)
    a, b, c, d = play(spec, a, b, c, d, code)
    trees.boards[game, child, 0], trees.boards[game, child, 1] = a, b
    trees.boards[game, child, 2], trees.boards[game, child, 3] = c, d
    after = standing_laws(tables, a, b, c, d)
    advance_counters(tables, before, after, events, trees.counters[game, node], trees.counters[game, child])
    reversible = 0 if events & (EVENT_CAPTURE | EVENT_MAN_MOVE) else trees.reversible[game, node] + 1
    trees.reversible[game, child], trees.keys[game, child] = reversible, key(a, b, c, d)
    trees.plies[game, child] = trees.plies[game, node] + 1
    trees.parent[game, child], trees.parent_edge[game, child] = node, edge
    trees.repetitions[game, child] = _earlier_occurrences(trees, game, child, reversible)
    terminal, value = _fill_node(spec, tables, trees, game, child, moves, stack)
    return child, terminal, value


@kernel
def _pass_through(trees, game, node):
    """True if a new node is forced; it needs no answer of the network then.

    False too if its successor would take the place of a node that the other simulations may need.
    """
    needed = trees.budget[game] - trees.simulations[game]
    if trees.num_edges[game, node] != 1 or trees.nodes_used[game] + needed > trees.state.shape[1]:
        return False
    trees.state[game, node], trees.net_value[game, node] = READY, 0.0
    edge = trees.first_edge[game, node]
    trees.prior[game, edge], trees.logit[game, edge] = 1.0, 0.0
    return True


@kernel
def _simulate(spec, tables, trees, scales, game, moves, stack):
    """Walks from the root to a node that needs the network and returns it; forced nodes are passed through.

    Returns -1 if the walk ended in a known value, which has been backed up; -2 if it met a node that already waits
    for the network, in which case the walk has been undone.
    """
    node = 0
    while True:
        if node == 0 and scales.gumbel:
            edge = _choose_gumbel(trees, scales, game)
        elif trees.num_edges[game, node] == 1:
            edge = trees.first_edge[game, node]
        else:
            edge = _choose_puct(trees, scales, game, node)
        trees.in_flight[game, edge] += 1
        child = trees.child[game, edge]
        if child < 0:
            child, terminal, value = _grow(spec, tables, trees, game, node, edge, moves, stack)
            if terminal:
                _prove(trees, game, child, LOSS if value < 0 else DRAW)
                _back_up(trees, game, child, value)
                return _NOBODY
            if not _pass_through(trees, game, child):
                return child
            node = child
            continue
        node = child
        if trees.proven[game, node] != UNKNOWN:
            _back_up(trees, game, node, _proven_value(trees.proven[game, node]))
            return _NOBODY
        if trees.state[game, node] == PENDING or (trees.state[game, node] == FULL and trees.visits[game, node] == 0):
            while trees.parent[game, node] >= 0:
                trees.in_flight[game, trees.parent_edge[game, node]] -= 1
                node = trees.parent[game, node]
            return _COLLISION
        if trees.num_edges[game, node] == 0:
            _back_up(trees, game, node, np.float64(trees.net_value[game, node]))
            return _NOBODY


@kernel
def select(spec, tables, trees, scales, leaves, games, leaves_per_tree):
    """Runs simulations in every tree until it waits for the network or its budget is spent; number of leaves found.

    A tree stops early once its root is proven.
    """
    moves = np.empty(trees.noise.shape[1], dtype=np.uint64)
    stack = np.empty(STACK_SHAPE, dtype=np.uint64)
    found = 0
    for game in range(games):
        waiting = 0
        while (
            waiting < leaves_per_tree
            and trees.simulations[game] < trees.budget[game]
            and trees.proven[game, 0] == UNKNOWN
            and trees.num_edges[game, 0] > 0
        ):
            node = _simulate(spec, tables, trees, scales, game, moves, stack)
            if node == _COLLISION:
                break
            trees.simulations[game] += 1
            if node >= 0:
                _add_leaf(trees, leaves, found, game, node)
                found += 1
                waiting += 1
    return found


@kernel
def expand(trees, leaves, count, logits, values):
    """Gives each leaf its priors (softmax over legal moves) and backs up its value.

    Args:
        trees, leaves: as filled by :func:`plant` or :func:`select`.
        count: leaves in use.
        logits: float32[count, N], policy logits of the network.
        values: float32[count], values for the side to move in each leaf.
    """
    for place in range(count):
        game, node = leaves.game[place], leaves.node[place]
        first, edges = trees.first_edge[game, node], trees.num_edges[game, node]
        highest = -math.inf
        for edge in range(first, first + edges):
            logit = logits[place, trees.action[game, edge]]
            trees.logit[game, edge] = logit
            highest = max(highest, logit)
        total = 0.0
        for edge in range(first, first + edges):
            weight = math.exp(trees.logit[game, edge] - highest)
            trees.prior[game, edge] = weight
            total += weight
        for edge in range(first, first + edges):
            trees.prior[game, edge] = trees.prior[game, edge] / total
        trees.net_value[game, node] = values[place]
        if trees.state[game, node] == PENDING:
            trees.state[game, node] = READY
        _back_up(trees, game, node, np.float64(values[place]))


@kernel
def mix_root_noise(trees, games, noise, fraction):
    """Blends Dirichlet noise (float32[G, M], rows sum to 1 over the root's edges) into the root priors."""
    for game in range(games):
        first = trees.first_edge[game, 0]
        for index in range(trees.num_edges[game, 0]):
            prior = trees.prior[game, first + index]
            trees.prior[game, first + index] = (1.0 - fraction) * prior + fraction * noise[game, index]


@kernel
def read_roots(trees, scales, games, actions, counts, visits, qualities, priors, logits, values, policies, choices):
    """Copies what the search found at each root (see ``SearchResult``)."""
    for game in range(games):
        first, count = trees.first_edge[game, 0], trees.num_edges[game, 0]
        proof = trees.proven[game, 0]
        values[game] = trees.value[game, 0] / trees.visits[game, 0]
        if proof != UNKNOWN:
            values[game] = _proven_value(proof)
        counts[game] = count
        mixed = mixed_value(trees, game, 0)
        scale = (scales.c_visit + most_visits(trees, game, 0)) * scales.c_scale
        for index in range(count):
            edge = first + index
            actions[game, index], visits[game, index] = trees.action[game, edge], trees.edge_visits[game, edge]
            priors[game, index], logits[game, index] = trees.prior[game, edge], trees.logit[game, edge]
            qualities[game, index] = completed_quality(trees, game, 0, edge, mixed)
        _improved_policy(trees, scales, game, first, count, proof, scale, qualities, policies)
        choices[game] = _choice(trees, scales, game, first, count, proof, scale, qualities)


@kernel
def _excluded(trees, game, edge, proof):
    """True if proofs rule a root edge out: it loses where others may not, or is not as good as the proven result."""
    child = trees.child[game, edge]
    known = UNKNOWN if child < 0 else trees.proven[game, child]
    if proof == WIN:
        return known != LOSS
    if proof == DRAW:
        return known != DRAW
    return known == WIN and proof == UNKNOWN


@kernel
def _improved_policy(trees, scales, game, first, count, proof, scale, qualities, policies):
    """Training target: visit shares (PUCT) or softmax(logit + sigma(Q)) (Gumbel), without what proofs rule out."""
    total, highest = 0.0, -math.inf
    for index in range(count):
        if not _excluded(trees, game, first + index, proof):
            highest = max(highest, trees.logit[game, first + index] + scale * qualities[game, index])
    for index in range(count):
        edge = first + index
        weight = 0.0
        if not _excluded(trees, game, edge, proof):
            if scales.gumbel:
                weight = math.exp(trees.logit[game, edge] + scale * qualities[game, index] - highest)
            else:
                weight = np.float64(trees.edge_visits[game, edge])
        policies[game, index] = weight
        total += weight
    if total <= 0.0:
        for index in range(count):
            allowed = not _excluded(trees, game, first + index, proof)
            policies[game, index] = 1.0 if allowed else 0.0
            total += policies[game, index]
    for index in range(count):
        policies[game, index] /= total


@kernel
def _choice(trees, scales, game, first, count, proof, scale, qualities):
    """Action to play: most visits, then the better value (PUCT) or noise + logit + sigma(Q) (Gumbel)."""
    best, best_visits, best_score = -1, -1, -math.inf
    for index in range(count):
        edge = first + index
        if _excluded(trees, game, edge, proof):
            continue
        visits = trees.edge_visits[game, edge]
        score = qualities[game, index]
        if scales.gumbel:
            score = trees.noise[game, index] + trees.logit[game, edge] + scale * qualities[game, index]
        if best < 0 or visits > best_visits or (visits == best_visits and score > best_score):
            best, best_visits, best_score = index, visits, score
    return trees.action[game, first + max(best, 0)]


@kernel
def principal_variation(trees, game, out):
    """Writes the actions of the most visited line (proven wins first) into ``out`` (int16[D]); returns its length."""
    node, length = 0, 0
    while length < out.shape[0]:
        first, count = trees.first_edge[game, node], trees.num_edges[game, node]
        best, best_visits = -1, 0
        for edge in range(first, first + count):
            child = trees.child[game, edge]
            visits = trees.edge_visits[game, edge]
            if child >= 0 and trees.proven[game, child] == LOSS:
                visits = 1 << 30
            if visits > best_visits:
                best, best_visits = edge, visits
        if best < 0:
            break
        out[length] = trees.action[game, best]
        length += 1
        node = trees.child[game, best]
    return length
