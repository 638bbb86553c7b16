"""The rule sets that have a name. Comments say which reading of an ambiguous text was taken, and why.

Readings that hold for all of them: counts are plies, so "20 moves of each side" are 40; the ply that creates an ending
is not counted; what players claim over the board is applied at once. docs/rules.md has the sources sentence by
sentence.
"""

from dataclasses import replace

from damas_env.draw_laws import DrawLaw
from damas_env.rules import RuleSet
from damas_env.termination import Termination

_NO_PROGRESS, _ENDING = Termination.NO_PROGRESS, Termination.ENDING
_PROGRESS = ("capture", "man_move")


def _kings_only(moves: int) -> DrawLaw:
    """So many moves of each side with kings only, without capture or man move."""
    return DrawLaw(2 * moves, "kings_only", _NO_PROGRESS, resets=_PROGRESS)


# --- Brazilian draughts ---------------------------------------------------------------------------------------------

# CBD, Anexo I "Regras de Jogo" (2013), articles 97-100. Art. 97b: 20 successive moves of each player with kings only,
# without capture or man move. Art. 99/100 with their note: listed endings are drawn after 5 moves of each player, and
# man moves and captures do not restart that count. Readings taken where the text is silent: all listed endings share
# one count (a change from one to another does not restart it), and the count goes back to 0 when no listed ending
# stands any more (say, the lone king leaves the main diagonal).
_FIVE_MOVE_ENDINGS = DrawLaw(10, "ending", _ENDING, ("2K-2K", "2K-1K", "2K-1K+1M", "1K-1K", "1K-1K+1M"))
_MAIN_DIAGONAL_ENDINGS = DrawLaw(
    10, "ending", _ENDING, ("3K-1K", "2K+1M-1K", "1K+2M-1K"), lone_king_on_main_diagonal=True
)
_CBD = RuleSet(
    name="cbd",
    title="Brazilian draughts, official rules of the Confederação Brasileira de Jogo de Damas",
    draw_laws=(_kings_only(20), _FIVE_MOVE_ENDINGS, _MAIN_DIAGONAL_ENDINGS),
    game_type=26,
)

# The draw laws are those of the CBD. The text names no event that restarts "the same count" of the five-move endings,
# while it does for the twenty king moves; so, as in the CBD's text, nothing restarts it. "The opponent has only one
# king on the main diagonal" is read as: the king is alone and stands there. Draws are "three", all automatic: none by
# agreement.
_DOGAMES = replace(
    _CBD, name="dogames", title="Brazilian draughts as played on DoGames: every draw automatic", draw_by_agreement=False
)

# "Two ways" to draw: the third repetition, and 40 moves by each side (80 turns) without capture or man move. So none
# by agreement and no listed endings.
_DAMASITE = RuleSet(
    name="damasite",
    title="Brazilian draughts with two draw laws: repetition, and 40 moves of each side without progress",
    draw_laws=(DrawLaw(80, "no_progress", _NO_PROGRESS, resets=_PROGRESS),),
    draw_by_agreement=False,
    game_type=26,
)

# The law that its page mentions and leaves out: three kings against one must win inside 16 moves. Read as exactly
# three kings against one king and nothing else; 16 moves of each side after the balance has come about, so that the
# strong side has 16 moves of its own whoever moves first, and winning with the last of them counts.
_DAMASITE_16 = replace(
    _DAMASITE,
    name="damasite-16",
    title="Brazilian draughts as in damasite, and three kings must beat one within 16 moves",
    draw_laws=(*_DAMASITE.draw_laws, DrawLaw(32, "three_kings", _ENDING, ("3K-1K",))),
)

# "400 moves in all (200 of each side)" are plies, and the game is a draw then, not stopped.
_TTAKJI = RuleSet(
    name="ttakji",
    title="Brazilian draughts as played on Ttakji: 20 king moves of each side, 400 plies in all",
    draw_laws=(_kings_only(20),),
    ply_cap=400,
    ply_cap_draws=True,
    game_type=26,
)

# Red moves first; the other colour has no name. FEN and PDN know white and black only: red is written as White, the
# side that moves first in Brazilian draughts. No draw of any kind is stated, so a cap (of a length chosen here) stops a
# game that does not end, without a result. "A man that reaches the last row is promoted" does not say what happens in
# mid-capture; read as everywhere in Brazil: only where the move ends. Likewise captured pieces leave at its end.
_DAMAS_BRASILEIRO = RuleSet(
    name="damas-brasileiro",
    title="Brazilian draughts without draw laws; Red, written as White, moves first",
    repetition=0,
    ply_cap=300,
    draw_by_agreement=False,
    game_type=26,
)

# "20 successive king moves" and "5 moves" are counted as in the federation's rules, of which this text is a summary
# and which mean moves of each player. Repetition and agreement are not among its ways to draw; since king moves are
# limited no game goes on for ever. "Some endings, such as" is read as just those listed.
_REGRAS_OFICIAIS = RuleSet(
    name="regras-oficiais",
    title="Brazilian draughts by the summary of the official rules: 20 king moves, listed endings after 5 moves",
    draw_laws=(_kings_only(20), _FIVE_MOVE_ENDINGS),
    repetition=0,
    draw_by_agreement=False,
    game_type=26,
)

# lidraughts gives Brazilian draughts the draw laws of its Russian draughts (the FMJD's), with its own reading: with 4
# to 7 pieces the 15 king moves do not apply, and the clock of a balance runs on through man moves. What differs here:
# the ply with which the lone king comes to the main diagonal is not counted there, and pieces of the strong side on
# that diagonal are not looked at. Repetition, which has to be claimed there, is applied at once.
_LIDRAUGHTS = RuleSet(
    name="lidraughts",
    title="Brazilian draughts as played on lidraughts",
    draw_laws=(
        DrawLaw(10, "few_pieces", _ENDING, ("2K-1K", "1K+1M-1K", "1K-1K")),
        DrawLaw(
            10, "diagonal", _ENDING, ("3K-1K", "2K+1M-1K", "1K+2M-1K"), lone_king_on_main_diagonal=True, pauses=True
        ),
        DrawLaw(30, "balance", _ENDING, ("3+K-1K",), resets=("capture", "crowning")),
        DrawLaw(
            30,
            "balance",
            _ENDING,
            ("2K+1M-1K", "1K+2M-1K"),
            lone_king_on_main_diagonal=True,
            resets=("capture", "crowning"),
        ),
        DrawLaw(60, "balance", _NO_PROGRESS, resets=("capture", "crowning"), pieces=(4, 5), both_have_kings=True),
        DrawLaw(120, "balance", _NO_PROGRESS, resets=("capture", "crowning"), pieces=(6, 7), both_have_kings=True),
        DrawLaw(30, "kings_only", _NO_PROGRESS, resets=_PROGRESS, pieces=(8, 24), both_have_kings=True),
    ),
    game_type=26,
)

# FMJD / IDF draughts-64, articles 7.2.3-7.2.8, taken literally: all of them apply side by side, so with 4 to 7 pieces
# the 15 king moves of 7.2.5 come first unless men move in between. 7.2.4 counts from when three or more kings face
# one; taking one of four or more does not restart it. 7.2.7 and 7.2.8 share a count that starts afresh when one ending
# becomes the other. 7.2.9 (a win that is obvious) needs an arbiter and is left out.
_FMJD_64_LAWS = (
    _kings_only(15),
    DrawLaw(30, "three_kings", _ENDING, ("3+K-1K",)),
    DrawLaw(60, "balance", _NO_PROGRESS, resets=("capture", "crowning"), pieces=(4, 5), both_have_kings=True),
    DrawLaw(120, "balance", _NO_PROGRESS, resets=("capture", "crowning"), pieces=(6, 7), both_have_kings=True),
    DrawLaw(
        10, "ending", _ENDING, ("3K-1K", "2K+1M-1K", "1K+2M-1K"), lone_king_on_main_diagonal=True, resets=("change",)
    ),
    DrawLaw(10, "ending", _ENDING, ("2K-1K", "1K+1M-1K", "1K-1K"), resets=("change",)),
)
_FMJD64 = RuleSet(
    name="fmjd64",
    title="Brazilian draughts under the draw laws of the FMJD and IDF",
    draw_laws=_FMJD_64_LAWS,
    game_type=26,
)

# --- Other games ----------------------------------------------------------------------------------------------------

# The World Checkers/Draughts Federation's rules: third repetition, and 40 moves of each side without capture or man
# move. Both are claims over the board.
_AMERICAN = RuleSet(
    name="american",
    title="American checkers (English draughts), rules of the WCDF",
    first="black",
    men_capture_backward=False,
    flying_kings=False,
    majority="none",
    promotion="stop",
    draw_laws=(DrawLaw(80, "no_progress", _NO_PROGRESS, resets=_PROGRESS),),
    notation="numeric",
    game_type=21,
)

# The federations of Russian draughts play under the same articles as the FMJD's 64 squares.
_RUSSIAN = RuleSet(
    name="russian",
    title="Russian draughts (shashki), rules of the FMJD and IDF",
    majority="none",
    promotion="continue",
    draw_laws=_FMJD_64_LAWS,
    game_type=25,
)

# American Pool Checker Association: three kings must beat one within 13 moves. It states no other count, so a cap
# stops endless games without a result.
_POOL = RuleSet(
    name="pool",
    title="American pool checkers, rules of the APCA",
    first="black",
    majority="none",
    draw_laws=(DrawLaw(26, "three_kings", _ENDING, ("3K-1K",)),),
    ply_cap=400,
    notation="numeric",
    game_type=23,
)

# Spain and Portugal play one game: third repetition, 20 king moves of each side, 12 moves of three kings against one.
# The Portuguese federation counts the 12 from when one of the three holds the main diagonal, and the 20 only while no
# side has more than four pieces and both have kings. Here both counts run from the first moment on; a lone king that
# holds the main diagonal itself draws either way.
_SPANISH = RuleSet(
    name="spanish",
    title="Spanish draughts",
    mirrored=True,
    square_one="bottom_right",
    men_capture_backward=False,
    majority="quantity_kings",
    promotion="stop",
    draw_laws=(
        _kings_only(20),
        DrawLaw(24, "three_kings", _ENDING, ("3K-1K",)),
    ),
    notation="numeric",
    game_type=24,
)

_PORTUGUESE = replace(_SPANISH, name="portuguese", title="Portuguese draughts (damas clássicas)", game_type=28)

# FMJD, Annex 1: 25 king moves of each side; 16 moves of each side once three pieces face a lone king, a limit that
# remains valid when a piece is taken; 5 moves once two pieces or one face it. A clause of some editions, 5 moves for
# three pieces if the lone king holds the long diagonal, is left out as most tournaments and servers do.
_TWO_AGAINST_ONE = ("2K-1K", "1K+1M-1K", "1K-1K")
_INTERNATIONAL = RuleSet(
    name="international",
    title="International draughts on 10x10, rules of the FMJD",
    size=10,
    men_rows=4,
    draw_laws=(
        _kings_only(25),
        DrawLaw(32, "sixteen_moves", _ENDING, ("3K-1K", "2K+1M-1K", "1K+2M-1K", *_TWO_AGAINST_ONE)),
        DrawLaw(10, "five_moves", _ENDING, _TWO_AGAINST_ONE),
    ),
    notation="numeric",
    game_type=20,
)

# Makhos. Nobody publishes a federation's text: Black moves first and the men stand on two rows as in most Thai
# programs, and beside repetition only a cap, which gives no result, ends a long game.
_THAI = RuleSet(
    name="thai",
    title="Thai checkers (makhos)",
    men_rows=2,
    square_one="bottom_right",
    first="black",
    men_capture_backward=False,
    king_lands_adjacent=True,
    remove_at_end=False,
    majority="none",
    promotion="stop",
    ply_cap=300,
    notation="numeric",
    game_type=31,
)

# The page of damasite calls it the same rulebook "field for field" on a mirrored board: men capture backward, no
# choice by kings, and its two draw laws. PDN has no number for it.
_FILIPINO = replace(
    _DAMASITE,
    name="filipino",
    title="Filipino dama: Brazilian draughts on a mirrored board",
    mirrored=True,
    notation="numeric",
    game_type=0,
)

RULE_SETS: dict[str, RuleSet] = {
    rules.name: rules
    for rules in (
        _CBD, _DOGAMES, _DAMASITE, _DAMASITE_16, _TTAKJI, _DAMAS_BRASILEIRO, _REGRAS_OFICIAIS, _LIDRAUGHTS, _FMJD64,
        _AMERICAN, _RUSSIAN, _POOL, _SPANISH, _PORTUGUESE, _INTERNATIONAL, _THAI, _FILIPINO,
    )
}  # fmt: skip
"""Every rule set by its name."""

DEFAULT_RULES = _CBD.name
"""The rule set where none is named."""
