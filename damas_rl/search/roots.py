"""What a finished search says: training target, choice and principal variation, read from the roots."""

import math

import numpy as np

from damas_env.kernel import kernel
from damas_rl.search.choice import completed_quality, mixed_value, owed_visits, proven_value, quality_scale
from damas_rl.tablebase.endgames import DRAW, LOSS, UNKNOWN, WIN


@kernel
def read_roots(trees, scales, games, actions, counts, visits, qualities, priors, logits, values, policies, choices):
    """Copies what the search found at each root (see ``SearchResult``)."""
    for game in range(games):
        nodes, edges = trees.nodes[game], trees.edges[game]
        root = nodes[0]
        count = root.num_edges
        values[game] = proven_value(root.proven) if root.proven != UNKNOWN else root.value / root.visits
        counts[game] = count
        scale, mixed = quality_scale(nodes, edges, scales, 0), mixed_value(nodes, edges, 0)
        for index in range(count):
            edge = edges[root.first_edge + index]
            actions[game, index], visits[game, index] = edge.action, edge.visits
            priors[game, index], logits[game, index] = edge.prior, edge.logit
            qualities[game, index] = completed_quality(edge, mixed)
        _improved_policy(root, edges, scales.gumbel, scale, qualities[game], policies[game])
        if trees.roots[game].owed > 0.0 and root.proven == UNKNOWN:
            _prune(root, edges, scales, trees.roots[game].owed, policies[game])
        choices[game] = _choice(root, edges, scales.gumbel, scale, trees.roots[game].noise, qualities[game])


@kernel
def _excluded(proven, root_proven):
    """True if proofs rule a root edge out: it loses where others may not, or is not as good as the proven result."""
    if root_proven == WIN:
        return proven != LOSS
    if root_proven == DRAW:
        return proven != DRAW
    return proven == WIN and root_proven == UNKNOWN


@kernel
def _improved_policy(root, edges, gumbel, scale, qualities, policy):
    """Training target: visit shares (PUCT) or softmax(logit + sigma(Q)) (Gumbel), without what proofs rule out."""
    total, highest = 0.0, -math.inf
    for index in range(root.num_edges):
        edge = edges[root.first_edge + index]
        if not _excluded(edge.proven, root.proven):
            highest = max(highest, edge.logit + scale * qualities[index])
    for index in range(root.num_edges):
        edge = edges[root.first_edge + index]
        weight = 0.0
        if not _excluded(edge.proven, root.proven):
            weight = np.float64(edge.visits)
            if gumbel:
                weight = math.exp(edge.logit + scale * qualities[index] - highest)
        policy[index] = weight
        total += weight
    if total <= 0.0:
        for index in range(root.num_edges):
            policy[index] = 0.0 if _excluded(edges[root.first_edge + index].proven, root.proven) else 1.0
            total += policy[index]
    for index in range(root.num_edges):
        policy[index] /= total


@kernel
def _prune(root, edges, scales, factor, policy):
    """Takes owed visits out of the visit shares (policy target pruning, Wu 2019, section 3.2).

    An edge loses up to its owed visits, as long as PUCT still prefers the most visited one; an edge that is left
    with a single visit loses that too.
    """
    best, most = root.first_edge, 0
    for index in range(root.num_edges):
        place = root.first_edge + index
        if policy[index] > 0.0 and edges[place].visits > most:
            best, most = place, edges[place].visits
    if most == 0:
        return
    exploration = scales.c_puct * math.sqrt(root.visits)
    wanted = edges[best].value / most + exploration * edges[best].prior / (1 + most)
    total = 0.0
    for index in range(root.num_edges):
        place = root.first_edge + index
        edge = edges[place]
        if policy[index] <= 0.0:
            continue
        kept = np.float64(edge.visits)
        if place != best:
            quality = edge.value / edge.visits
            if quality < wanted:
                needed = math.ceil(exploration * edge.prior / (wanted - quality)) - 1
                least = kept - math.floor(owed_visits(root, edge, factor))
                kept = min(kept, max(needed, least))
            if kept <= 1.0:
                kept = 0.0
        policy[index] = kept
        total += kept
    for index in range(root.num_edges):
        policy[index] /= total


@kernel
def _choice(root, edges, gumbel, scale, noise, qualities):
    """Action to play: most visits, then the better value (PUCT) or noise + logit + sigma(Q) (Gumbel)."""
    best, best_visits, best_score = 0, -1, -math.inf
    for index in range(root.num_edges):
        edge = edges[root.first_edge + index]
        if _excluded(edge.proven, root.proven):
            continue
        score = np.float64(qualities[index])
        if gumbel:
            score = noise[index] + edge.logit + scale * qualities[index]
        if edge.visits > best_visits or (edge.visits == best_visits and score > best_score):
            best, best_visits, best_score = index, edge.visits, score
    return edges[root.first_edge + best].action


@kernel
def principal_variation(trees, game, out):
    """Writes the actions of the most visited line (proven wins first) into ``out`` (int16[D]); returns its length."""
    nodes, edges = trees.nodes[game], trees.edges[game]
    index, length = 0, 0
    while length < out.shape[0]:
        node, best, best_visits = nodes[index], -1, 0
        for place in range(node.first_edge, node.first_edge + node.num_edges):
            edge = edges[place]
            visits = 1 << 30 if edge.proven == LOSS else edge.visits
            if visits > best_visits:
                best, best_visits = place, visits
        if best < 0:
            break
        out[length] = edges[best].action
        length += 1
        index = edges[best].child
    return length
