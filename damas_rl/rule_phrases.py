"""The phrases that :mod:`damas_rl.rule_texts` puts rule sets into, in every language side by side."""

LANGUAGES = ("en", "pt")
"""English and Brazilian Portuguese."""

TITLES: dict[str, tuple[str, str]] = {
    "cbd": ("Brazilian draughts (CBD)", "Damas brasileiras (CBD)"),
    "dogames": ("Brazilian draughts (DoGames)", "Damas brasileiras (DoGames)"),
    "damasite": ("Brazilian draughts (two draw laws)", "Damas brasileiras (duas leis de empate)"),
    "damasite-16": (
        "Brazilian draughts (two draw laws, three kings against one)",
        "Damas brasileiras (duas leis de empate, três damas contra uma)",
    ),
    "ttakji": ("Brazilian draughts (Ttakji)", "Damas brasileiras (Ttakji)"),
    "damas-brasileiro": ("Brazilian draughts (no draw laws)", "Damas brasileiras (sem leis de empate)"),
    "regras-oficiais": (
        "Brazilian draughts (summary of the official rules)",
        "Damas brasileiras (resumo das regras oficiais)",
    ),
    "lidraughts": ("Brazilian draughts (lidraughts)", "Damas brasileiras (lidraughts)"),
    "fmjd64": ("Brazilian draughts (FMJD)", "Damas brasileiras (FMJD)"),
    "american": ("American checkers (English draughts)", "Damas americanas (inglesas)"),
    "russian": ("Russian draughts (shashki)", "Damas russas (shashki)"),
    "pool": ("American pool checkers", "Damas pool (americanas)"),
    "spanish": ("Spanish draughts", "Damas espanholas"),
    "portuguese": ("Portuguese draughts (damas clássicas)", "Damas clássicas (portuguesas)"),
    "international": ("International draughts", "Damas internacionais"),
    "thai": ("Thai checkers (makhos)", "Damas tailandesas (makhos)"),
    "filipino": ("Filipino dama", "Damas filipinas"),
}
"""What a person calls each rule set that ships, in the order of ``LANGUAGES``."""

PHRASES: dict[str, tuple[str | tuple[str, ...], str | tuple[str, ...]]] = {
    "board": ("Board", "Tabuleiro"),
    "men": ("Men", "Pedras"),
    "kings": ("Kings", "Damas"),
    "captures": ("Capturing", "Capturas"),
    "crowning": ("Crowning", "Promoção"),
    "end": ("End of the game", "Fim da partida"),
    "notation": ("Notation", "Notação"),
    "squares": (
        "The game is played on the {squares} dark squares of a board of {size}×{size}; the corner square at each "
        "player's {side} is dark.",
        "Joga-se nas {squares} casas escuras de um tabuleiro de {size}×{size}; a casa do canto à {side} de cada "
        "jogador é escura.",
    ),
    "setup": (
        "Each side starts with {men} men on the {rows} nearest to it; {first} moves first.",
        "Cada lado começa com {men} pedras {rows} do seu campo; {first} jogam primeiro.",
    ),
    "rows": (("row", "{n} rows"), ("na primeira fileira", "nas {n} primeiras fileiras")),
    "left": ("left", "esquerda"),
    "right": ("right", "direita"),
    "white": ("White", "as brancas"),
    "black": ("Black", "as pretas"),
    "man_moves": (
        "A man moves one square diagonally forward.",
        "A pedra anda uma casa na diagonal, sempre para a frente.",
    ),
    "man_captures_back": (
        "It captures forward and backward, jumping over an enemy piece next to it to the empty square behind.",
        "Ela captura para a frente e para trás, saltando a peça adversária vizinha e parando na casa vazia logo "
        "depois.",
    ),
    "man_captures_forward": (
        "It captures forward only, jumping over an enemy piece next to it to the empty square behind.",
        "Ela captura só para a frente, saltando a peça adversária vizinha e parando na casa vazia logo depois.",
    ),
    "man_spares_kings": ("A man cannot capture a king.", "A pedra não pode capturar damas."),
    "king_flies": (
        "A king moves along a diagonal as far as the way is free, forward or backward, and captures from any distance.",
        "A dama anda quantas casas livres quiser na diagonal, para a frente ou para trás, e captura de qualquer "
        "distância.",
    ),
    "king_lands": (
        "After a capture it may stop on any free square behind the captured piece.",
        "Depois de capturar, ela pode parar em qualquer casa livre atrás da peça capturada.",
    ),
    "king_adjacent": (
        "After a capture it must stop on the square right behind the captured piece.",
        "Depois de capturar, ela tem de parar na casa logo atrás da peça capturada.",
    ),
    "king_steps": (
        "A king moves one square diagonally, forward or backward, and captures a piece next to it in any direction.",
        "A dama anda uma casa na diagonal, para a frente ou para trás, e captura a peça vizinha em qualquer direção.",
    ),
    "compulsory": (
        "Whoever can capture must capture, and must go on while the same piece can take another one.",
        "Quem pode capturar é obrigado a capturar, e a continuar enquanto a mesma peça puder capturar outra.",
    ),
    "none": (
        "Among several captures the choice is free, however many pieces they take.",
        "Havendo várias capturas, a escolha é livre, não importa quantas peças cada uma leve.",
    ),
    "quantity": (
        "Among several captures, one that takes the most pieces is compulsory; men and kings count the same.",
        "Lei da maioria: havendo várias capturas, é obrigatório capturar o maior número de peças; pedra e dama valem o "
        "mesmo.",
    ),
    "quantity_kings": (
        "Among several captures, one that takes the most pieces is compulsory; among equals, one that takes the most "
        "kings.",
        "Lei da maioria: havendo várias capturas, é obrigatório capturar o maior número de peças e, em caso de "
        "igualdade, o maior número de damas.",
    ),
    "at_end": (
        "Captured pieces leave the board when the move is over: until then they block the way, and none may be jumped "
        "twice.",
        "As peças capturadas só saem do tabuleiro no fim do lance: até lá bloqueiam o caminho, e nenhuma pode ser "
        "saltada duas vezes.",
    ),
    "at_once": (
        "Captured pieces leave the board at once, so their squares are free for the rest of the capture.",
        "As peças capturadas saem do tabuleiro na hora, e as casas delas ficam livres para o resto da captura.",
    ),
    "crowned_end": (
        "A man that ends its move on the farthest row becomes a king; one that only passes there while capturing "
        "stays a man.",
        "A pedra que termina o lance na última fileira vira dama; a que só passa por lá durante uma captura continua "
        "pedra.",
    ),
    "crowned_stop": (
        "A man that reaches the farthest row becomes a king and its move ends there.",
        "A pedra que chega à última fileira vira dama, e o lance termina ali.",
    ),
    "crowned_continue": (
        "A man that reaches the farthest row becomes a king at once; if it is capturing, it goes on as one.",
        "A pedra que chega à última fileira vira dama na hora; se estiver capturando, continua como dama.",
    ),
    "win": (
        "Whoever has no legal move, for lack of pieces or because all are blocked, has lost, whatever a count says.",
        "Quem não tem lance possível, por falta de peças ou por estarem todas bloqueadas, perde, seja qual for a "
        "contagem.",
    ),
    "repetition": (
        "The game is drawn when a position occurs for the {nth} time with the same side to move.",
        "A partida empata quando a mesma posição, com o mesmo lado a jogar, aparece pela {nth} vez.",
    ),
    "ordinals": (("second", "third", "fourth", "fifth"), ("segunda", "terceira", "quarta", "quinta")),
    "no_repetition": ("Repeating a position does not draw the game.", "A repetição de posições não empata a partida."),
    "law": ("The game is drawn after {plies}{where}.", "A partida empata depois de {plies}{where}."),
    "law_free": (
        "The game is drawn after {plies}{where}{comma} without {events}.",
        "A partida empata depois de {plies}{where}{comma} sem {events}.",
    ),
    "plies": ("{n} plies", "{n} meios-lances"),
    "moves": (
        ("one move of each side", "{n} moves of each side"),
        ("um lance de cada lado", "{n} lances de cada lado"),
    ),
    "material": (" with {balances}", " com {balances}"),
    "against": ("{one} against {other}", "{one} contra {other}"),
    "diagonal": (", the lone king standing on the main diagonal", ", estando a dama solitária na grande diagonal"),
    "diagonal_only": (" with a lone king on the main diagonal", " com uma dama solitária na grande diagonal"),
    "pieces": (" with {pieces} on the board", " com {pieces} no tabuleiro"),
    "both_kings": (" while both sides have kings", " enquanto os dois lados têm damas"),
    "count_free": ("This count runs on whatever is played.", "Essa contagem segue, jogue-se o que se jogar."),
    "count_shared": (
        "These laws share one count, which runs on whatever is played.",
        "Esses casos têm uma só contagem, que segue, jogue-se o que se jogar.",
    ),
    "restart": ("{events} starts this count again.", "A contagem recomeça com {events}."),
    "restart_shared": (
        "These laws share one count, which {events} starts again.",
        "Esses casos têm uma só contagem, que recomeça com {events}.",
    ),
    "starts": (
        "The move that brings the condition about is not counted.",
        "O lance que cria a condição não é contado.",
    ),
    "waits": (
        "While the condition does not hold, the count waits.",
        "Enquanto a condição não se cumpre, a contagem espera.",
    ),
    "clears": (
        "When the condition no longer holds, the count goes back to zero.",
        "Quando a condição deixa de se cumprir, a contagem volta a zero.",
    ),
    "by_capture": ("a capture", "captura"),
    "by_man_move": ("a man's move", "movimento de pedra"),
    "by_crowning": ("a crowning", "promoção"),
    "by_change": ("a change of ending", "mudança de final"),
    "nor": (" or ", " nem "),
    "and": (" and ", " e "),
    "or": (" or ", " ou "),
    "no_laws": ("No count of moves draws the game.", "Nenhuma contagem de lances empata a partida."),
    "cap_draw": ("A game of {plies} is a draw.", "Uma partida de {plies} empata."),
    "cap_stop": (
        "After {plies} the game is stopped without a result.",
        "Depois de {plies} a partida para, sem resultado.",
    ),
    "agreement": ("The players may agree to a draw.", "Os jogadores podem combinar o empate."),
    "no_agreement": ("The players cannot agree to a draw.", "Não há empate combinado."),
    "king": (("1 king", "{n} kings"), ("1 dama", "{n} damas")),
    "man": (("1 man", "{n} men"), ("1 pedra", "{n} pedras")),
    "piece": (("1 piece", "{n} pieces"), ("1 peça", "{n} peças")),
    "more": ("{n} or more {what}", "{n} ou mais {what}"),
    "range": ("{low} to {high} pieces", "{low} a {high} peças"),
    "any": ("any number of {what}", "qualquer número de {what}"),
    "king_word": ("kings", "damas"),
    "man_word": ("men", "pedras"),
    "piece_word": ("pieces", "peças"),
    "fewer": ("at most {n} pieces", "no máximo {n} peças"),
    "top_left": ("top left", "canto superior esquerdo"),
    "bottom_right": ("bottom right", "canto inferior direito"),
    "numbered": (
        "Squares are numbered from the {corner} as White sees the board; files are written {style}.",
        "As casas são numeradas a partir do {corner}, como as brancas veem o tabuleiro; os arquivos usam {style}.",
    ),
    "algebraic": ("with names such as c3-d4", "nomes como c3-d4"),
    "numeric": ("with numbers such as 22-18", "números como 22-18"),
    "type": ("PDN calls it GameType {n}.", "No PDN é o GameType {n}."),
    "no_type": ("PDN has no GameType for it.", "O PDN não tem GameType para este jogo."),
}
"""Each phrase in the order of ``LANGUAGES``; a phrase of several forms (singular, plural) is a tuple of them."""
