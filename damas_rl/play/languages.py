"""What the server and the terminal say, in Portuguese too.

Everything in the program speaks English. Here its sentences are known again, and said in the language of the person.
"""

import re
from functools import cache

ENGLISH, PORTUGUESE = "en", "pt-BR"


def language_of(accepted: str) -> str:
    """The first language of an ``Accept-Language`` header that is spoken here; English if there is none."""
    for name in accepted.lower().split(","):
        if name.strip().startswith("pt"):
            return PORTUGUESE
        if name.strip().startswith("en"):
            break
    return ENGLISH


def said_in(language: str, sentence: str) -> str:
    """A sentence of the program in a language; one that is not known stays English."""
    if language != PORTUGUESE:
        return sentence
    for pattern, names, translation in _patterns():
        if match := pattern.fullmatch(sentence):
            parts = dict(zip(names, match.groups(), strict=True))
            parts |= {name: said_in(language, parts[name]) for name in _OURS if name in parts}
            return "".join(parts[word] if place % 2 else word for place, word in enumerate(translation))
    return sentence


@cache
def _patterns() -> list[tuple[re.Pattern[str], list[str], list[str]]]:
    """For each sentence a pattern, the names of its parts, and the translation split at its parts; longest first."""
    patterns = []
    for english, portuguese in sorted(SENTENCES.items(), key=lambda pair: -len(re.sub("<.*?>", "", pair[0]))):
        words = re.split("<(.*?)>", english)
        text = "(.*?)".join(map(re.escape, words[::2]))
        patterns.append((re.compile(text, re.DOTALL), words[1::2], re.split("<(.*?)>", portuguese)))
    return patterns


_OURS = ("error", "side", "loser", "law", "result", "length", "verdict")
"""Parts that are words of the program themselves."""

SENTENCES = {
    # Requests (app, guard, requests)
    "There is nothing here.": "Não há nada aqui.",
    "This address does not take that method.": "Este endereço não aceita esse método.",
    "The request is too large.": "O pedido é grande demais.",
    "The request has broken off.": "O pedido foi interrompido.",
    "The games cannot be kept: <cause>.": "Não é possível guardar os jogos: <cause>.",
    "Messages must be text.": "As mensagens devem ser texto.",
    "Too many pages show this game already.": "Páginas demais já mostram este jogo.",
    "This game cannot be read any more.": "Não é mais possível ler este jogo.",
    "Requests must be application/json.": "Os pedidos devem ser application/json.",
    "There is no game with this key.": "Não há jogo com esta chave.",
    "The first message must hold the key of a game.": "A primeira mensagem deve conter a chave de um jogo.",
    "analyse must be a number of plies or null.": "analyse deve ser um número de lances ou null.",
    "This server does not answer under that name; start it with --host to open it to others.":
        "Este servidor não responde por esse nome; inicie-o com --host para abri-lo a outros.",
    "Pages of another origin cannot use this server.": "Páginas de outra origem não podem usar este servidor.",
    "The request must be a JSON object.": "O pedido deve ser um objeto JSON.",
    "A new game knows no <key>; it takes <known>.": "Um jogo novo não conhece <key>; aceita <known>.",
    "rules: <value> is none of <known>.": "rules: <value> não é nenhuma de <known>.",
    'seats must be an object such as {"W": "person", "B": "club"}.':
        'seats deve ser um objeto como {"W": "person", "B": "club"}.',
    "seats: <value> is none of <known>.": "seats: <value> não é nenhum de <known>.",
    "remote must be true or false.": "remote deve ser true ou false.",
    "position must be text of at most <count> characters.":
        "position deve ser um texto de no máximo <count> caracteres.",
    "color must be W or B.": "color deve ser W ou B.",
    'clock must be null or an object such as {"main": 300, "periods": 3, "period": 30}.':
        'clock deve ser null ou um objeto como {"main": 300, "periods": 3, "period": 30}.',
    "clock.main is missing.": "Falta clock.main.",
    "do must name what is to be done.": "do deve dizer o que fazer.",
    "action must be the number of a legal move.": "action deve ser o número de um lance legal.",
    "clock.<name> must be a whole number of seconds or periods from 0 to <most>.":
        "clock.<name> deve ser um número inteiro de segundos ou períodos, de 0 a <most>.",
    "clock.periods and clock.period go together: give both or neither.":
        "clock.periods e clock.period andam juntos: dê os dois ou nenhum.",
    "A clock needs main time or byo-yomi periods.": "Um relógio precisa de tempo principal ou de períodos de byo-yomi.",
    "A position knows no <key>; it takes rules, and fen, or pieces and color.":
        "Uma posição não conhece <key>; aceita rules, e fen, ou pieces e color.",
    "fen must be text.": "fen deve ser um texto.",
    'pieces must be an object such as {"22": "w", "1": "B"}.': 'pieces deve ser um objeto como {"22": "w", "1": "B"}.',
    "pieces: <value> is none of w, b (men), W, B (kings).":
        "pieces: <value> não é nenhum de w, b (pedras), W, B (damas).",
    # At the table (table, rooms, analysis)
    "Machines take nothing back.": "Computadores não desfazem lances.",
    "There is no move to take back.": "Não há lance para desfazer.",
    "You have not moved yet, so there is nothing to take back.": "Você ainda não jogou; não há nada para desfazer.",
    "The rules <name> know no draw by agreement.": "As regras <name> não conhecem empate de comum acordo.",
    "The game is over.": "O jogo acabou.",
    "The game is not over yet.": "O jogo ainda não acabou.",
    "Only two persons can play in two browsers.": "Só duas pessoas podem jogar em dois navegadores.",
    "It is not your turn.": "Não é a sua vez.",
    "Only players resign.": "Só quem joga pode desistir.",
    "Only players offer a draw.": "Só quem joga pode propor empate.",
    "Only machines can be paused.": "Só computadores podem ser pausados.",
    "There is nothing called <action> to do.": "Não há nada chamado <action> para fazer.",
    "The game is over, there is nothing to advise.": "O jogo acabou; não há o que aconselhar.",
    "There are no hints while two persons play.": "Não há dicas enquanto duas pessoas jogam.",
    "Offer a draw when it is your turn.": "Proponha empate quando for a sua vez.",
    "It is too early for a draw: the computer takes one after <moves> moves of each side, or with <pieces> pieces or "
    "fewer.":
        "Ainda é cedo para empatar: o computador só aceita depois de <moves> lances de cada lado, ou com <pieces> "
        "peças ou menos.",
    "The computer declines the draw: it expects more.": "O computador recusa o empate: espera mais.",
    "The position has changed meanwhile.": "A posição mudou nesse meio-tempo.",
    "The game has no such ply.": "O jogo não tem esse lance.",
    "There is no analysis while two persons play.": "Não há análise enquanto duas pessoas jogam.",
    "This network knows boards of <width>x<height> only.": "Esta rede só conhece tabuleiros de <width>x<height>.",
    "There is no such player to look into.": "Não há esse jogador para examinar.",
    "mind must be a name or null.": "mind deve ser um nome ou null.",
    "No training run is served.": "Nenhum treino é mostrado aqui.",
    "No games of iteration <iteration> were kept.": "Nenhum jogo da iteração <iteration> foi guardado.",
    "The file with the games of iteration <iteration> is too large.":
        "O arquivo com os jogos da iteração <iteration> é grande demais.",
    "The file with the games of iteration <iteration> is empty.":
        "O arquivo com os jogos da iteração <iteration> está vazio.",
    "The games of iteration <iteration> cannot be read: <cause>.":
        "Não é possível ler os jogos da iteração <iteration>: <cause>.",
    "The network of iteration <iteration> was not kept.": "A rede da iteração <iteration> não foi guardada.",
    "Player <spec>: this network was trained for the rules <rules> on <width>x<height>, not for a board of "
    "<columns>x<rows>.":
        "Jogador <spec>: esta rede foi treinada para as regras <rules> em <width>x<height>, não para um tabuleiro de "
        "<columns>x<rows>.",
    "Player <spec>: this network was trained for the rules <rules>, not for <others>; with transfer=true it plays "
    "these too, untrained.":
        "Jogador <spec>: esta rede foi treinada para as regras <rules>, não para <others>; com transfer=true ela joga "
        "também estas, sem treino.",
    # Positions and games as text (damas_env)
    "This text holds neither a position (FEN) nor a game (PDN).":
        "Este texto não contém nem uma posição (FEN) nem um jogo (PDN).",
    "A game of more than <count> plies cannot be gone on with.":
        "Não é possível continuar um jogo de mais de <count> lances.",
    "Too many games begin in line <line>: give each a line of its own.":
        "Jogos demais começam na linha <line>: dê a cada um a sua própria linha.",
    "The header of this game says <tag>, which is not <rules>: choose the rules of the game.":
        "O cabeçalho deste jogo diz <tag>, que não é <rules>: escolha as regras do jogo.",
    "Line <line>: <error>": "Linha <line>: <error>",
    "White": "Brancas",
    "Black": "Pretas",
    "a FEN is a text, not <value>": "uma FEN é um texto, não <value>",
    "FEN of <count> characters: no position needs more than <most>":
        "FEN de <count> caracteres: nenhuma posição precisa de mais de <most>",
    'empty FEN: write a position such as "W:W21,22,K31:B1,K12", or "initial" for the start':
        'FEN vazia: escreva uma posição como "W:W21,22,K31:B1,K12", ou "initial" para o início',
    "FEN <text> must begin with the side to move, 'W:' or 'B:', not <turn>":
        "a FEN <text> deve começar com o lado que joga, 'W:' (brancas) ou 'B:' (pretas), não com <turn>",
    "FEN <text>: <field> does not begin with 'W' or 'B', the side it lists":
        "FEN <text>: <field> não começa com 'W' (brancas) ou 'B' (pretas), o lado das peças",
    "FEN <text> lists <side>'s pieces twice: write each side once":
        "a FEN <text> lista duas vezes as peças das <side>: escreva cada lado uma vez",
    "FEN <text> does not list <side>'s pieces: write ':<letter>' if it has none":
        "a FEN <text> não lista as peças das <side>: escreva ':<letter>' se não houver nenhuma",
    "FEN <text> has no piece at all": "a FEN <text> não tem peça nenhuma",
    "FEN <text> puts two pieces on square <number> (<name>)": "a FEN <text> põe duas peças na casa <number> (<name>)",
    "FEN <text> has a <side> man on its crowning row, square <number> (<name>): write K<king> for a king":
        "a FEN <text> tem uma pedra das <side> na sua fileira de coroação, casa <number> (<name>): escreva K<king> "
        "para uma dama",
    "FEN <text> gives <side> <count> pieces: a side has at most <most>":
        "a FEN <text> dá <count> peças às <side>: um lado tem no máximo <most>",
    "FEN <text>: range <item> runs backwards": "FEN <text>: o intervalo <item> vai de trás para a frente",
    "FEN <text>: <error>": "FEN <text>: <error>",
    "square <number> is not on the board: squares run from 1 to <count>":
        "a casa <number> não está no tabuleiro: as casas vão de 1 a <count>",
    "<text> is not a playable square: write a number from 1 to <count> or a name such as <name>":
        "<text> não é uma casa em que se joga: escreva um número de 1 a <count> ou um nome como <name>",
    "<text> is not a move: write it like 22-17, 22x13 or c3-d4":
        "<text> não é um lance: escreva-o como 22-17, 22x13 ou c3-d4",
    "<text> is not a move: <error>": "<text> não é um lance: <error>",
    "<value> is not a move: give a Move, an action index or text like 22-17":
        "<value> não é um lance: dê um Move, o índice de uma ação ou um texto como 22-17",
    "move <text> is ambiguous in <fen>: it can be <moves>": "o lance <text> é ambíguo em <fen>: pode ser <moves>",
    "move <text> is illegal in <fen>: the game is over": "o lance <text> é ilegal em <fen>: o jogo acabou",
    "move <text> is illegal in <fen>; legal: <moves>": "o lance <text> é ilegal em <fen>; legais: <moves>",
    "move <text> is illegal in <fen> (capturing is compulsory); legal: <moves>":
        "o lance <text> é ilegal em <fen> (a captura é obrigatória); legais: <moves>",
    "action <action> is illegal in <fen>: <error>": "a ação <action> é ilegal em <fen>: <error>",
    "legal: <moves>": "legais: <moves>",
    "the game is over": "o jogo acabou",
    "the position is set up anew in the middle of the game": "a posição é montada de novo no meio do jogo",
    "a variation opened by '(' is never closed": "uma variante aberta por '(' nunca é fechada",
    "')' closes a variation that was never opened": "')' fecha uma variante que nunca foi aberta",
    "a comment opened by '{' is never closed": "um comentário aberto por '{' nunca é fechado",
    "<text> is neither a move nor a result": "<text> não é nem um lance nem um resultado",
    "Position 0 of the batch has <count> legal moves or more; there is no room.":
        "Esta posição tem <count> lances legais ou mais; não há espaço para tantos.",
    # In the terminal (terminal, views)
    "You play <side> against <name>.": "Você joga com as <side> contra <name>.",
    "White is <white>, Black is <black>. Ctrl-C ends the game.":
        "Brancas: <white>. Pretas: <black>. Ctrl-C encerra o jogo.",
    "Two people play here.": "Duas pessoas jogam aqui.",
    "Type a move, or help.": "Digite um lance, ou ajuda.",
    "Type help for the commands.": "Digite ajuda para ver os comandos.",
    "<side> plays [bold]<move>[/bold].": "As <side> jogam [bold]<move>[/bold].",
    "<name> is thinking": "<name> está pensando",
    "looking for a hint": "procurando uma dica",
    "analysing": "analisando",
    "looking at the moves": "examinando os lances",
    "<plies> of <limit> <law> plies": "<plies> de <limit> lances: <law>",
    "kings-only": "só damas",
    "ending": "final de empate",
    "no-progress": "sem progresso",
    "occurrence <count> of this position": "<count>ª vez desta posição",
    "occurrence <count> of <limit> of this position": "<count>ª de <limit> vezes desta posição",
    "Clock: White <white>, Black <black>": "Relógio: Brancas <white>, Pretas <black>",
    "<seconds> s, last period": "<seconds> s, último período",
    "<seconds> s, <count> periods": "<seconds> s, <count> períodos",
    "Nothing can follow <command>.": "Nada pode vir depois de <command>.",
    "You must capture.": "A captura é obrigatória.",
    "<side>, move <number>": "<side>, lance <number>",
    "Game over (undo, rematch, review, save FILE, quit)":
        "Fim de jogo (desfazer, revanche, rever, salvar ARQUIVO, sair)",
    "<side> wins: <loser> has no piece left.": "As <side> vencem: as <loser> ficaram sem peças.",
    "<side> wins: <loser> has no legal move.": "As <side> vencem: as <loser> não têm lance legal.",
    "<side> wins: <loser> resigns.": "As <side> vencem: as <loser> desistem.",
    "<side> wins: <loser>'s time is over.": "As <side> vencem: acabou o tempo das <loser>.",
    "Draw by agreement.": "Empate de comum acordo.",
    "Draw: the position has occurred <count> times.": "Empate: a posição ocorreu <count> vezes.",
    "Draw: <count> plies without progress.": "Empate: <count> lances sem progresso.",
    "Draw: <count> plies in an ending that is drawn by rule.": "Empate: <count> lances em um final de empate.",
    "Draw: the game has lasted <count> plies.": "Empate: o jogo chegou a <count> lances.",
    "Stopped without a result: the game has lasted <count> plies.":
        "Interrompido sem resultado: o jogo chegou a <count> lances.",
    "Well played!": "Muito bem!",
    "Your rating: <value> (<gain>), rated games: <count>.": "Seu rating: <value> (<gain>), jogos que contam: <count>.",
    "The game is not rated: <cause>": "O jogo não conta para o rating: <cause>",
    "Better luck next time.": "Mais sorte na próxima.",
    "Hint: [bold]<move>[/bold], value <value> for you (-1 to 1).":
        "Dica: [bold]<move>[/bold], valor <value> para você (-1 a 1).",
    "Then <line>.": "Depois <line>.",
    "The game is over: undo, rematch, review, save FILE or quit.":
        "O jogo acabou: desfazer, revanche, rever, salvar ARQUIVO ou sair.",
    "The game is over: review looks at its moves.": "O jogo acabou: rever examina os seus lances.",
    "There is no move to look at yet.": "Ainda não há lance para examinar.",
    "The game goes on: resign first, or offer a draw.": "O jogo continua: antes desista, ou proponha empate.",
    "Say where: save FILE.": "Diga onde: salvar ARQUIVO.",
    "<name> is no name for a file: choose another one.": "<name> não serve como nome de arquivo: escolha outro.",
    "<path> is there already: choose another name.": "<path> já existe: escolha outro nome.",
    "<name> could not be written: <cause>.": "Não foi possível gravar <name>: <cause>.",
    "The game is in <path>.": "O jogo está em <path>.",
    "The moves were: <moves>": "Os lances foram: <moves>",
    "End of input.": "Fim da entrada.",
    "Stopped.": "Interrompido.",
    "Goodbye.": "Até logo.",
    "<side> to move: <value>, <count> positions looked at": "Jogam as <side>: <value>, <count> posições examinadas",
    "endgame table, draw laws left out: <verdict>": "tabela de finais, sem as regras de empate: <verdict>",
    "<side> throws the <result> away": "as <side> põem a perder: <result>",
    "win": "vitória",
    "draw": "empate",
    "win in <length>": "vitória em <length>",
    "loss in <length>": "derrota em <length>",
    "You": "Você",
    "Person": "Pessoa",
    "better <line>": "melhor <line>",
    "<length>, no result thrown away": "<length>, nenhum pôs o resultado a perder",
    "<length>, one result thrown away": "<length>, um pôs o resultado a perder",
    "<length>, <count> results thrown away": "<length>, <count> puseram o resultado a perder",
    "1 ply": "1 lance",
    "<count> plies": "<count> lances",
    "move": "lance",
    "value": "valor",
    "prior": "rede",
    "visits": "visitas",
    "endgame table": "tabela de finais",
    "line": "linha",
    "ply": "nº",
    "before": "antes",
    "after": "depois",
    "remark": "observação",
}  # fmt: skip
"""Sentences and their translations. ``<name>`` stands for a part that changes; tests compare them with the sources."""
