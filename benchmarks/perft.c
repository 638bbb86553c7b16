/* A yardstick for `damas perft`: a plain bitboard move generator for Brazilian draughts (8x8).
 *
 * Rules: men capture forwards and backwards, flying kings, the longest capture is compulsory, captured pieces leave
 * the board at the end of the move, a man is crowned only where its move ends. Captures that agree in origin, target
 * and captured set are one move. The last ply is counted without being played. No hash table, one thread.
 *
 * Bits: rows of four squares from the bottom left, with one unused bit after every second row, so that a diagonal
 * step is 4 or 5 bits. One code path for each side, chosen at compile time.
 *
 * To see what features of the kernel cost, each can be compiled in: TURN, one code path, and a board that is turned at
 * every ply; LISTS, quiet moves that are packed into codes, stored and unpacked; TRY_BACK, captures that also look in
 * the direction that they came from.
 *
 * Input, one task a line: white men, white kings, black men, black kings (hexadecimal), depth; White is to move.
 * Output for each line: leaves and seconds of processor time.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

typedef uint64_t Bits;
#define INLINE static inline __attribute__((always_inline))
#define LOWEST(word) __builtin_ctzll(word)
#define HIGHEST(word) (63 - __builtin_clzll(word))
#define COUNT(word) __builtin_popcountll(word)
enum { UP4, UP5, DOWN4, DOWN5 };

static Bits board, bottom, top, rays[4][64];

INLINE Bits step(int direction, Bits word) {
    switch (direction) {
    case UP4: return word << 4;
    case UP5: return word << 5;
    case DOWN4: return word >> 4;
    default: return word >> 5;
    }
}

static void build_tables(void) {
    for (int row = 0; row < 8; row++) board |= (Bits)15 << (9 * (row / 2) + 5 * (row % 2));
    bottom = 15;
    top = (Bits)15 << 32;
    for (int direction = 0; direction < 4; direction++)
        for (int bit = 0; bit < 36; bit++)
            for (Bits at = step(direction, (Bits)1 << bit) & board; at; at = step(direction, at) & board)
                rays[direction][bit] |= at;
}

/* The squares of a ray in front of the first piece on it. */
INLINE Bits clear_part(int direction, Bits beam, Bits occupied) {
    Bits hit = beam & occupied;
    if (!hit) return beam;
    int end = direction < DOWN4 ? LOWEST(hit) : HIGHEST(hit);
    return beam & ~(rays[direction][end] | (Bits)1 << end);
}

typedef struct { Bits captured; int from, to; } Capture;
typedef struct { Bits occupied, victims; int from, best, count; Capture list[128]; } Captures;

static void add(Captures *found, int to, Bits captured, int taken) {
    if (taken < found->best) return;
    if (taken > found->best) {
        found->best = taken;
        found->count = 0;
    }
    if (taken > 1)
        for (int i = 0; i < found->count; i++) {
            const Capture *known = &found->list[i];
            if (known->captured == captured && known->to == to && known->from == found->from) return;
        }
    found->list[found->count++] = (Capture){captured, found->from, to};
}

static void man_jumps(Captures *found, int at, Bits captured, int taken, int back) {
    int further = 0;
    for (int direction = 0; direction < 4; direction++) {
#ifndef TRY_BACK
        if (direction == back) continue; /* only the piece just captured stands there */
#endif
        Bits victim = step(direction, (Bits)1 << at) & found->victims & ~captured;
        Bits landing = step(direction, victim) & board & ~found->occupied;
        if (landing) {
            further = 1;
            man_jumps(found, LOWEST(landing), captured | victim, taken + 1, direction ^ 2);
        }
    }
    if (!further && taken) add(found, at, captured, taken);
}

static void king_jumps(Captures *found, int at, Bits captured, int taken, int back) {
    int further = 0;
    for (int direction = 0; direction < 4; direction++) {
#ifndef TRY_BACK
        if (direction == back) continue;
#endif
        Bits hit = rays[direction][at] & found->occupied;
        if (!hit) continue;
        int square = direction < DOWN4 ? LOWEST(hit) : HIGHEST(hit);
        Bits victim = (Bits)1 << square & found->victims & ~captured;
        if (!victim) continue;
        Bits landings = clear_part(direction, rays[direction][square], found->occupied);
        for (further |= landings != 0; landings; landings &= landings - 1)
            king_jumps(found, LOWEST(landings), captured | victim, taken + 1, direction ^ 2);
    }
    if (!further && taken) add(found, at, captured, taken);
}

INLINE int captures(Captures *found, Bits men, Bits kings, Bits others) {
    Bits occupied = men | kings | others, empty = board & ~occupied;
    Bits jumpers = men & ((others >> 4 & empty >> 8) | (others >> 5 & empty >> 10) |
                          (others << 4 & empty << 8) | (others << 5 & empty << 10));
    found->best = found->count = 0;
    found->victims = others;
    for (; jumpers; jumpers &= jumpers - 1) {
        found->from = LOWEST(jumpers);
        found->occupied = occupied ^ (Bits)1 << found->from;
        man_jumps(found, found->from, 0, 0, -1);
    }
    for (; kings; kings &= kings - 1) {
        found->from = LOWEST(kings);
        found->occupied = occupied ^ (Bits)1 << found->from;
        king_jumps(found, found->from, 0, 0, -1);
    }
    return found->count;
}

INLINE Bits king_targets(int at, Bits occupied) {
    Bits targets = 0;
    for (int direction = 0; direction < 4; direction++) targets |= clear_part(direction, rays[direction][at], occupied);
    return targets;
}

static uint64_t perft_white(Bits men, Bits kings, Bits other_men, Bits other_kings, int depth);
static uint64_t perft_black(Bits men, Bits kings, Bits other_men, Bits other_kings, int depth);

#ifdef TURN
INLINE Bits turned(Bits w) {
    w = __builtin_bswap64(w);
    w = (w >> 4 & 0x0f0f0f0f0f0f0f0full) | (w & 0x0f0f0f0f0f0f0f0full) << 4;
    w = (w >> 2 & 0x3333333333333333ull) | (w & 0x3333333333333333ull) << 2;
    w = (w >> 1 & 0x5555555555555555ull) | (w & 0x5555555555555555ull) << 1;
    return w >> 28;
}
#define NEXT(a, b, c, d, e) perft_white(turned(a), turned(b), turned(c), turned(d), e)
#else
#define NEXT(a, b, c, d, e) next(a, b, c, d, e)
#endif
INLINE uint64_t perft(int white, Bits men, Bits kings, Bits other_men, Bits other_kings, int depth) {
    uint64_t (*next)(Bits, Bits, Bits, Bits, int) = white ? perft_black : perft_white;
    Bits crowning = white ? top : bottom;
    Captures found;
    uint64_t leaves = 0;
    if (captures(&found, men, kings, other_men | other_kings)) {
        if (depth == 1) return (uint64_t)found.count;
        for (int i = 0; i < found.count; i++) {
            Bits from = (Bits)1 << found.list[i].from, to = (Bits)1 << found.list[i].to, kept = ~found.list[i].captured;
            Bits new_men = men, new_kings = kings;
            if (men & from) {
                new_men ^= from;
                if (to & crowning) new_kings |= to;
                else new_men |= to;
            } else {
                new_kings = (kings ^ from) | to;
            }
            leaves += NEXT(other_men & kept, other_kings & kept, new_men, new_kings, depth - 1);
        }
        return leaves;
    }
    Bits occupied = men | kings | other_men | other_kings, empty = board & ~occupied;
#ifdef LISTS
    if (depth > 1) {
        uint64_t codes[128];
        int count = 0;
        Bits movers = kings | (men & (white ? empty >> 4 | empty >> 5 : empty << 4 | empty << 5));
        for (; movers; movers &= movers - 1) {
            int at = LOWEST(movers);
            Bits from = (Bits)1 << at;
            if (men & from) {
                for (int side = 0; side < 2; side++) {
                    Bits to = (white ? from << (4 + side) : from >> (4 + side)) & empty;
                    if (to) codes[count++] = (uint64_t)at << 58 | (uint64_t)LOWEST(to) << 52 | ((to & crowning) != 0);
                }
            } else {
                for (Bits targets = king_targets(at, occupied); targets; targets &= targets - 1)
                    codes[count++] = (uint64_t)at << 58 | (uint64_t)LOWEST(targets) << 52;
            }
        }
        for (int i = 0; i < count; i++) {
            Bits from = (Bits)1 << (codes[i] >> 58), to = (Bits)1 << (codes[i] >> 52 & 63);
            if (men & from) {
                if (codes[i] & 1) leaves += NEXT(other_men, other_kings, men ^ from, kings | to, depth - 1);
                else leaves += NEXT(other_men, other_kings, men ^ from ^ to, kings, depth - 1);
            } else leaves += NEXT(other_men, other_kings, men, kings ^ from ^ to, depth - 1);
        }
        return leaves;
    }
#endif
    for (int side = 0; side < 2; side++) {
        int shift = 4 + side;
        Bits targets = (white ? men << shift : men >> shift) & empty;
        if (depth == 1) {
            leaves += COUNT(targets);
            continue;
        }
        for (; targets; targets &= targets - 1) {
            Bits to = targets & -targets, from = white ? to >> shift : to << shift;
            if (to & crowning) leaves += NEXT(other_men, other_kings, men ^ from, kings | to, depth - 1);
            else leaves += NEXT(other_men, other_kings, men ^ from ^ to, kings, depth - 1);
        }
    }
    for (Bits rest = kings; rest; rest &= rest - 1) {
        Bits from = rest & -rest, targets = king_targets(LOWEST(rest), occupied);
        if (depth == 1) {
            leaves += COUNT(targets);
            continue;
        }
        for (; targets; targets &= targets - 1)
            leaves += NEXT(other_men, other_kings, men, kings ^ from ^ (targets & -targets), depth - 1);
    }
    return leaves;
}

static uint64_t perft_white(Bits men, Bits kings, Bits other_men, Bits other_kings, int depth) {
    return perft(1, men, kings, other_men, other_kings, depth);
}

static uint64_t perft_black(Bits men, Bits kings, Bits other_men, Bits other_kings, int depth) {
    return perft(0, men, kings, other_men, other_kings, depth);
}

int main(void) {
    unsigned long long men, kings, other_men, other_kings;
    int depth;
    build_tables();
    while (scanf("%llx %llx %llx %llx %d", &men, &kings, &other_men, &other_kings, &depth) == 5 && depth > 0) {
        struct timespec begun, ended;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
        uint64_t leaves = perft_white(men, kings, other_men, other_kings, depth);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
        double seconds = (double)(ended.tv_sec - begun.tv_sec) + (double)(ended.tv_nsec - begun.tv_nsec) * 1e-9;
        printf("%llu %.9f\n", (unsigned long long)leaves, seconds);
        fflush(stdout);
    }
    return 0;
}
