"""Legal moves and perft: kernels over bitboards, specialised by a :class:`~damas_env.kernel.Spec`.

Boards are given as four uint64 words (own men, own kings, other men, other kings) in the view of the side to move;
a move is one uint64 code (see :func:`pack`). Capture chains are searched with an explicit stack that the caller owns
(see :data:`WORK`); a word of it is a capture so far: ``square << 58 | king << 55 | captured set``.
"""

import numpy as np

from damas_env.board import DOWN_LEFT, DOWN_RIGHT, GEOMETRY, RAYS_6, RAYS_8, RAYS_10, UP_LEFT, UP_RIGHT
from damas_env.kernel import flags_of, highest, kernel, lowest, popcount, reverse_bits
from damas_env.rules import (
    FLYING_KINGS,
    KING_LANDS_ADJACENT,
    MAJORITY_KINGS,
    MAJORITY_QUANTITY,
    MEN_CAPTURE_BACKWARD,
    MEN_CAPTURE_KINGS,
    MOST_MOVES,
    PROMOTION_CONTINUE,
    PROMOTION_STOP,
    REMOVE_AT_END,
    SIZE_MASK,
    RuleSet,
)

STACK_SIZE = 304
"""Words of the stack of :func:`generate`, for the captures still to be gone on with.

A move takes at most 20 pieces, and a jump has at most 16 landing squares (10x10: 17 squares on the diagonals of a
square, one of them the victim's), of which all but one wait while one is followed.
"""

WORK = np.dtype(
    [("moves", np.uint64, MOST_MOVES), ("actions", np.int16, MOST_MOVES), ("stack", np.uint64, STACK_SIZE)], align=True
)
"""Work space of :func:`generate` and of ``actions.encode``; any record with these fields will do.

A record, unlike an array, is passed on as a bare pointer, without reference counts.
"""

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
_KING_SHIFT = np.uint64(55)
_CHAIN = np.uint64((1 << 55) - 1)

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
    bit = np.uint64(bit)  # unlike a signed index, it needs no look at whether it is negative
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
    if own_kings | other_kings:
        own_kings, other_kings = turn(spec, own_kings), turn(spec, other_kings)
    return turn(spec, other_men), other_kings, turn(spec, own_men), own_kings


@kernel
def _man_jump(spec, square, direction, blockers, men, kings):
    """(victim bit, landing squares) of a man on bit ``square`` in one direction; (0, 0) if it cannot jump.

    ``men`` and ``kings`` are the pieces that may still be captured.
    """
    flags = flags_of(spec)
    if direction >= DOWN_LEFT and not flags & MEN_CAPTURE_BACKWARD:
        return _ZERO, _ZERO
    victims = men
    if flags & MEN_CAPTURE_KINGS:
        victims |= kings
    return _short_jump(spec, square, direction, blockers, victims)


@kernel
def _short_jump(spec, square, direction, blockers, victims):
    victim = step(spec, direction, _ONE << np.uint64(square)) & victims
    return victim, step(spec, direction, victim) & board_mask(spec) & ~blockers


@kernel
def _king_jump(spec, square, direction, blockers, men, kings):
    """(victim bit, landing squares) of a king, like :func:`_man_jump`."""
    flags = flags_of(spec)
    if not flags & FLYING_KINGS:
        return _short_jump(spec, square, direction, blockers, men | kings)
    seen = ray(spec, direction, square) & blockers
    if seen == _ZERO:
        return _ZERO, _ZERO
    hit = nearest(direction, seen)
    victim = _ONE << np.uint64(hit)
    if victim & (men | kings) == _ZERO:
        return _ZERO, _ZERO
    if flags & KING_LANDS_ADJACENT:
        return victim, step(spec, direction, victim) & board_mask(spec) & ~blockers
    return victim, _unblocked(spec, direction, hit, blockers)


@kernel
def _unblocked(spec, direction, square, blockers):
    """The squares beyond ``square`` in one direction, up to the first blocker."""
    beyond = ray(spec, direction, square)
    stop = beyond & blockers
    if stop == _ZERO:
        return beyond
    end = nearest(direction, stop)
    return beyond & ~(ray(spec, direction, end) | (_ONE << np.uint64(end)))


@kernel
def _king_can_capture(spec, square, blockers, men, kings):
    for direction in range(4):
        _, landing = _king_jump(spec, square, direction, blockers, men, kings)
        if landing != _ZERO:
            return True
    return False


@kernel
def _push(king, victim, landings, captured, stack, size):
    """Puts the captures that one jump leads to on the stack; returns its size."""
    rest = captured | victim | (np.uint64(king) << _KING_SHIFT)
    while landings != _ZERO:
        stack[size] = (np.uint64(lowest(landings)) << _FROM_SHIFT) | rest
        landings &= landings - _ONE
        size += 1
    return size


@kernel
def _push_man_jump(spec, square, direction, captured, blockers, men, kings, stack, size):
    victim, landings = _man_jump(spec, square, direction, blockers, men, kings)
    return _push(False, victim, landings, captured, stack, size)


@kernel
def _push_king_jump(spec, square, direction, captured, blockers, men, kings, stack, size):
    flags = flags_of(spec)
    victim, landings = _king_jump(spec, square, direction, blockers, men, kings)
    if flags & FLYING_KINGS and not flags & MAJORITY_QUANTITY:
        # Without a majority law a capture must still be completed: where some landing squares of one
        # jump allow a further jump, only those may be chosen.
        men, kings = men & ~victim, kings & ~victim
        if not flags & REMOVE_AT_END:
            blockers &= ~victim
        rest, going_on = landings, _ZERO
        while rest != _ZERO:
            target = lowest(rest)
            rest &= rest - _ONE
            if _king_can_capture(spec, target, blockers, men, kings):
                going_on |= _ONE << np.uint64(target)
        if going_on != _ZERO:
            landings = going_on
    return _push(True, victim, landings, captured, stack, size)


@kernel
def _piece_captures(spec, start, is_king, occupied, other_men, other_kings, count, best, work):
    """Adds the captures of one piece to ``work.moves``; returns (count, best score) with shorter captures dropped."""
    moves, stack = work.moves, work.stack
    flags = flags_of(spec)
    top = crowning_row(spec)
    occupied &= ~(_ONE << np.uint64(start))
    square, captured, king, size = np.int64(start), _ZERO, is_king, 0
    while True:
        before = size
        blockers, men, kings = occupied, other_men & ~captured, other_kings & ~captured
        if not flags & REMOVE_AT_END:
            blockers &= ~captured
        at_top = captured != _ZERO and (top >> np.uint64(square)) & _ONE != _ZERO
        if flags & PROMOTION_CONTINUE:
            king |= at_top
        # One call for each direction, which is a constant of the machine code then.
        if king:
            size = _push_king_jump(spec, square, UP_LEFT, captured, blockers, men, kings, stack, size)
            size = _push_king_jump(spec, square, UP_RIGHT, captured, blockers, men, kings, stack, size)
            size = _push_king_jump(spec, square, DOWN_LEFT, captured, blockers, men, kings, stack, size)
            size = _push_king_jump(spec, square, DOWN_RIGHT, captured, blockers, men, kings, stack, size)
        elif not (flags & PROMOTION_STOP and at_top):
            size = _push_man_jump(spec, square, UP_LEFT, captured, blockers, men, kings, stack, size)
            size = _push_man_jump(spec, square, UP_RIGHT, captured, blockers, men, kings, stack, size)
            size = _push_man_jump(spec, square, DOWN_LEFT, captured, blockers, men, kings, stack, size)
            size = _push_man_jump(spec, square, DOWN_RIGHT, captured, blockers, men, kings, stack, size)
        if size == before and captured != _ZERO:
            score, taken = 0, popcount(captured)
            if flags & MAJORITY_QUANTITY:
                score = taken
                if flags & MAJORITY_KINGS:
                    score = 32 * score + popcount(captured & other_kings)
            if score > best:
                best, count = score, 0
            if score == best:
                code = pack(spec, start, square, captured, not is_king and (king or at_top))
                known = False
                if taken > 1:  # one piece cannot be taken in two ways that end alike
                    for other in range(count):
                        known |= moves[other] == code
                if not known and count < len(moves):
                    moves[count] = code
                    count += 1
        if size == 0:
            return count, best
        size -= 1
        node = stack[size]
        square, captured = np.int64(node >> _FROM_SHIFT), node & _CHAIN
        king = (node >> _KING_SHIFT) & _ONE != _ZERO


@kernel
def _jump_starts(spec, direction, victims, empty):
    """The squares from which a piece could jump a neighbour in one direction."""
    return step(spec, 3 - direction, victims & step(spec, 3 - direction, empty))


@kernel
def _add_jumps(spec, direction, starts, count, work):
    """Adds the captures of men on ``starts`` that end after one jump in one direction; returns the count."""
    moves = work.moves
    top = crowning_row(spec)
    while starts != _ZERO:
        square = lowest(starts)
        victim = step(spec, direction, _ONE << np.uint64(square))
        landing = step(spec, direction, victim)
        starts &= starts - _ONE
        if count < len(moves):
            moves[count] = pack(spec, square, lowest(landing), victim, landing & top != _ZERO)
            count += 1
    return count


@kernel
def _men_captures(spec, own_men, occupied, other_men, other_kings, work):
    """Writes the captures of men into ``work.moves``; returns (count, best score).

    Most end after one jump, and all jumps in one direction are found at once; only men that may go on are searched
    one by one. A second jump cannot land where the man came from, so whether there is one can be seen from the board
    as it stands.
    """
    flags = flags_of(spec)
    empty, victims = board_mask(spec) & ~occupied, other_men
    if flags & MEN_CAPTURE_KINGS:
        victims |= other_kings
    start0, start1 = _jump_starts(spec, UP_LEFT, victims, empty), _jump_starts(spec, UP_RIGHT, victims, empty)
    start2, start3 = _ZERO, _ZERO
    if flags & MEN_CAPTURE_BACKWARD:
        start2, start3 = _jump_starts(spec, DOWN_LEFT, victims, empty), _jump_starts(spec, DOWN_RIGHT, victims, empty)
    count, best = 0, 0
    if (start0 | start1 | start2 | start3) & own_men == _ZERO:
        return count, best
    # From the far side of a jump, over any piece but the one just captured.
    end0 = step(spec, UP_LEFT, step(spec, UP_LEFT, start0 & own_men)) & (start0 | start1 | start2)
    end1 = step(spec, UP_RIGHT, step(spec, UP_RIGHT, start1 & own_men)) & (start0 | start1 | start3)
    end2 = step(spec, DOWN_LEFT, step(spec, DOWN_LEFT, start2 & own_men)) & (start0 | start2 | start3)
    end3 = step(spec, DOWN_RIGHT, step(spec, DOWN_RIGHT, start3 & own_men)) & (start1 | start2 | start3)
    movers = step(spec, DOWN_RIGHT, step(spec, DOWN_RIGHT, end0)) | step(spec, DOWN_LEFT, step(spec, DOWN_LEFT, end1))
    movers |= step(spec, UP_RIGHT, step(spec, UP_RIGHT, end2)) | step(spec, UP_LEFT, step(spec, UP_LEFT, end3))
    if flags & (PROMOTION_STOP | PROMOTION_CONTINUE | MAJORITY_KINGS):
        # Not decided by the squares alone: what follows in mid-capture, or which piece counts for more.
        movers = (start0 | start1 | start2 | start3) & own_men
    single, rest = own_men & ~movers, movers
    while rest != _ZERO:
        square = lowest(rest)
        rest &= rest - _ONE
        count, best = _piece_captures(spec, square, False, occupied, other_men, other_kings, count, best, work)
    if best <= 1:
        if flags & MAJORITY_QUANTITY and single & (start0 | start1 | start2 | start3) != _ZERO:
            best = 1
        count = _add_jumps(spec, UP_LEFT, start0 & single, count, work)
        count = _add_jumps(spec, UP_RIGHT, start1 & single, count, work)
        count = _add_jumps(spec, DOWN_LEFT, start2 & single, count, work)
        count = _add_jumps(spec, DOWN_RIGHT, start3 & single, count, work)
    return count, best


@kernel
def captures(spec, own_men, own_kings, other_men, other_kings, work):
    """Writes the legal captures (unsorted) into ``work.moves`` and returns their number; 0 if there is none."""
    occupied = own_men | own_kings | other_men | other_kings
    count, best = _men_captures(spec, own_men, occupied, other_men, other_kings, work)
    movers = own_kings
    while movers != _ZERO:
        square = lowest(movers)
        movers &= movers - _ONE
        count, best = _piece_captures(spec, square, True, occupied, other_men, other_kings, count, best, work)
    return count


@kernel
def king_targets(spec, square, occupied):
    """Squares that a king on bit ``square`` reaches without capturing."""
    targets = _ZERO
    if flags_of(spec) & FLYING_KINGS:
        targets = _unblocked(spec, UP_LEFT, square, occupied) | _unblocked(spec, UP_RIGHT, square, occupied)
        targets |= _unblocked(spec, DOWN_LEFT, square, occupied) | _unblocked(spec, DOWN_RIGHT, square, occupied)
        return targets
    for direction in range(4):
        targets |= step(spec, direction, _ONE << np.uint64(square))
    return targets & board_mask(spec) & ~occupied


@kernel
def generate(spec, own_men, own_kings, other_men, other_kings, work):
    """Writes the legal moves into ``work.moves`` in canonical (ascending) order and returns their number.

    Args:
        spec: movement flags.
        own_men, own_kings, other_men, other_kings: uint64 boards in the view of the side to move.
        work: see :data:`WORK`; moves that its list has no room for are dropped.
    """
    moves = work.moves
    count = captures(spec, own_men, own_kings, other_men, other_kings, work)
    if count > 0:
        for index in range(1, count):
            code, place = moves[index], index
            while place > 0 and moves[place - 1] > code:
                moves[place] = moves[place - 1]
                place -= 1
            moves[place] = code
        return count
    occupied = own_men | own_kings | other_men | other_kings
    empty, top = board_mask(spec) & ~occupied, crowning_row(spec)
    movers = own_kings | (own_men & (step(spec, DOWN_RIGHT, empty) | step(spec, DOWN_LEFT, empty)))
    while movers != _ZERO:
        square = lowest(movers)
        origin = _ONE << np.uint64(square)
        movers &= movers - _ONE
        if own_men & origin:
            for direction in (UP_LEFT, UP_RIGHT):
                landing = step(spec, direction, origin) & empty
                if landing != _ZERO and count < len(moves):
                    moves[count] = pack(spec, square, lowest(landing), _ZERO, landing & top != _ZERO)
                    count += 1
            continue
        targets = king_targets(spec, square, occupied)
        while targets != _ZERO:
            target = lowest(targets)
            targets &= targets - _ONE
            if count < len(moves):
                moves[count] = pack(spec, square, target, _ZERO, False)
                count += 1
    return count


@kernel
def count_moves(spec, own_men, own_kings, other_men, other_kings, work):
    """Number of legal moves; ``work`` as in :func:`generate`."""
    count = captures(spec, own_men, own_kings, other_men, other_kings, work)
    if count > 0:
        return count
    occupied = own_men | own_kings | other_men | other_kings
    empty = board_mask(spec) & ~occupied
    count = popcount(step(spec, UP_LEFT, own_men) & empty) + popcount(step(spec, UP_RIGHT, own_men) & empty)
    movers = own_kings
    while movers != _ZERO:
        square = lowest(movers)
        movers &= movers - _ONE
        count += popcount(king_targets(spec, square, occupied))
    return count


@kernel
def _leaves(spec, boards, depth, frames):
    """Leaves of the move tree; -1 if a position on the way has as many moves as there is room for, or more."""
    a, b, c, d = boards[0], boards[1], boards[2], boards[3]
    room = len(frames[0].moves)
    if depth == 1:
        count = count_moves(spec, a, b, c, d, frames[0])
        return count if count < room else -1
    leaves, level = 0, 0
    entering = True
    while True:
        frame = frames[level]
        if entering:
            frame.boards[0], frame.boards[1], frame.boards[2], frame.boards[3] = a, b, c, d
            frame.count, frame.next = generate(spec, a, b, c, d, frame), 0
            if frame.count == room:
                return -1
        if frame.next == frame.count:
            if level == 0:
                return leaves
            level -= 1
            entering = False
            continue
        code = frame.moves[frame.next]
        frame.next += 1
        a, b, c, d = play(spec, frame.boards[0], frame.boards[1], frame.boards[2], frame.boards[3], code)
        entering = level + 2 < depth
        if entering:
            level += 1
        else:
            count = count_moves(spec, a, b, c, d, frames[level + 1])
            if count >= room:
                return -1
            leaves += count


def perft(rules: RuleSet, boards: np.ndarray, depth: int) -> int:
    """Number of leaves of the move tree ``depth`` plies deep, the last ply counted without being played.

    Args:
        rules: rule set.
        boards: uint64[4] in the view of the side to move.
        depth: plies, at least 1.

    Raises:
        ValueError: a position on the way has more legal moves than there is room for.
    """
    layout = [
        ("boards", np.uint64, 4), ("count", np.int64), ("next", np.int64), ("moves", np.uint64, rules.max_moves),
        ("stack", np.uint64, STACK_SIZE),
    ]  # fmt: skip
    leaves = int(_leaves(rules.spec, boards, depth, np.zeros(depth, dtype=np.dtype(layout, align=True))))
    if leaves < 0:
        room = rules.max_moves
        raise ValueError(f"A position within {depth} plies has {room} legal moves or more; there is no room.")
    return leaves
