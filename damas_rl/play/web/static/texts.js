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
    squares: "How squares are named", squaresAre: name => `Squares: ${name}`,
    first: "To the start", back: "One move back", run: "Play the moves one after the other", forth: "One move on", last: "To the current position",
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
    wins: side => `${side} wins`, youWin: "You win!", youLose: "You lose.", youResigned: "You resigned.", drawn: "Draw", stopped: "Game stopped",
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
    waiting: "Waiting for an answer …", accept: "Accept", decline: "Decline", declined: "Your opponent declines the draw.", undoDeclined: "Your opponent does not want to take the move back.", rematchOpen: "A rematch is waiting: press Rematch.",
    inviteText: "Send this link to the other player:", onlyHere: "It opens on this computer only. For another device, start damas web --host 0.0.0.0 and open the page by the address of this computer in your network.", copy: "Copy link", copied: "Copied.",
    choosePath: "Several captures end there. Choose:", captures: count => `${count} ${count === 1 ? "piece" : "pieces"}`,
    cancel: "Cancel", start: "Start", close: "Close",
    hintText: (move, value) => `Hint: ${move}, value ${value} for you (−1 lost, 0 even, 1 won)`, thenLine: line => `, then ${line}`,
    lookingForHint: "Looking for a hint …",
    resignReally: "Really resign?", lost: "The connection is lost; trying again …",
    noGame: "There is no such game any more: choose a new one.",
    unsaved: "This game cannot be saved now; is the disk full? It goes on, and every move tries again.",
    clockWaits: "The clocks stand still until the first move has been made.",
    against: "Opponent", machine: "The computer", onePage: "Two people, one screen", twoPages: "Two browsers, by a link",
    machines: "Computer against computer", level: "Level", levelOf: side => `${side} plays as`, colour: "Your colour",
    byLot: "By lot", rules: "Rules", clock: "Clock", noClock: "No clock", position: "Start from a position (FEN), game (PDN) or shared link",
    minutes: (main, periods, period) => `${main} min${periods ? ` + ${periods} × ${period} s` : ""}`,
    byoyomi: (periods, period) => (periods === 1 ? `After the main time, each move must be made within ${period} s.` :
      `After the main time there are ${periods} periods of ${period} s: a move that takes longer uses one up, and with the last one the game is lost.`),
    optional: "empty = the usual start",
    periodsLeft: (count, seconds) => `${count} × ${seconds} s`,
    square: "square", empty: "empty", piece: {w: "white man", b: "black man", W: "white king", B: "black king"},
    canMove: "can move", target: "can be reached",
    boardLabel: "Draughts board. Arrow keys move, Enter chooses, Escape lets go.",
    value: "value", visits: "visits", prior: "prior", move: "move", line: "Line",
    evaluationOf: value => `White ${value}`, simulations: count => `${count} simulations`, proven: "proven",
    whoseMind: "Analysed by", preparing: "The first look at a game of these rules takes a while …", training: "Training run", iterationNetwork: number => `Network of iteration ${number}`,
    chances: (white, draw, black) => `White wins ${white} %, draw ${draw} %, Black wins ${black} %`,
    positions: count => `${count.toLocaleString("en")} positions`, arrows: "Arrows", noArrows: "none",
    throws: {win: "throws the win away", draw: "throws the draw away"}, better: move => `better ${move}`,
    table: (result, plies) => ({win: `White wins in ${plies} plies`, loss: `Black wins in ${plies} plies`, draw: "a draw"}[result]),
    tableSays: (text, sure) => `Endgame table: ${text}${sure ? "" : ", if no draw law comes first"}.`, inLine: "A position of the expected line. Press » to come back.",
    rating: (value, gain, games) => `Your rating: ${value} (${gain >= 0 ? "+" : "−"}${Math.abs(gain)}) after ${games} rated ${games === 1 ? "game" : "games"}.`,
    noMoves: "No moves yet.", openFile: "or open a file",
    graphOfGame: "Graph of the game", atTheEnd: "The game ends here: look at an earlier move, or at the graph of the game.", drawingGraph: "Judging every move of the game …", graph: "Who stood better after each move: White above, Black below",
    thrown: count => `${count} ${count === 1 ? "move" : "moves"} threw a result away (red; ? in the list).`, nothingThrown: "No move threw a result away.",
    goal: "The goal", goalText: "Capture all pieces of your opponent, or leave them no move.", onThisPage: "On this page", whenDrawn: "When is it a draw?",
    usage: [
      "Tap one of the marked pieces and then the square it should go to; or drag it, or use arrow keys and Enter.",
      "Pieces marked red must capture. Captures are played to their end in one go.",
      "Hint shows a good move, Undo takes one back.",
    ],
    firstMove: "Tap one of the marked pieces, then the square it should go to.",
    why: {
      over: "The game is over.", choose: "First choose one of the marked pieces.",
      theirs: color => `That piece is not yours to move: it is ${color}'s turn.`,
      blocked: square => `The piece on ${square} cannot move now; the marked ones can.`,
      target: (square, targets) => `The piece on ${square} can go to ${targets}.`,
      capture: moves => `Capturing is compulsory: ${moves}.`,
      most: (count, moves) => `You must capture the most pieces, here ${count}: ${moves}.`,
    },
    share: "Share link", linkToGame: "This game", linkToPosition: "This position", wrongLink: reason => `This link cannot be opened: ${reason}`,
    aboutLinks: "Whoever opens such a link in this program sees a copy. It does not let anybody into your game.",
    trainingGames: "Training games", iteration: "Iteration", earlier: "Earlier", later: "Later",
    aboutTraining: "Games that the network played against itself while it learned. Choose one to see it with the mind that played it.",
    plyOf: (ply, count) => (ply ? `After ply ${ply} of ${count}` : "The start of the game"),
    measured: (iteration, scores) => `Measured after iteration ${iteration}: ${scores}`, score: (share, opponent) => `${share} % against ${opponent}`,
    noTraining: "This run has kept no games yet.", adjudicated: "by the endgame table", plies: count => `${count} plies`,
    iterationOf: (number, minutes) => `Iteration ${number}${minutes === null ? "" : `, after ${minutes} min of training`}`,
    replaying: (iteration, number, count, text) => `Training game ${number} of ${count}, iteration ${iteration}: ${text}`,
  },
  "pt-BR": {
    language: "English",
    otherLanguage: "en",
    newGame: "Novo jogo", sound: "Som", undo: "Desfazer", hint: "Dica", offerDraw: "Propor empate", resign: "Desistir",
    pause: "Pausar", goOn: "Continuar", rematch: "Revanche", turnBoard: "Girar tabuleiro", analyse: "Analisar",
    moves: "Lances", analysis: "Análise", savePdn: "Salvar PDN", copyFen: "Copiar FEN", howToPlay: "Como jogar",
    setUp: "Montar posição", tools: "Um toque coloca", takeAway: "nada (retira)", toMove: "Quem joga",
    initialPosition: "Posição inicial", clear: "Limpar", fenText: "Como texto (FEN)", playFromHere: "Jogar",
    movesOf: (side, count) => `As ${side} têm ${count} ${count === 1 ? "lance" : "lances"} aqui.`,
    faults: {
      none: ({side}) => `As ${side === "W" ? "brancas" : "pretas"} não têm nenhuma peça.`,
      many: ({side, count, most}) => `As ${side === "W" ? "brancas" : "pretas"} têm ${count} peças; o máximo é ${most}.`,
      crowning: ({side, squares}, name) => `Uma pedra ${side === "W" ? "branca" : "preta"} em ${name(squares[0])} já teria virado dama; ponha uma dama ali.`,
      blocked: ({side}) => `As ${side === "W" ? "brancas" : "pretas"} têm de jogar e não podem: esta partida já acabou.`,
    },
    squares: "Como as casas se chamam", squaresAre: name => `Casas: ${name}`,
    first: "Ao início", back: "Um lance atrás", run: "Mostrar os lances um após o outro", forth: "Um lance adiante", last: "À posição atual",
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
    wins: side => `As ${side} vencem`, youWin: "Você venceu!", youLose: "Você perdeu.", youResigned: "Você desistiu.", drawn: "Empate", stopped: "Jogo interrompido",
    ends: {
      NO_PIECES: loser => `as ${loser} ficaram sem peças`, BLOCKED: loser => `as ${loser} ficaram sem lances legais`,
      RESIGNATION: loser => `as ${loser} desistiram`, TIME: loser => `acabou o tempo das ${loser}`,
      REPETITION: () => "a posição se repetiu", NO_PROGRESS: () => "lances demais sem progresso",
      ENDING: () => "este final já durou demais", AGREEMENT: () => "de comum acordo",
      PLY_CAP_DRAW: () => "o jogo chegou ao limite de lances", PLY_CAP: () => "o jogo chegou ao limite de lances",
    },
    law: (name, left) => `${{kings_only: "Só damas", ending: "Final de empate", no_progress: "Sem progresso"}[name] ?? name.replaceAll("_", " ")}: empate em ${left} ${left === 1 ? "lance" : "lances"}.`,
    repeated: (count, limit) => `Esta posição ocorreu ${count} vezes${limit ? `; com ${limit} é empate` : ""}.`,
    drawOffered: side => `As ${side} propõem empate.`, undoAsked: side => `As ${side} pedem para desfazer um lance.`,
    waiting: "Esperando a resposta …", accept: "Aceitar", decline: "Recusar", declined: "Seu adversário recusa o empate.", undoDeclined: "Seu adversário não quer desfazer o lance.", rematchOpen: "A revanche espera por você: aperte Revanche.",
    inviteText: "Envie este link ao outro jogador:", onlyHere: "Ele só abre neste computador. Para outro aparelho, inicie damas web --host 0.0.0.0 e abra a página pelo endereço deste computador na sua rede.", copy: "Copiar link", copied: "Copiado.",
    choosePath: "Várias capturas terminam ali. Escolha:", captures: count => `${count} ${count === 1 ? "peça" : "peças"}`,
    cancel: "Cancelar", start: "Começar", close: "Fechar",
    hintText: (move, value) => `Dica: ${move}, valor ${value} para você (−1 perdido, 0 igual, 1 ganho)`, thenLine: line => `, depois ${line}`,
    lookingForHint: "Procurando uma dica …",
    resignReally: "Desistir mesmo?", lost: "A conexão caiu; tentando de novo …",
    noGame: "Esse jogo não existe mais: escolha um novo.",
    unsaved: "Não é possível salvar este jogo agora; o disco está cheio? Ele continua, e cada lance tenta de novo.",
    clockWaits: "Os relógios ficam parados até o primeiro lance.",
    against: "Adversário", machine: "O computador", onePage: "Duas pessoas, uma tela", twoPages: "Dois navegadores, por um link",
    machines: "Computador contra computador", level: "Nível", levelOf: side => `As ${side} jogam como`, colour: "Sua cor",
    byLot: "Sorteio", rules: "Regras", clock: "Relógio", noClock: "Sem relógio", position: "Começar de uma posição (FEN), jogo (PDN) ou link compartilhado",
    minutes: (main, periods, period) => `${main} min${periods ? ` + ${periods} × ${period} s` : ""}`,
    byoyomi: (periods, period) => (periods === 1 ? `Depois do tempo principal, cada lance tem de ser feito em ${period} s.` :
      `Depois do tempo principal há ${periods} períodos de ${period} s: um lance mais demorado gasta um deles, e com o último perde-se a partida.`),
    optional: "vazio = o início normal",
    periodsLeft: (count, seconds) => `${count} × ${seconds} s`,
    square: "casa", empty: "vazia", piece: {w: "pedra branca", b: "pedra preta", W: "dama branca", B: "dama preta"},
    canMove: "pode jogar", target: "destino possível",
    boardLabel: "Tabuleiro de damas. Setas movem, Enter escolhe, Escape solta.",
    value: "valor", visits: "visitas", prior: "rede", move: "lance", line: "Linha",
    evaluationOf: value => `Brancas ${value}`, simulations: count => `${count} simulações`, proven: "provado",
    whoseMind: "Quem analisa", preparing: "A primeira análise com estas regras demora um pouco …", training: "Treinamento", iterationNetwork: number => `Rede da iteração ${number}`,
    chances: (white, draw, black) => `Brancas vencem ${white} %, empate ${draw} %, Pretas vencem ${black} %`,
    positions: count => `${count.toLocaleString("pt-BR")} posições`, arrows: "Setas", noArrows: "nenhuma",
    throws: {win: "joga fora a vitória", draw: "joga fora o empate"}, better: move => `melhor ${move}`,
    table: (result, plies) => ({win: `as Brancas vencem em ${plies} lances`, loss: `as Pretas vencem em ${plies} lances`, draw: "empate"}[result]),
    tableSays: (text, sure) => `Tabela de finais: ${text}${sure ? "" : ", se nenhuma regra de empate vier antes"}.`, inLine: "Uma posição da linha esperada. Aperte » para voltar.",
    rating: (value, gain, games) => `Seu rating: ${value} (${gain >= 0 ? "+" : "−"}${Math.abs(gain)}) depois de ${games} ${games === 1 ? "jogo" : "jogos"}.`,
    noMoves: "Nenhum lance ainda.", openFile: "ou abrir um arquivo",
    graphOfGame: "Gráfico do jogo", atTheEnd: "A partida termina aqui: veja um lance anterior ou o gráfico do jogo.", drawingGraph: "Avaliando cada lance da partida …", graph: "Quem estava melhor depois de cada lance: Brancas acima, Pretas abaixo",
    thrown: count => `${count} ${count === 1 ? "lance jogou" : "lances jogaram"} fora um resultado (vermelho; ? na lista).`, nothingThrown: "Nenhum lance jogou fora um resultado.",
    goal: "O objetivo", goalText: "Capturar todas as peças do adversário, ou deixá-lo sem lances.", onThisPage: "Nesta página", whenDrawn: "Quando empata?",
    usage: [
      "Toque numa das peças marcadas e depois na casa de destino; ou arraste-a, ou use as setas e Enter.",
      "As peças marcadas em vermelho têm de capturar. A captura é jogada inteira, de uma só vez.",
      "Dica mostra um bom lance, Desfazer volta um lance.",
    ],
    firstMove: "Toque numa das peças marcadas e depois na casa de destino.",
    why: {
      over: "A partida acabou.", choose: "Escolha primeiro uma das peças marcadas.",
      theirs: color => `Essa peça não é sua agora: jogam as ${color}.`,
      blocked: square => `A peça em ${square} não pode jogar agora; as marcadas podem.`,
      target: (square, targets) => `A peça em ${square} pode ir para ${targets}.`,
      capture: moves => `A captura é obrigatória: ${moves}.`,
      most: (count, moves) => `É obrigatório capturar o maior número de peças, aqui ${count}: ${moves}.`,
    },
    share: "Compartilhar", linkToGame: "Esta partida", linkToPosition: "Esta posição", wrongLink: reason => `Este link não abre: ${reason}`,
    aboutLinks: "Quem abrir um destes links neste programa vê uma cópia. Ninguém entra na sua partida por ele.",
    trainingGames: "Jogos do treino", iteration: "Iteração", earlier: "Anterior", later: "Seguinte",
    aboutTraining: "Partidas que a rede jogou contra si mesma enquanto aprendia. Escolha uma para vê-la com a rede que a jogou.",
    plyOf: (ply, count) => (ply ? `Depois do lance ${ply} de ${count}` : "O início da partida"),
    measured: (iteration, scores) => `Medida depois da iteração ${iteration}: ${scores}`, score: (share, opponent) => `${share} % contra ${opponent}`,
    noTraining: "Este treinamento ainda não guardou partidas.", adjudicated: "pela tabela de finais", plies: count => `${count} lances`,
    iterationOf: (number, minutes) => `Iteração ${number}${minutes === null ? "" : `, com ${minutes} min de treino`}`,
    replaying: (iteration, number, count, text) => `Jogo ${number} de ${count} do treino, iteração ${iteration}: ${text}`,
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

/** A value with its sign, as the language writes numbers. */
export function signed(value) {
  const rounded = Math.round(100 * value) / 100; // nothing is −0.00
  const digits = Math.abs(rounded).toLocaleString(document.documentElement.lang, {minimumFractionDigits: 2, maximumFractionDigits: 2});
  return `${rounded >= 0 ? "+" : "−"}${digits}`;
}

/** The title of who holds a seat. */
export function seatName(seat) {
  return seat === "person" ? t.person : t.levels[seat] ?? seat;
}

/** The title of whose mind is looked into. */
export function mindName(name) {
  return name.startsWith("run:") ? t.iterationNetwork(name.slice(4)) : t.levels[name] ?? name;
}

/** What a person calls a rule set of the server's setup. */
export function rulesTitle({titles, size}) {
  return `${titles[document.documentElement.lang.slice(0, 2)]}, ${size}×${size}`;
}
