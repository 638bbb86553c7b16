"""The kernels that grow search trees (see ``pools`` for their memory): plant roots, select leaves, expand them.

The backup flips the sign of a value once per ply, since players always alternate. A node with a lost child is won; a
node all of whose children are proven takes the best of them (Winands, Björnsson and Saito, "Monte-Carlo Tree Search
Solver", 2008).

Endgame tables are asked at every new node: what they know for certain ends a simulation as the end of a game does.

A position with a single legal move is not worth a question to the network: its value is that of what follows. A new
node of that kind (a *forced* node) is passed through, and the simulation goes on to the first position with a choice.

Draw counters and repetitions are those of the real path: each node knows its ancestors and the game's history before
the root, so nothing is shared between transpositions that the rules would treat differently.
"""

import math

import numpy as np

from damas_env.actions import encode
from damas_env.kernel import kernel
from damas_env.movegen import WORK, generate, play
from damas_env.outcome import advance_counters, events_of, judge, key, standing_laws
from damas_env.rules import EVENT_CAPTURE, EVENT_MAN_MOVE, MAX_COUNTERS
from damas_rl.search.choice import choose_gumbel, choose_puct, choose_root, proven_value
from damas_rl.search.pools import FULL, PENDING, READY, TABLED
from damas_rl.tablebase.endgames import DRAW, LOSS, UNKNOWN, WIN, verdict

_NOBODY, _COLLISION = -1, -2
_LIKELY = 0.9
"""Value of a position that the table holds for won while a draw law may still strike: it is searched on."""


@kernel
def _earlier_occurrences(nodes, root, index, reversible):
    """Earlier positions of the game, in the tree or before its root, that equal a node's (same side to move)."""
    wanted, seen, distance, before_root = nodes[index].key, 0, 0, 0
    while distance + 2 <= reversible:
        distance += 2
        for _ in range(2):
            if before_root == 0 and nodes[index].parent >= 0:
                index = nodes[index].parent
            else:
                before_root += 1
        if before_root == 0:
            seen += nodes[index].key == wanted
        else:
            place = root.history_len - 1 - before_root
            if place < 0:
                break
            seen += root.history[place] == wanted
    return seen


@kernel
def _fill_node(spec, tables, endgames, nodes, edges, root, index, work):
    """Edges of a node whose boards, counters, laws, plies and repetitions are set.

    Returns what is known of it for certain (``UNKNOWN`` at the root), because the game is over there or by the
    endgame table; it has no edges then.
    """
    node = nodes[index]
    a, b, c, d = node.boards[0], node.boards[1], node.boards[2], node.boards[3]
    count = generate(spec, a, b, c, d, work)
    first = root.edges_used
    node.first_edge, node.num_edges = first, 0
    node.visits, node.value, node.explored = 0, 0.0, 0.0
    node.proven, node.state = UNKNOWN, PENDING
    if node.parent >= 0:
        laws = np.int64(node.laws)
        if judge(tables, count, a | b, laws, node.counters, node.repetitions, node.plies) != 0:
            return LOSS if count == 0 else DRAW
        proof, result, distance = verdict(
            spec, tables, endgames, a, b, c, d, laws, node.counters, node.reversible, node.plies
        )
        if proof != UNKNOWN:
            return proof
        if distance >= 0:
            node.state, node.net_value = TABLED, _LIKELY * result
    if first + count > edges.shape[0]:
        node.state = FULL
        return UNKNOWN
    node.num_edges = count
    root.edges_used = first + count
    encode(spec, count, work)
    for place in range(count):
        edge = edges[first + place]
        edge.move, edge.action = work.moves[place], work.actions[place]
        edge.visits, edge.value = 0, 0.0
        edge.child, edge.in_flight, edge.proven = -1, 0, UNKNOWN
    return UNKNOWN


@kernel
def plant(spec, tables, endgames, trees, leaves, boards, counters, plies, repetitions, history, history_len, budget):
    """Makes a fresh root for each game; all roots become leaves."""
    work = np.empty(1, WORK)[0]
    for game in range(boards.shape[0]):
        nodes, edges, root = trees.nodes[game], trees.edges[game], trees.roots[game]
        root.nodes_used, root.edges_used = 1, 0
        root.simulations, root.budget = 0, budget[game]
        root.history_len = history_len[game]
        for place in range(history_len[game]):
            root.history[place] = history[game, place]
        root.owed, root.noise[:] = 0.0, 0.0
        node = nodes[0]
        a, b, c, d = boards[game, 0], boards[game, 1], boards[game, 2], boards[game, 3]
        node.boards[0], node.boards[1], node.boards[2], node.boards[3] = a, b, c, d
        for counter in range(MAX_COUNTERS):
            node.counters[counter] = counters[game, counter]
        node.plies, node.repetitions = plies[game], repetitions[game]
        node.reversible = history_len[game] - 1
        node.key, node.laws = key(a, b, c, d), standing_laws(tables, a, b, c, d)
        node.parent, node.parent_edge = -1, -1
        _fill_node(spec, tables, endgames, nodes, edges, root, 0, work)
        _add_leaf(leaves, game, game, nodes, 0)


@kernel
def _add_leaf(leaves, place, game, nodes, index):
    node = nodes[index]
    leaves.game[place], leaves.node[place] = game, index
    for word in range(4):
        leaves.boards[place, word] = node.boards[word]
    for counter in range(MAX_COUNTERS):
        leaves.counters[place, counter] = node.counters[counter]
    leaves.repetitions[place], leaves.plies[place] = node.repetitions, node.plies


@kernel
def _prove(nodes, edges, index, proof):
    """Records a proof and everything that follows from it for the ancestors."""
    while True:
        node = nodes[index]
        node.proven = proof
        if node.parent < 0:
            return
        edges[node.parent_edge].proven = proof
        index = node.parent
        parent = nodes[index]
        if parent.proven != UNKNOWN:
            return
        proof = LOSS
        for place in range(parent.first_edge, parent.first_edge + parent.num_edges):
            known = edges[place].proven
            if known == LOSS:
                proof = WIN
                break
            if known == UNKNOWN:
                proof = UNKNOWN
            elif known == DRAW and proof == LOSS:
                proof = DRAW
        if proof == UNKNOWN:
            return


@kernel
def _back_up(nodes, edges, index, value):
    """Adds a simulation that ended in a node with ``value`` for the side to move there."""
    while True:
        node = nodes[index]
        node.visits += 1
        node.value += value
        if node.parent < 0:
            return
        edge = edges[node.parent_edge]
        if edge.visits == 0:
            nodes[node.parent].explored += edge.prior
        edge.visits += 1
        edge.value -= value
        edge.in_flight -= 1
        value = -value
        index = node.parent


@kernel
def _grow(spec, tables, endgames, nodes, edges, root, index, place, work):
    """The new node behind an edge, and what is known of it for certain."""
    new = np.int64(root.nodes_used)
    root.nodes_used = new + 1
    node, child, code = nodes[index], nodes[new], edges[place].move
    edges[place].child = new
    a, b, c, d = node.boards[0], node.boards[1], node.boards[2], node.boards[3]
    events = events_of(a, code)
    a, b, c, d = play(spec, a, b, c, d, code)
    child.boards[0], child.boards[1], child.boards[2], child.boards[3] = a, b, c, d
    after = standing_laws(tables, a, b, c, d)
    advance_counters(tables, np.int64(node.laws), after, events, node.counters, child.counters)
    reversible = 0 if events & (EVENT_CAPTURE | EVENT_MAN_MOVE) else node.reversible + 1
    child.laws, child.reversible, child.key = after, reversible, key(a, b, c, d)
    child.plies = node.plies + 1
    child.parent, child.parent_edge = index, place
    child.repetitions = _earlier_occurrences(nodes, root, new, reversible)
    return new, _fill_node(spec, tables, endgames, nodes, edges, root, new, work)


@kernel
def _pass_through(nodes, edges, root, index):
    """True if a new node is forced; it needs no answer of the network then.

    False too if its successor would take the place of a node that the other simulations may need.
    """
    node, needed = nodes[index], root.budget - root.simulations
    if node.num_edges != 1 or root.nodes_used + needed > nodes.shape[0]:
        return False
    if node.state != TABLED:
        node.net_value = 0.0
    node.state = READY
    edge = edges[node.first_edge]
    edge.prior, edge.logit = 1.0, 0.0
    return True


@kernel
def _simulate(spec, tables, endgames, nodes, edges, root, scales, work):
    """Walks from the root to a node that needs the network and returns it; forced nodes are passed through.

    Returns -1 if the walk ended in a known value, which has been backed up; -2 if it met a node that already waits
    for the network, in which case the walk has been undone.
    """
    index = np.int64(0)
    while True:
        if index == 0 and scales.gumbel:
            place = choose_gumbel(nodes, edges, root, scales)
        elif nodes[index].num_edges == 1:
            place = np.int64(nodes[index].first_edge)
        elif index == 0:
            place = choose_root(nodes, edges, root, scales)
        else:
            place = choose_puct(nodes, edges, scales, index)
        edges[place].in_flight += 1
        child = np.int64(edges[place].child)
        if child < 0:
            child, proof = _grow(spec, tables, endgames, nodes, edges, root, index, place, work)
            if proof != UNKNOWN:
                _prove(nodes, edges, child, proof)
                _back_up(nodes, edges, child, proven_value(proof))
                return _NOBODY
            if not _pass_through(nodes, edges, root, child):
                return child
            index = child
            continue
        index = child
        node = nodes[index]
        if node.proven != UNKNOWN:
            _back_up(nodes, edges, index, proven_value(node.proven))
            return _NOBODY
        if node.state == PENDING or node.state == TABLED or (node.state == FULL and node.visits == 0):
            while nodes[index].parent >= 0:
                edges[nodes[index].parent_edge].in_flight -= 1
                index = np.int64(nodes[index].parent)
            return _COLLISION
        if node.num_edges == 0:
            _back_up(nodes, edges, index, np.float64(node.net_value))
            return _NOBODY


@kernel
def select(spec, tables, endgames, trees, scales, leaves, games, leaves_per_tree):
    """Runs simulations in every tree until it waits for the network or its budget is spent; number of leaves found.

    A tree stops early once its root is proven.
    """
    work = np.empty(1, WORK)[0]
    found = 0
    for game in range(games):
        nodes, edges, root = trees.nodes[game], trees.edges[game], trees.roots[game]
        waiting = 0
        while (
            waiting < leaves_per_tree
            and root.simulations < root.budget
            and nodes[0].proven == UNKNOWN
            and nodes[0].num_edges > 0
        ):
            leaf = _simulate(spec, tables, endgames, nodes, edges, root, scales, work)
            if leaf == _COLLISION:
                break
            root.simulations += 1
            if leaf >= 0:
                _add_leaf(leaves, found, game, nodes, leaf)
                found += 1
                waiting += 1
    return found


@kernel
def expand(trees, leaves, count, logits, values, temperature):
    """Gives each leaf its priors (softmax over legal moves) and backs up its value.

    Args:
        trees, leaves: as filled by :func:`plant` or :func:`select`.
        count: leaves in use.
        logits: float32[count, N], policy logits of the network.
        values: float32[count], values for the side to move in each leaf.
        temperature: of the softmax.
    """
    for leaf in range(count):
        game, index = leaves.game[leaf], np.int64(leaves.node[leaf])
        nodes, edges = trees.nodes[game], trees.edges[game]
        node = nodes[index]
        first, end = node.first_edge, node.first_edge + node.num_edges
        highest = -math.inf
        for place in range(first, end):
            edge = edges[place]
            edge.logit = logits[leaf, edge.action]
            highest = max(highest, edge.logit)
        total = 0.0
        for place in range(first, end):
            edge = edges[place]
            weight = math.exp((edge.logit - highest) / temperature)
            edge.prior = weight
            total += weight
        for place in range(first, end):
            edges[place].prior /= total
        if node.state != TABLED:
            node.net_value = values[leaf]
        if node.state != FULL:
            node.state = READY
        _back_up(nodes, edges, index, np.float64(node.net_value))


@kernel
def mix_root_noise(trees, games, noise, fraction):
    """Blends Dirichlet noise (float32[G, M], rows sum to 1 over the root's edges) into the root priors."""
    for game in range(games):
        root, edges = trees.nodes[game, 0], trees.edges[game]
        for index in range(root.num_edges):
            edge = edges[root.first_edge + index]
            edge.prior = (1.0 - fraction) * edge.prior + fraction * noise[game, index]
