"""Legal moves and perft: kernels over bitboards, specialised by a :class:`~damas_env.kernel.Spec`.

Boards are given as four uint64 words (own men, own kings, other men, other kings) in the view of the side to move;
a move is one uint64 code (see :func:`pack`). Capture chains are searched with an explicit stack that the caller owns.
"""

import numpy as np

from damas_env.board import DOWN_LEFT, GEOMETRY, RAYS_6, RAYS_8, RAYS_10, UP_LEFT, UP_RIGHT
from damas_env.kernel import flags_of, highest, kernel, lowest, popcount, reverse_bits
from damas_env.rules import (
    FLYING_KINGS,
    KING_LANDS_ADJACENT,
    MAJORITY_KINGS,
    MAJORITY_QUANTITY,
    MEN_CAPTURE_BACKWARD,
    MEN_CAPTURE_KINGS,
    PROMOTION_CONTINUE,
    PROMOTION_STOP,
    REMOVE_AT_END,
    SIZE_MASK,
)

STACK_SHAPE = (21, 6)
"""Shape of the uint64 work space of :func:`generate`: one row for each piece captured so far."""

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_BOARD_6, _BOARD_8, _BOARD_10 = (np.uint64(GEOMETRY[size].board) for size in (6, 8, 10))
_LENGTH_6, _LENGTH_8, _LENGTH_10 = (GEOMETRY[size].length for size in (6, 8, 10))
_TOP_6, _TOP_8, _TOP_10 = (
    np.uint64(sum(1 << int(bit) for bit in GEOMETRY[size].bit_of_view[: size // 2])) for size in (6, 8, 10)
)
_FROM_SHIFT, _TO_SHIFT = np.uint64(58), np.uint64(52)
_SIX_BITS = np.uint64(63)
_PROMOTES = np.uint64(1)
_CAPTURED = np.uint64((1 << 51) - 1)

# 10x10 has 55 bits with its five ghosts; a move code has room for 50, so the ghosts are squeezed out there.
_GROUPS_10 = np.array(
    [[0, 5, 0], [6, 10, 1], [17, 10, 2], [28, 10, 3], [39, 10, 4], [50, 5, 5]], dtype=np.int64
)  # first bit, bits, ghosts below


@kernel
def board_mask(spec):
    """All playable bits (uint64)."""
    size = flags_of(spec) & SIZE_MASK
    if size == 8:
        return _BOARD_8
    if size == 10:
        return _BOARD_10
    return _BOARD_6


@kernel
def crowning_row(spec):
    """The bits of the row farthest from the side to move (uint64)."""
    size = flags_of(spec) & SIZE_MASK
    if size == 8:
        return _TOP_8
    if size == 10:
        return _TOP_10
    return _TOP_6


@kernel
def turn(spec, word):
    """A bitboard turned by 180 degrees."""
    size = flags_of(spec) & SIZE_MASK
    if size == 8:
        return reverse_bits(word) >> np.uint64(64 - _LENGTH_8)
    if size == 10:
        return reverse_bits(word) >> np.uint64(64 - _LENGTH_10)
    return reverse_bits(word) >> np.uint64(64 - _LENGTH_6)


@kernel
def ray(spec, direction, bit):
    """All bits beyond ``bit`` in one of the four directions, up to the edge."""
    size = flags_of(spec) & SIZE_MASK
    if size == 8:
        return RAYS_8[direction, bit]
    if size == 10:
        return RAYS_10[direction, bit]
    return RAYS_6[direction, bit]


@kernel
def nearest(direction, word):
    """Index of the bit of a non-empty ray that is nearest to its origin."""
    if direction <= UP_RIGHT:
        return lowest(word)
    return highest(word)


@kernel
def step(spec, direction, word):
    """A bitboard moved one step in a direction; steps off the board land on ghost bits or vanish."""
    half = np.uint64((flags_of(spec) & SIZE_MASK) >> 1)
    if direction == UP_LEFT:
        return word << half
    if direction == UP_RIGHT:
        return word << (half + _ONE)
    if direction == DOWN_LEFT:
        return word >> (half + _ONE)
    return word >> half


@kernel
def pack(spec, origin, target, captured, promotes):
    """The code of a move: ``origin << 58 | target << 52 | captured set << 1 | promotes`` (uint64)."""
    if (flags_of(spec) & SIZE_MASK) == 10:
        squeezed = _ZERO
        for group in range(6):
            first, width, ghosts = _GROUPS_10[group, 0], _GROUPS_10[group, 1], _GROUPS_10[group, 2]
            part = (captured >> np.uint64(first)) & ((_ONE << np.uint64(width)) - _ONE)
            squeezed |= part << np.uint64(first - ghosts)
        captured = squeezed
    code = (np.uint64(origin) << _FROM_SHIFT) | (np.uint64(target) << _TO_SHIFT) | (captured << _ONE)
    if promotes:
        code |= _PROMOTES
    return code


@kernel
def move_from(code):
    """Bit index of the origin of a move (int64)."""
    return np.int64(code >> _FROM_SHIFT)


@kernel
def move_to(code):
    """Bit index of the target of a move (int64)."""
    return np.int64((code >> _TO_SHIFT) & _SIX_BITS)


@kernel
def move_captured(spec, code):
    """Bitboard of the pieces that a move captures."""
    captured = (code & _CAPTURED) >> _ONE
    if (flags_of(spec) & SIZE_MASK) == 10:
        spread = _ZERO
        for group in range(6):
            first, width, ghosts = _GROUPS_10[group, 0], _GROUPS_10[group, 1], _GROUPS_10[group, 2]
            part = (captured >> np.uint64(first - ghosts)) & ((_ONE << np.uint64(width)) - _ONE)
            spread |= part << np.uint64(first)
        captured = spread
    return captured


@kernel
def is_capture(code):
    """True if the move captures something."""
    return (code & _CAPTURED) > _ONE


@kernel
def play(spec, own_men, own_kings, other_men, other_kings, code):
    """Boards after a move, in the view of the side that moves next: (own men, own kings, other men, other kings)."""
    origin, target = _ONE << (code >> _FROM_SHIFT), _ONE << ((code >> _TO_SHIFT) & _SIX_BITS)
    if own_men & origin:
        own_men ^= origin
        if code & _PROMOTES:
            own_kings |= target
        else:
            own_men |= target
    else:
        own_kings = (own_kings ^ origin) | target
    if is_capture(code):
        kept = ~move_captured(spec, code)
        other_men &= kept
        other_kings &= kept
    return turn(spec, other_men), turn(spec, other_kings), turn(spec, own_men), turn(spec, own_kings)


@kernel
def _men_that_capture(spec, own_men, victims, empty):
    """The men that have at least one piece to jump."""
    flags = flags_of(spec)
    near = np.uint64((flags & SIZE_MASK) >> 1)
    far = near + _ONE
    jumpers = (victims >> near) & (empty >> (near + near))
    jumpers |= (victims >> far) & (empty >> (far + far))
    if flags & MEN_CAPTURE_BACKWARD:
        jumpers |= (victims << near) & (empty << (near + near))
        jumpers |= (victims << far) & (empty << (far + far))
    return jumpers & own_men


@kernel
def _jump(spec, king, square, direction, blockers, men, kings):
    """(victim bit, landing squares) of a piece on bit ``square`` in one direction; (0, 0) if it cannot jump.

    ``men`` and ``kings`` are the pieces that may still be captured.
    """
    flags = flags_of(spec)
    free = board_mask(spec) & ~blockers
    if king and flags & FLYING_KINGS:
        seen = ray(spec, direction, square) & blockers
        if seen == _ZERO:
            return _ZERO, _ZERO
        hit = nearest(direction, seen)
        victim = _ONE << np.uint64(hit)
        if victim & (men | kings) == _ZERO:
            return _ZERO, _ZERO
        beyond = ray(spec, direction, hit)
        stop = beyond & blockers
        if flags & KING_LANDS_ADJACENT:
            landing = step(spec, direction, victim) & free
        elif stop == _ZERO:
            landing = beyond
        else:
            end = nearest(direction, stop)
            landing = beyond & ~(ray(spec, direction, end) | (_ONE << np.uint64(end)))
        return victim, landing
    if not king and direction >= DOWN_LEFT and not flags & MEN_CAPTURE_BACKWARD:
        return _ZERO, _ZERO
    victims = men
    if king or flags & MEN_CAPTURE_KINGS:
        victims |= kings
    victim = step(spec, direction, _ONE << np.uint64(square)) & victims
    return victim, step(spec, direction, victim) & free


@kernel
def _can_capture(spec, king, square, blockers, men, kings):
    for direction in range(4):
        _, landing = _jump(spec, king, square, direction, blockers, men, kings)
        if landing != _ZERO:
            return True
    return False


@kernel
def _piece_captures(spec, start, is_king, occupied, other_men, other_kings, moves, count, best, stack):
    """Adds the captures of one piece to ``moves``; returns (count, best score) with shorter captures dropped.

    Depth-first over jumps. The state of the jump in hand is in local variables, the states above it on ``stack``:
    square, captured set, next direction, landing squares still to try, victim, flags (1 = found a jump, 2 = king).
    """
    flags = flags_of(spec)
    top = crowning_row(spec)
    occupied &= ~(_ONE << np.uint64(start))
    square, captured, direction, landings, victim = np.int64(start), _ZERO, 0, _ZERO, _ZERO
    king, found, level = is_king, False, 0
    while True:
        if landings != _ZERO:
            target = lowest(landings)
            landings &= landings - _ONE
            stack[level, 0], stack[level, 1], stack[level, 2] = np.uint64(square), captured, np.uint64(direction)
            stack[level, 3], stack[level, 4] = landings, victim
            stack[level, 5] = np.uint64(1 + 2 * king)
            level += 1
            square, captured, direction, landings, found = target, captured | victim, 0, _ZERO, False
            if not king and (top >> np.uint64(target)) & _ONE:
                if flags & PROMOTION_CONTINUE:
                    king = True
                elif flags & PROMOTION_STOP:
                    direction = 4
        elif direction < 4:
            blockers, men, kings = occupied, other_men & ~captured, other_kings & ~captured
            if not flags & REMOVE_AT_END:
                blockers &= ~captured
            victim, landings = _jump(spec, king, square, direction, blockers, men, kings)
            direction += 1
            if landings != _ZERO:
                found = True
                if king and flags & FLYING_KINGS and not flags & MAJORITY_QUANTITY:
                    # Without a majority law a capture must still be completed: where some landing squares of one
                    # jump allow a further jump, only those may be chosen.
                    men, kings = men & ~victim, kings & ~victim
                    if not flags & REMOVE_AT_END:
                        blockers &= ~victim
                    rest, going_on = landings, _ZERO
                    while rest != _ZERO:
                        target = lowest(rest)
                        rest &= rest - _ONE
                        if _can_capture(spec, king, target, blockers, men, kings):
                            going_on |= _ONE << np.uint64(target)
                    if going_on != _ZERO:
                        landings = going_on
        else:
            if not found and level > 0:
                score = 0
                if flags & MAJORITY_QUANTITY:
                    score = popcount(captured)
                    if flags & MAJORITY_KINGS:
                        score = 32 * score + popcount(captured & other_kings)
                if score > best:
                    best, count = score, 0
                if score == best:
                    promotes = not is_king and (king or (top >> np.uint64(square)) & _ONE != _ZERO)
                    code = pack(spec, start, square, captured, promotes)
                    known = False
                    for other in range(count):
                        known |= moves[other] == code
                    if not known and count < moves.shape[0]:
                        moves[count] = code
                        count += 1
            if level == 0:
                return count, best
            level -= 1
            square, captured, direction = np.int64(stack[level, 0]), stack[level, 1], np.int64(stack[level, 2])
            landings, victim = stack[level, 3], stack[level, 4]
            found, king = True, stack[level, 5] >= np.uint64(2)


@kernel
def captures(spec, own_men, own_kings, other_men, other_kings, moves, stack):
    """Writes the legal captures (unsorted) into ``moves`` and returns their number; 0 if nothing can be captured."""
    flags = flags_of(spec)
    occupied = own_men | own_kings | other_men | other_kings
    victims = other_men
    if flags & MEN_CAPTURE_KINGS:
        victims |= other_kings
    count, best = 0, 0
    movers = _men_that_capture(spec, own_men, victims, board_mask(spec) & ~occupied)
    while movers != _ZERO:
        square = lowest(movers)
        movers &= movers - _ONE
        count, best = _piece_captures(spec, square, False, occupied, other_men, other_kings, moves, count, best, stack)
    movers = own_kings
    while movers != _ZERO:
        square = lowest(movers)
        movers &= movers - _ONE
        count, best = _piece_captures(spec, square, True, occupied, other_men, other_kings, moves, count, best, stack)
    return count


@kernel
def _king_targets(spec, square, occupied):
    """Squares that a king on bit ``square`` reaches without capturing."""
    targets = _ZERO
    if flags_of(spec) & FLYING_KINGS:
        for direction in range(4):
            beyond = ray(spec, direction, square)
            stop = beyond & occupied
            if stop != _ZERO:
                end = nearest(direction, stop)
                beyond &= ~(ray(spec, direction, end) | (_ONE << np.uint64(end)))
            targets |= beyond
        return targets
    for direction in range(4):
        targets |= step(spec, direction, _ONE << np.uint64(square))
    return targets & board_mask(spec) & ~occupied


@kernel
def generate(spec, own_men, own_kings, other_men, other_kings, moves, stack):
    """Writes the legal moves into ``moves`` in canonical (ascending) order and returns their number.

    Args:
        spec: movement flags.
        own_men, own_kings, other_men, other_kings: uint64 boards in the view of the side to move.
        moves: uint64[max_moves], receives the move codes.
        stack: uint64[STACK_SHAPE], work space.
    """
    count = captures(spec, own_men, own_kings, other_men, other_kings, moves, stack)
    if count > 0:
        for index in range(1, count):
            code, place = moves[index], index
            while place > 0 and moves[place - 1] > code:
                moves[place] = moves[place - 1]
                place -= 1
            moves[place] = code
        return count
    occupied = own_men | own_kings | other_men | other_kings
    empty = board_mask(spec) & ~occupied
    top = crowning_row(spec)
    movers = own_men | own_kings
    while movers != _ZERO:
        square = lowest(movers)
        origin = _ONE << np.uint64(square)
        movers &= movers - _ONE
        crowned = _ZERO
        if own_men & origin:
            targets = (step(spec, UP_LEFT, origin) | step(spec, UP_RIGHT, origin)) & empty
            crowned = top
        else:
            targets = _king_targets(spec, square, occupied)
        while targets != _ZERO:
            target = lowest(targets)
            targets &= targets - _ONE
            if count < moves.shape[0]:
                moves[count] = pack(spec, square, target, _ZERO, (crowned >> np.uint64(target)) & _ONE != _ZERO)
                count += 1
    return count


@kernel
def count_moves(spec, own_men, own_kings, other_men, other_kings, moves, stack):
    """Number of legal moves; ``moves`` and ``stack`` are work space."""
    count = captures(spec, own_men, own_kings, other_men, other_kings, moves, stack)
    if count > 0:
        return count
    occupied = own_men | own_kings | other_men | other_kings
    empty = board_mask(spec) & ~occupied
    count = popcount(step(spec, UP_LEFT, own_men) & empty) + popcount(step(spec, UP_RIGHT, own_men) & empty)
    movers = own_kings
    while movers != _ZERO:
        square = lowest(movers)
        movers &= movers - _ONE
        count += popcount(_king_targets(spec, square, occupied))
    return count


@kernel
def perft(spec, boards, depth, max_moves):
    """Number of leaves of the move tree ``depth`` plies deep, the last ply counted without being played.

    -1 if a position on the way has as many moves as there is room for, or more.

    Args:
        spec: movement flags.
        boards: uint64[4] in the view of the side to move.
        depth: plies, at least 1.
        max_moves: room for the moves of one position.
    """
    moves = np.empty((depth, max_moves), dtype=np.uint64)
    path = np.empty((depth, 4), dtype=np.uint64)
    counts = np.zeros(depth, dtype=np.int64)
    nexts = np.zeros(depth, dtype=np.int64)
    stack = np.empty(STACK_SHAPE, dtype=np.uint64)
    if depth == 1:
        count = count_moves(spec, boards[0], boards[1], boards[2], boards[3], moves[0], stack)
        return count if count < max_moves else -1
    path[0] = boards
    counts[0] = generate(spec, boards[0], boards[1], boards[2], boards[3], moves[0], stack)
    leaves, level = 0, 0
    while level >= 0:
        if nexts[level] == counts[level]:
            if counts[level] == max_moves:
                return -1
            level -= 1
            continue
        code = moves[level, nexts[level]]
        nexts[level] += 1
        a, b, c, d = play(spec, path[level, 0], path[level, 1], path[level, 2], path[level, 3], code)
        if level + 2 == depth:
            count = count_moves(spec, a, b, c, d, moves[level + 1], stack)
            if count >= max_moves:
                return -1
            leaves += count
        else:
            level += 1
            path[level, 0], path[level, 1], path[level, 2], path[level, 3] = a, b, c, d
            counts[level] = generate(spec, a, b, c, d, moves[level], stack)
            nexts[level] = 0
    return leaves
