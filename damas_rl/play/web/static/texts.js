// All words of the page, in the two languages that it speaks.

const TEXTS = {
  en: {
    language: "Português",
    otherLanguage: "pt-BR",
    newGame: "New game", sound: "Sound", undo: "Undo", hint: "Hint", offerDraw: "Offer draw", resign: "Resign",
    pause: "Pause", goOn: "Go on", rematch: "Rematch", turnBoard: "Turn board", analyse: "Analyse", moves: "Moves",
    analysis: "Analysis", savePdn: "Save PDN", copyFen: "Copy FEN", howToPlay: "How to play",
    setUp: "Set up position", tools: "A tap puts", takeAway: "nothing (takes away)", toMove: "To move",
    initialPosition: "Initial position", clear: "Clear", fenText: "As text (FEN)", playFromHere: "Play",
    movesOf: (side, count) => `${side} has ${count} ${count === 1 ? "move" : "moves"} here.`,
    faults: {
      none: ({side}) => `${side === "W" ? "White" : "Black"} has no piece.`,
      many: ({side, count, most}) => `${side === "W" ? "White" : "Black"} has ${count} pieces; there are ${most} at most.`,
      crowning: ({side, squares}, name) => `A ${side === "W" ? "white" : "black"} man on ${name(squares[0])} would have been crowned; put a king there.`,
      blocked: ({side}) => `${side === "W" ? "White" : "Black"} is to move and cannot, so this game is over.`,
    },
    squares: "How squares are named",
    first: "To the start", back: "One move back", forth: "One move on", last: "To the current position",
    W: "White", B: "Black",
    person: "Person", you: "You", opponent: "Your opponent",
    levels: {beginner: "Beginner", casual: "Casual", amateur: "Amateur", club: "Club", strong: "Strong", network: "Neural network",
      full: "Full strength"},
    about: {
      beginner: "looks one move ahead, and every second move is drawn by lot",
      casual: "looks one move ahead, sometimes careless",
      amateur: "looks two plies ahead, rarely careless",
      club: "looks four plies ahead",
      strong: "looks seven plies ahead",
      network: "the network that learned from self-play, 1 s a move",
      full: "alpha-beta with a learned evaluation, 1 s a move",
    },
    yourTurn: "Your turn", mustCapture: "you must capture", turnOf: side => `${side} to move`,
    thinking: name => `${name} is thinking …`, pausedState: "Paused",
    past: "An earlier position. Press » to come back.",
    wins: side => `${side} wins`, youWin: "You win!", youLose: "You lose.", drawn: "Draw", stopped: "Game stopped",
    ends: {
      NO_PIECES: loser => `${loser} has no piece left`, BLOCKED: loser => `${loser} has no legal move`,
      RESIGNATION: loser => `${loser} resigned`, TIME: loser => `the time of ${loser} is up`,
      REPETITION: () => "the position has been repeated", NO_PROGRESS: () => "too many moves without progress",
      ENDING: () => "this ending has gone on for too long", AGREEMENT: () => "by agreement",
      PLY_CAP_DRAW: () => "the game is as long as the rules allow", PLY_CAP: () => "the game is as long as the rules allow",
    },
    law: (name, left) => `${{kings_only: "Kings only", ending: "Drawn ending", no_progress: "No progress"}[name] ?? name.replaceAll("_", " ")}: draw in ${left} ${left === 1 ? "ply" : "plies"}.`,
    repeated: (count, limit) => `This position has occurred ${count} times${limit ? `; ${limit} times draw` : ""}.`,
    drawOffered: side => `${side} offers a draw.`, undoAsked: side => `${side} asks to take a move back.`,
    waiting: "Waiting for an answer …", accept: "Accept", decline: "Decline", declined: "Your opponent declines the draw.",
    inviteText: "Send this link to the other player:", copy: "Copy link", copied: "Copied.",
    choosePath: "Several captures end there. Choose:", captures: count => `${count} ${count === 1 ? "piece" : "pieces"}`,
    cancel: "Cancel", start: "Start", close: "Close",
    hintText: (move, value) => `Hint: ${move} (${value})`, thenLine: line => `, then ${line}`,
    lookingForHint: "Looking for a hint …",
    resignReally: "Really resign?", lost: "The connection is lost; trying again …",
    noGame: "There is no such game any more.",
    against: "Opponent", machine: "The computer", onePage: "Two people, one screen", twoPages: "Two browsers, by a link",
    machines: "Computer against computer", level: "Level", levelOf: side => `${side} plays as`, colour: "Your colour",
    byLot: "By lot", rules: "Rules", clock: "Clock", noClock: "No clock", position: "Start from a position (FEN) or game (PDN)",
    minutes: (main, periods, period) => `${main} min${periods ? ` + ${periods} × ${period} s` : ""}`,
    optional: "empty = the usual start",
    periodsLeft: (count, seconds) => `${count} × ${seconds} s`,
    byoyomi: "byo-yomi", square: "square", empty: "empty", piece: {w: "white man", b: "black man", W: "white king", B: "black king"},
    canMove: "can move", target: "can be reached",
    boardLabel: "Draughts board. Arrow keys move, Enter chooses, Escape lets go.",
    value: "value", visits: "visits", prior: "prior", move: "move", line: "Line",
    evaluationOf: value => `White ${value}`, simulations: count => `${count} simulations`, proven: "proven",
    whoseMind: "Analysed by", training: "Training run", iterationNetwork: number => `Network of iteration ${number}`,
    chances: (white, draw, black) => `White wins ${white} %, draw ${draw} %, Black wins ${black} %`,
    positions: count => `${count.toLocaleString("en")} positions`, arrows: "Arrows", noArrows: "none",
    throws: {win: "throws the win away", draw: "throws the draw away"}, better: move => `better ${move}`,
    table: (result, plies) => ({win: `White wins in ${plies} plies`, loss: `Black wins in ${plies} plies`, draw: "a draw"}[result]),
    tableSays: (text, sure) => `Endgame table: ${text}${sure ? "" : ", if no draw law comes first"}.`, inLine: "A position of the expected line. Press » to come back.",
    rating: (value, gain, games) => `Your rating: ${value} (${gain >= 0 ? "+" : "−"}${Math.abs(gain)}) after ${games} rated ${games === 1 ? "game" : "games"}.`,
    noMoves: "No moves yet.", openFile: "or open a file",
    graphOfGame: "Graph of the game", graph: "Who stood better after each move: White above, Black below",
    thrown: count => `${count} ${count === 1 ? "move" : "moves"} threw a result away (red; ? in the list).`, nothingThrown: "No move threw a result away.",
    howto: [
      "White begins. Men move one square forwards on the dark diagonals.",
      "Men capture forwards and backwards by jumping over a piece to the empty square behind it.",
      "Capturing is compulsory, and the most pieces must be taken. The page marks the pieces that can move.",
      "A man that ends its move on the far row becomes a king. Kings move and capture any distance along a diagonal.",
      "Captured pieces leave the board when the whole capture is over; none is jumped twice.",
      "You win when your opponent has no piece or no move left.",
      "Tap a piece and then its target, drag it, or use arrow keys and Enter.",
    ],
  },
  "pt-BR": {
    language: "English",
    otherLanguage: "en",
    newGame: "Novo jogo", sound: "Som", undo: "Desfazer", hint: "Dica", offerDraw: "Propor empate", resign: "Desistir",
    pause: "Pausar", goOn: "Continuar", rematch: "Revanche", turnBoard: "Girar tabuleiro", analyse: "Analisar",
    moves: "Lances", analysis: "Análise", savePdn: "Salvar PDN", copyFen: "Copiar FEN", howToPlay: "Como jogar",
    setUp: "Montar posição", tools: "Um toque põe", takeAway: "nada (retira)", toMove: "Quem joga",
    initialPosition: "Posição inicial", clear: "Limpar", fenText: "Como texto (FEN)", playFromHere: "Jogar",
    movesOf: (side, count) => `As ${side} têm ${count} ${count === 1 ? "lance" : "lances"} aqui.`,
    faults: {
      none: ({side}) => `As ${side === "W" ? "brancas" : "pretas"} não têm nenhuma peça.`,
      many: ({side, count, most}) => `As ${side === "W" ? "brancas" : "pretas"} têm ${count} peças; o máximo é ${most}.`,
      crowning: ({side, squares}, name) => `Uma pedra ${side === "W" ? "branca" : "preta"} em ${name(squares[0])} já teria virado dama; ponha uma dama ali.`,
      blocked: ({side}) => `As ${side === "W" ? "brancas" : "pretas"} têm de jogar e não podem: esta partida já acabou.`,
    },
    squares: "Como as casas se chamam",
    first: "Ao início", back: "Um lance atrás", forth: "Um lance adiante", last: "À posição atual",
    W: "Brancas", B: "Pretas",
    person: "Pessoa", you: "Você", opponent: "Seu adversário",
    levels: {beginner: "Iniciante", casual: "Casual", amateur: "Amador", club: "Clube", strong: "Forte", network: "Rede neural",
      full: "Força total"},
    about: {
      beginner: "vê um lance à frente, e metade dos lances é sorteada",
      casual: "vê um lance à frente, às vezes se distrai",
      amateur: "vê dois lances à frente, raramente se distrai",
      club: "vê quatro lances à frente",
      strong: "vê sete lances à frente",
      network: "a rede que aprendeu jogando sozinha, 1 s por lance",
      full: "alfa-beta com avaliação aprendida, 1 s por lance",
    },
    yourTurn: "Sua vez", mustCapture: "a captura é obrigatória", turnOf: side => `Jogam as ${side}`,
    thinking: name => `${name} está pensando …`, pausedState: "Em pausa",
    past: "Uma posição anterior. Aperte » para voltar.",
    wins: side => `${side} vencem`, youWin: "Você venceu!", youLose: "Você perdeu.", drawn: "Empate", stopped: "Jogo interrompido",
    ends: {
      NO_PIECES: loser => `${loser} sem peças`, BLOCKED: loser => `${loser} sem lances legais`,
      RESIGNATION: loser => `${loser} desistiram`, TIME: loser => `acabou o tempo das ${loser}`,
      REPETITION: () => "a posição se repetiu", NO_PROGRESS: () => "lances demais sem progresso",
      ENDING: () => "este final já durou demais", AGREEMENT: () => "de comum acordo",
      PLY_CAP_DRAW: () => "o jogo chegou ao limite de lances", PLY_CAP: () => "o jogo chegou ao limite de lances",
    },
    law: (name, left) => `${{kings_only: "Só damas", ending: "Final de empate", no_progress: "Sem progresso"}[name] ?? name.replaceAll("_", " ")}: empate em ${left} ${left === 1 ? "lance" : "lances"}.`,
    repeated: (count, limit) => `Esta posição ocorreu ${count} vezes${limit ? `; com ${limit} é empate` : ""}.`,
    drawOffered: side => `${side} propõem empate.`, undoAsked: side => `${side} pedem para desfazer um lance.`,
    waiting: "Esperando a resposta …", accept: "Aceitar", decline: "Recusar", declined: "Seu adversário recusa o empate.",
    inviteText: "Envie este link ao outro jogador:", copy: "Copiar link", copied: "Copiado.",
    choosePath: "Várias capturas terminam ali. Escolha:", captures: count => `${count} ${count === 1 ? "peça" : "peças"}`,
    cancel: "Cancelar", start: "Começar", close: "Fechar",
    hintText: (move, value) => `Dica: ${move} (${value})`, thenLine: line => `, depois ${line}`,
    lookingForHint: "Procurando uma dica …",
    resignReally: "Desistir mesmo?", lost: "A conexão caiu; tentando de novo …",
    noGame: "Esse jogo não existe mais.",
    against: "Adversário", machine: "O computador", onePage: "Duas pessoas, uma tela", twoPages: "Dois navegadores, por um link",
    machines: "Computador contra computador", level: "Nível", levelOf: side => `${side} jogam como`, colour: "Sua cor",
    byLot: "Sorteio", rules: "Regras", clock: "Relógio", noClock: "Sem relógio", position: "Começar de uma posição (FEN) ou jogo (PDN)",
    minutes: (main, periods, period) => `${main} min${periods ? ` + ${periods} × ${period} s` : ""}`,
    optional: "vazio = o início normal",
    periodsLeft: (count, seconds) => `${count} × ${seconds} s`,
    byoyomi: "byo-yomi", square: "casa", empty: "vazia", piece: {w: "pedra branca", b: "pedra preta", W: "dama branca", B: "dama preta"},
    canMove: "pode jogar", target: "destino possível",
    boardLabel: "Tabuleiro de damas. Setas movem, Enter escolhe, Escape solta.",
    value: "valor", visits: "visitas", prior: "rede", move: "lance", line: "Linha",
    evaluationOf: value => `Brancas ${value}`, simulations: count => `${count} simulações`, proven: "provado",
    whoseMind: "Quem analisa", training: "Treinamento", iterationNetwork: number => `Rede da iteração ${number}`,
    chances: (white, draw, black) => `Brancas vencem ${white} %, empate ${draw} %, Pretas vencem ${black} %`,
    positions: count => `${count.toLocaleString("pt-BR")} posições`, arrows: "Setas", noArrows: "nenhuma",
    throws: {win: "joga a vitória fora", draw: "joga o empate fora"}, better: move => `melhor ${move}`,
    table: (result, plies) => ({win: `as Brancas vencem em ${plies} lances`, loss: `as Pretas vencem em ${plies} lances`, draw: "empate"}[result]),
    tableSays: (text, sure) => `Tabela de finais: ${text}${sure ? "" : ", se nenhuma regra de empate vier antes"}.`, inLine: "Uma posição da linha esperada. Aperte » para voltar.",
    rating: (value, gain, games) => `Seu rating: ${value} (${gain >= 0 ? "+" : "−"}${Math.abs(gain)}) depois de ${games} ${games === 1 ? "jogo" : "jogos"}.`,
    noMoves: "Nenhum lance ainda.", openFile: "ou abrir um arquivo",
    graphOfGame: "Gráfico do jogo", graph: "Quem estava melhor depois de cada lance: Brancas acima, Pretas abaixo",
    thrown: count => `${count} ${count === 1 ? "lance jogou" : "lances jogaram"} um resultado fora (vermelho; ? na lista).`, nothingThrown: "Nenhum lance jogou um resultado fora.",
    howto: [
      "As brancas começam. As pedras andam uma casa para a frente, nas diagonais escuras.",
      "As pedras capturam para a frente e para trás, saltando sobre uma peça para a casa vazia logo depois dela.",
      "A captura é obrigatória, e vale a que toma mais peças. A página marca as peças que podem jogar.",
      "A pedra que termina o lance na última fileira vira dama. A dama anda e captura a qualquer distância na diagonal.",
      "As peças capturadas saem do tabuleiro no fim do lance; nenhuma é saltada duas vezes.",
      "Você vence quando o adversário fica sem peças ou sem lances.",
      "Toque numa peça e depois no destino, arraste-a, ou use as setas e Enter.",
    ],
  },
};

/** The language chosen before, else the browser's if it is Portuguese, else English. */
export function chosenLanguage() {
  const kept = localStorage.getItem("damas.language");
  if (kept in TEXTS) return kept;
  return navigator.languages.some(name => name.toLowerCase().startsWith("pt")) &&
    !navigator.languages[0].toLowerCase().startsWith("en") ? "pt-BR" : "en";
}

/** The words of the chosen language. */
export let t = TEXTS[chosenLanguage()];

/** Changes the language of everything that carries data-text, and keeps the choice. */
export function useLanguage(name, keep = false) {
  t = TEXTS[name];
  if (keep) localStorage.setItem("damas.language", name);
  document.documentElement.lang = name;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t[element.dataset.text];
}

/** The title of who holds a seat. */
export function seatName(seat) {
  return seat === "person" ? t.person : t.levels[seat] ?? seat;
}

/** The title of whose mind is looked into. */
export function mindName(name) {
  return name.startsWith("run:") ? t.iterationNetwork(name.slice(4)) : t.levels[name] ?? name;
}
