"""Which edge a simulation follows: PUCT anywhere, sequential halving with Gumbel noise at the root."""

import math

import numpy as np

from damas_env.kernel import kernel
from damas_rl.tablebase.endgames import LOSS, UNKNOWN, WIN


@kernel
def proven_value(proven):
    """Exact value of a proven position for its side to move."""
    if proven == WIN:
        return 1.0
    if proven == LOSS:
        return -1.0
    return 0.0


@kernel
def choose_puct(nodes, edges, scales, index):
    """The edge that maximises Q + c P sqrt(N) / (1 + n) (Silver et al. 2017), lowest index on ties.

    Edges to positions that are proven won for the opponent are left out; an unvisited edge has the value of its
    parent less a reduction (first-play urgency, as Leela Chess Zero does it).
    """
    node = nodes[index]
    urgency = node.value / node.visits - scales.fpu_reduction * math.sqrt(node.explored)
    exploration = scales.c_puct * math.sqrt(node.visits)
    best, best_score = node.first_edge, -math.inf
    for place in range(node.first_edge, node.first_edge + node.num_edges):
        edge = edges[place]
        if edge.proven == WIN:
            continue
        tries = edge.visits + edge.in_flight
        quality = urgency if tries == 0 else (edge.value - edge.in_flight) / tries
        score = quality + exploration * edge.prior / (1 + tries)
        if score > best_score:
            best, best_score = place, score
    return best


@kernel
def owed_visits(node, edge, factor):
    """Visits that an edge of an exploring root is to have at least: sqrt(factor P N) (Wu 2019, section 3.2)."""
    return math.sqrt(factor * edge.prior * node.visits)


@kernel
def choose_root(nodes, edges, root, scales):
    """The root edge by PUCT; where playouts are forced, the first edge that has been visited, but not often enough."""
    node = nodes[0]
    if root.owed > 0.0:
        for place in range(node.first_edge, node.first_edge + node.num_edges):
            edge = edges[place]
            tries = edge.visits + edge.in_flight
            if 0 < tries < owed_visits(node, edge, root.owed) and edge.proven == UNKNOWN:
                return np.int64(place)
    return np.int64(choose_puct(nodes, edges, scales, 0))


@kernel
def completed_quality(edge, mixed):
    """Value of an edge for the side that chooses it: exact if proven, the mean if visited, else ``mixed``."""
    if edge.proven != UNKNOWN:
        return -proven_value(edge.proven)
    if edge.visits > 0:
        return edge.value / edge.visits
    return mixed


@kernel
def mixed_value(nodes, edges, index):
    """Network value of a node mixed with the values of its visited edges, weighted by priors.

    Equation 33 of Danihelka et al., "Policy improvement by planning with Gumbel" (2022).
    """
    node = nodes[index]
    total, weighted = 0, 0.0
    for place in range(node.first_edge, node.first_edge + node.num_edges):
        edge = edges[place]
        if edge.visits > 0:
            total += edge.visits
            weighted += edge.prior * edge.value / edge.visits
    if total == 0 or node.explored <= 0.0:
        return np.float64(node.net_value)
    return (node.net_value + total * weighted / node.explored) / (1 + total)


@kernel
def quality_scale(nodes, edges, scales, index):
    """What Q is multiplied by before it is added to a logit: (c_visit + most visits of an edge) c_scale."""
    node, most = nodes[index], 0
    for place in range(node.first_edge, node.first_edge + node.num_edges):
        most = max(most, edges[place].visits)
    return (scales.c_visit + most) * scales.c_scale


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
def choose_gumbel(nodes, edges, root, scales):
    """Root edge by sequential halving with Gumbel noise (Danihelka et al. 2022, algorithm 2).

    Among the edges that have the visit count of the race the best of noise + logit + sigma(Q) is visited next.
    """
    first, count = np.int64(nodes[0].first_edge), np.int64(nodes[0].num_edges)
    considered = min(scales.considered, count)
    wanted = considered_visits(considered, np.int64(root.budget), np.int64(root.simulations))
    scale, mixed = quality_scale(nodes, edges, scales, 0), mixed_value(nodes, edges, 0)
    best, best_score, fewest = first, -math.inf, np.int64(1 << 60)
    for place in range(first, first + count):
        fewest = min(fewest, edges[place].visits + edges[place].in_flight)
    for _ in range(2):
        for place in range(first, first + count):
            edge = edges[place]
            if edge.visits + edge.in_flight != wanted:
                continue
            score = root.noise[place - first] + edge.logit + scale * completed_quality(edge, mixed)
            if score > best_score:
                best, best_score = place, score
        if best_score > -math.inf:
            break
        wanted = fewest
    return best
