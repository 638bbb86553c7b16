"""The forward pass of a ``ResMlp`` (see ``few.Weights`` for its parameters), layer by layer on one thread.

Weights are stored by input, and an input of zero is left out: behind a ReLU about half of them are, and their weights
are not even read. The order of all sums is fixed and belongs to one position, so what is computed for it does not
depend on the rest of the batch.
"""

import math

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from damas_env.kernel import kernel
from damas_rl.networks.base import MOVES_LEFT_SCALE

_EPSILON = np.float32(1e-5)
"""Of layer norms, as in torch."""

_LANES, _TILE = 8, 32
"""Numbers of a vector instruction, and of an output that is summed at once."""

_CHUNK = 1 << 13
"""Weights that are used for the whole batch before the next ones are read: they stay in the first-level cache."""

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@intrinsic
def _add_tile(typing_context, out, x, weights, rows, count, column):
    """out[column : column + _TILE] += the sum of x[r] * weights[r, column : column + _TILE] over ``count`` rows r.

    Vector instructions by hand: the compiler must allow for ``out`` and ``weights`` to overlap, and keeps no sums in
    registers then. Two sets of sums take the rows in turn, since an addition waits for the one before.
    """

    def generate(context, builder, signature, arguments):
        word, number, vector = ir.IntType(64), ir.IntType(32), ir.VectorType(ir.FloatType(), _LANES)
        out, x, weights, rows = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:4], arguments[:4], strict=True)
        )
        count, column = arguments[4:]
        width, undefined = builder.extract_value(weights.shape, 1), ir.Constant(vector, ir.Undefined)
        parts = range(_TILE // _LANES)
        even, odd = ([cgutils.alloca_once(builder, vector) for _ in parts] for _ in range(2))

        def part_of(pointer, part):
            start = builder.gep(pointer, [builder.add(column, word(part * _LANES))])
            return builder.bitcast(start, vector.as_pointer())

        def add(place, sums):
            row = builder.load(builder.gep(rows.data, [place]))
            factor = builder.insert_element(undefined, builder.load(builder.gep(x.data, [row])), number(0))
            factor = builder.shuffle_vector(factor, undefined, ir.Constant(ir.VectorType(number, _LANES), [0] * _LANES))
            line = builder.gep(weights.data, [builder.mul(row, width)])
            for part in parts:
                product = builder.fmul(factor, builder.load(part_of(line, part), align=4), flags=("contract",))
                builder.store(builder.fadd(builder.load(sums[part]), product, flags=("contract",)), sums[part])

        for part in parts:
            builder.store(builder.load(part_of(out.data, part), align=4), even[part])
            builder.store(ir.Constant(vector, None), odd[part])
        with cgutils.for_range(builder, builder.lshr(count, word(1))) as loop:
            first = builder.shl(loop.index, word(1))
            add(first, even)
            add(builder.add(first, word(1)), odd)
        with builder.if_then(builder.trunc(count, ir.IntType(1))):
            add(builder.sub(count, word(1)), even)
        for part in parts:
            total = builder.fadd(builder.load(even[part]), builder.load(odd[part]))
            builder.store(total, part_of(out.data, part), align=4)
        return context.get_dummy_value()

    return types.void(out, x, weights, rows, types.int64, types.int64), generate


@kernel
def _add_rows(out, x, weights, rows, count):
    """Adds to out[O] the sum of x[r] * weights[r] over the first ``count`` of ``rows``."""
    whole = out.shape[0] // _TILE * _TILE
    for column in range(0, whole, _TILE):
        _add_tile(out, x, weights, rows, count, column)
    for column in range(whole, out.shape[0]):
        for place in range(count):
            out[column] += x[rows[place]] * weights[rows[place], column]


@kernel
def _add_product(out, x, weights, start, end, rows):
    """Adds x[start:end] @ weights[start:end] to out[O]; ``rows`` is work space."""
    found = 0
    for row in range(start, end):
        rows[found] = row
        found += x[row] != _ZERO
    _add_rows(out, x, weights, rows, found)


@kernel
def _linear(x, weights, bias, out, rows):
    """Fills out[B, O] with x[B, I] @ weights + bias."""
    inputs, width = weights.shape
    step = max(8, _CHUNK // width)
    for game in range(x.shape[0]):
        out[game] = bias
    for start in range(0, inputs, step):
        for game in range(x.shape[0]):
            _add_product(out[game], x[game], weights, start, min(start + step, inputs), rows)


@kernel
def _sum(x):
    """The sum of x, in eight sums that need not wait for each other."""
    a = b = c = d = e = f = g = h = _ZERO
    length = x.shape[0]
    for place in range(0, length - 7, 8):
        a += x[place]
        b += x[place + 1]
        c += x[place + 2]
        d += x[place + 3]
        e += x[place + 4]
        f += x[place + 5]
        g += x[place + 6]
        h += x[place + 7]
    for place in range(length - length % 8, length):
        a += x[place]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@kernel
def _normalise(x, scale, shift, out):
    """Fills out[C] with the layer norm of x[C]."""
    length = np.float32(x.shape[0])
    mean = _sum(x) / length
    for place in range(x.shape[0]):
        out[place] = (x[place] - mean) * (x[place] - mean)
    factor = _ONE / np.float32(math.sqrt(_sum(out) / length + _EPSILON))
    for place in range(x.shape[0]):
        out[place] = (x[place] - mean) * factor * scale[place] + shift[place]


@kernel
def _relu(x):
    for place in range(x.shape[0]):
        if x[place] < _ZERO:  # what is not a number stays so
            x[place] = _ZERO


@kernel
def _see(net, boards, squares, kinds, ones, rows):
    """The stem: squares[S, C] of bitboards[4]; ``kinds`` is int64[S + 1], ``ones`` are 4 T ones."""
    count = squares.shape[0]
    kinds[count] = -1
    for square in range(count):
        bit = np.uint64(net.bits[square])
        kinds[square] = -1
        for kind in range(4):
            if boards[kind] >> bit & np.uint64(1):
                kinds[square] = kind
    for square in range(count):
        found = 0
        for tap in range(net.around.shape[1]):
            kind = kinds[net.around[square, tap]]
            rows[found] = 4 * tap + kind
            found += kind >= 0
        squares[square] = net.stem_bias[square]
        _add_rows(squares[square], ones, net.stem, rows, found)


@kernel
def _local_blocks(net, squares, normed, hidden, every, rows):
    """The residual blocks over the squares; ``every`` counts up from 0."""
    blocks, (count, channels) = net.local_blocks, squares.shape
    for block in range(blocks.scale.shape[0]):
        for square in range(count):
            _normalise(squares[square], blocks.scale[block], blocks.shift[block], normed[square])
        for square in range(count):
            hidden[:] = blocks.inner_bias[block]
            for tap in range(5):
                other = net.around[square, tap]
                if other < count:
                    weights = blocks.inner[block, tap * channels : (tap + 1) * channels]
                    _add_rows(hidden, normed[other], weights, every, channels)
            _relu(hidden)
            squares[square] += blocks.outer_bias[block]
            _add_product(squares[square], hidden, blocks.outer[block], 0, channels, rows)


@kernel
def _score_pairs(net, squares, out, vectors, targets, every):
    """Products of the vectors of each two squares, out[S * S]."""
    count, channels = squares.shape
    length = targets.shape[0]
    scale = np.float32(length**-0.5)
    for square in range(count):
        vectors[square] = net.pairs.bias
        _add_rows(vectors[square], squares[square], net.pairs.weights, every, channels)
        for place in range(length):
            targets[place, square] = vectors[square, length + place]
            vectors[square, place] *= scale
    for square in range(count):
        _add_rows(out[square * count : (square + 1) * count], vectors[square], targets, every, length)


@kernel
def _wide_blocks(net, board, normed, hidden, rows):
    """The residual blocks over the board's vector, for a batch."""
    blocks, games = net.blocks, board.shape[0]
    for block in range(blocks.scale.shape[0]):
        for game in range(games):
            _normalise(board[game], blocks.scale[block], blocks.shift[block], normed[game])
        _linear(normed, blocks.inner[block], blocks.inner_bias[block], hidden, rows)
        for game in range(games):
            _relu(hidden[game])
        _linear(hidden, blocks.outer[block], blocks.outer_bias[block], normed, rows)
        board += normed


@kernel
def forward(net, boards, features, logits, values, moves_left):
    """Evaluates a batch; returns a number that is finite if and only if all answers are.

    Args:
        net: see ``few.Weights``.
        boards, features: uint64[B, 4] and float32[B, 6], see ``Evaluator.evaluate``.
        logits, values, moves_left: float32[B, N], [B] and [B], filled.
    """
    games, (count, channels), width = boards.shape[0], net.stem_bias.shape, net.norm.scale.shape[0]
    squares, normed = np.empty((count, channels), np.float32), np.empty((count, channels), np.float32)
    hidden, kinds = np.empty(channels, np.float32), np.empty(count + 1, np.int64)
    ones, rows = np.ones(net.stem.shape[0], np.float32), np.empty(net.enter.weights.shape[0], np.int64)
    length = net.pairs.bias.shape[0] // 2
    every = np.arange(max(channels, length))
    vectors, targets = np.empty((count, 2 * length), np.float32), np.empty((length, count), np.float32)
    entering = np.empty((games, count * channels + features.shape[1]), np.float32)
    pairs = np.zeros((games, count * count), np.float32)
    for game in range(games):
        _see(net, boards[game], squares, kinds, ones, rows)
        _local_blocks(net, squares, normed, hidden, every, rows)
        for square in range(count):
            _normalise(squares[square], net.local_norm.scale, net.local_norm.bias, normed[square])
            _relu(normed[square])
            entering[game, square * channels : (square + 1) * channels] = normed[square]
        entering[game, count * channels :] = features[game]
        _score_pairs(net, normed, pairs[game], vectors, targets, every)
    board, one, two = (
        np.empty((games, width), np.float32),
        np.empty((games, width), np.float32),
        np.empty((games, width), np.float32),
    )
    _linear(entering, net.enter.weights, net.enter.bias, board, rows)
    _wide_blocks(net, board, one, two, rows)
    for game in range(games):
        _normalise(board[game], net.norm.scale, net.norm.bias, one[game])
        _relu(one[game])
    _linear(one, net.policy.weights, net.policy.bias, logits, rows)
    summary = np.empty((games, net.value_hidden.bias.shape[0]), np.float32)
    _linear(one, net.value_hidden.weights, net.value_hidden.bias, summary, rows)
    outputs = np.empty((games, net.value.bias.shape[0]), np.float32)
    for game in range(games):
        logits[game, : count * count] += pairs[game]
        _relu(summary[game])
    _linear(summary, net.value.weights, net.value.bias, outputs, rows)
    checksum = _ZERO
    for game in range(games):
        win, draw, loss, left = outputs[game]
        highest = max(win, draw, loss)
        win, draw, loss = math.exp(win - highest), math.exp(draw - highest), math.exp(loss - highest)
        values[game] = (win - loss) / (win + draw + loss)
        moves_left[game] = MOVES_LEFT_SCALE * (max(left, _ZERO) + math.log1p(math.exp(-abs(left))))
        checksum += _sum(logits[game]) + values[game] + moves_left[game]
    return checksum
