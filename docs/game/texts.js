// What is said of cards, plays, results.
const YOU = 0;
const HELPS = ["hints", "undo"];

const plain = (number) => `${number}`.replace("-", "−");
const signed = (number) => (number > 0 ? `+${number}` : plain(number));
const counted = (number, what) => `${plain(number)} ${what}${Math.abs(number) === 1 ? "" : "s"}`;
const tone = (points) => (points > 0 ? "gain" : points < 0 ? "loss" : "quiet");
const names = () => ["You", "Easy"].slice(0, deal.players);
const place = (cell) => SETUPS[deal.players].places[cell];
const picture = (id) => `<svg viewBox="0 0 80 100" aria-hidden="true"><use href="#${id}"/></svg>`;
const button = (act, text, more = "") => `<button type="button" data-act="${act}" ${more}>${text}</button>`;
const total = (parts, what) => sum(parts.map((part) => part[what]));

function chips(parts) { // [text, class] of each kind of part
  const found = [];
  for (const name of new Set(parts.map((part) => part.name))) {
    const own = parts.filter((part) => part.name === name), points = total(own, "points");
    const line = points > 0 && own.some((part) => part.cells.length > 1);
    if (points) found.push([`${DATA.kinds[name] ?? name} ${signed(points)}`, line ? "bonus" : tone(points)]);
  }
  const draws = total(parts, "draws");
  return draws ? [...found, [counted(draws, "draw"), "draw"]] : found;
}

const inWords = (parts) => chips(parts).map(([text]) => text).join(", ") || "no points";
const written = ({ card, cell }) => `${CARDS[card].html} at ${place(cell)}`;
const spoken = ({ seat, card, cell, parts }) => `${names()[seat]} played ${CARDS[card].words} at ${place(cell)}: ${inWords(parts)}.`;

const adviser = () => (deal.players > 1 ? "Most points" : "The network plays");
const losesRound = ({ card, cell }) =>
  deal.players === 1 && game.hands[YOU].length === 1 && game.free().length > 1 && !(game.pile.length && total(game.parts(card, cell), "draws"));

function danger() { // a hand that is nearly empty
  const cards = game.hands[YOU].length, cells = game.free().length;
  if (deal.players > 1 || cards > 2 || cards >= cells) return "";
  return `${counted(cards, "card")} for ${counted(cells, "cell")}: draw, with a sum of ${POINTS.draws.join(" or ")}.`;
}

function status() {
  if (!yours()) return game.over ? "" : "Easy is thinking …";
  if (candidate() && losesRound(chosen)) return `${written(chosen)} empties your hand and loses the round.`;
  if (candidate()) return isHint() ? `${adviser()}: ${written(chosen)}` : `Play ${written(chosen)}?`;
  if (chosen.card !== null) return `Choose a cell for ${CARDS[chosen.card].html}.`;
  if (turns.length) return danger() || "Choose a card.";
  const { scores } = resultOf(deal) ?? {}, before = scores && !deal.lesson ? `Before: ${result(scores)}. ` : "";
  return `${deal.beat === null ? before : `Beat ${plain(deal.beat)} on this deal. `}Choose a card to begin.`;
}

function notice() { // a sentence above the grid, with what to do
  const step = LESSON.steps[turns.length], [left] = running(deal);
  if (deal.lesson && game.over) return "";
  if (deal.lesson) return `<p>${step ? `<b>${turns.length + 1} of ${LESSON.steps.length}</b> ${step.html}` : LESSON.end}</p>${button("today", "Leave")}`;
  if (deal.look === turns.length) return `<p>Before play ${turns.length + 1}</p>${button("back", "Back to the end")}`;
  if (turns.length) return "";
  if (deal.problem) return `<p>${deal.problem}</p>`;
  if (left) return `<p>Not finished: ${titleOf(left)}</p>${button("resume", "Continue", 'data-number="0"')}`;
  if (!remembered().results.length) return `<p>Fill the grid, keep cards in hand, score the most.</p>${button("learn", "Learn")}`;
  return "";
}

// --- Results ---

const result = (scores) => (scores.length ? (scores.length > 1 ? scores.map(plain).join(" : ") : counted(scores[0], "point")) : "lost");

function headline() { // as quincunx_env.notation.ending has it, without the class of the rating
  const [mine, other] = game.scores;
  if (game.lost) return "The round is lost: the hand ran out before the grid was full.";
  if (mine === other) return `A draw: all have ${counted(mine, "point")}.`;
  if (deal.players > 1) return `${mine > other ? "You win" : "Easy wins"} by ${counted(Math.abs(mine - other), "point")}.`;
  return `You score ${counted(mine, "point")}.`;
}

function comparisons() { // with the points to beat, with the network, with games before
  const found = [], [points] = game.scores, { best } = remembered(), days = daysInARow();
  if (deal.beat !== null) found.push(`You ${!game.lost && points > deal.beat ? "beat" : "did not beat"} ${plain(deal.beat)}.`);
  if (deal.players === 1) {
    const reached = networkReaches([]);
    found.push(`The network ${reached === undefined ? "lost the round" : `reached ${plain(reached)}`} on this deal.`);
  }
  if (helped()) found.push(`Played with ${[...used].join(" and ")}.`);
  if (deal.players === 1 && best !== null) found.push(best === points && !helped() ? "Your best so far!" : `Your best so far: ${plain(best)}.`);
  return isDay(deal) && days > 1 ? [...found, `${days} days in a row.`] : found;
}

const helped = () => used.size > 0;
const unaided = (points) => (helped() ? points : `${points}, without hints`);

function shared() { // a result as a text to share, with a link to its deal
  const on = isDay(deal) ? `the deal of ${date(deal.seed)}` : `deal ${deal.seed}`;
  return `Quincunx: ${unaided(result(game.scores))}, on ${on}. Can you beat it?\n${new URL(linkTo({ ...deal, beat: game.scores[YOU] }), location.href).href}`;
}
