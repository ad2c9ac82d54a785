// The page: choosing, playing, texts. The rules are in engine.js, the network in network.js.
const one = (selector) => document.querySelector(selector);
const YOU = 0;
const THINKING = 700; // milliseconds until Easy plays, so that one sees the play before
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
let deal, game, turns, used, chosen, hinted, cells;

// --- Texts ---

const plain = (number) => `${number}`.replace("-", "−");
const signed = (number) => (number > 0 ? `+${number}` : plain(number));
const counted = (number, what) => `${plain(number)} ${what}${Math.abs(number) === 1 ? "" : "s"}`;
const tone = (points) => (points > 0 ? "gain" : points < 0 ? "loss" : "quiet");
const names = () => ["You", "Easy"].slice(0, deal.players);
const place = (cell) => SETUPS[deal.players].places[cell];
const picture = (id) => `<svg viewBox="0 0 80 100" aria-hidden="true"><use href="#${id}"/></svg>`;
const total = (parts, what) => sum(parts.map((part) => part[what]));

function chips(parts) { // [text, class] of each kind of part
  const found = [];
  for (const name of new Set(parts.map((part) => part.name))) {
    const own = parts.filter((part) => part.name === name), points = total(own, "points");
    const line = points > 0 && own.some((part) => part.cells.length > 1);
    if (points) found.push([`${name} ${signed(points)}`, line ? "bonus" : tone(points)]);
  }
  const draws = total(parts, "draws");
  return draws ? [...found, [counted(draws, "draw"), "draw"]] : found;
}

const inWords = (parts) => chips(parts).map(([text]) => text).join(", ") || "no points";
const written = ({ card, cell }) => `${CARDS[card].html} at ${place(cell)}`;
const spoken = ({ seat, card, cell, parts }) => `${names()[seat]} played ${CARDS[card].words} at ${place(cell)}: ${inWords(parts)}.`;

function headline() { // as quincunx_env.notation.ending has it
  const [mine, other] = game.scores;
  if (game.lost) return "The round is lost: the hand ran out before the grid was full.";
  if (mine === other) return `A draw: all have ${counted(mine, "point")}.`;
  if (deal.players > 1) return `${mine > other ? "You win" : "Easy wins"} by ${counted(Math.abs(mine - other), "point")}.`;
  const rating = 1 + DATA.steps.filter((least) => mine >= least).length;
  return `You score ${counted(mine, "point")}, class ${rating} of ${DATA.ratings.length - 1} (${DATA.ratings[rating].replace("-", " to ")}).`;
}

function comparisons() { // with the points to beat, with the network on the same deal
  const found = [];
  if (deal.beat !== null) found.push(`You ${!game.lost && game.scores[YOU] > deal.beat ? "beat" : "did not beat"} ${plain(deal.beat)}.`);
  if (deal.players === 1) {
    const other = new Game(1, deal.seed);
    while (!other.over) other.play(...preferred(other));
    found.push(`The network ${other.lost ? "lost the round" : `reached ${plain(other.scores[0])}`} on this deal.`);
  }
  return used.size ? [...found, `Played with ${[...used].join(" and ")}.`] : found;
}

const today = () => new Date().toISOString().slice(0, 10).replaceAll("-", ""); // UTC, as in quincunx_env.play.daily

// --- Deals and plays ---

const address = (beat) => `#deal=${deal.seed}${deal.players > 1 ? `&players=${deal.players}` : ""}${beat === null ? "" : `&beat=${beat}`}`;

function begin(seed, players, beat = null, before = null) { // beat: points to beat; before: what was played already
  deal = { seed, players, beat };
  [turns, used] = [before?.turns ?? [], new Set(before?.used)];
  one("#grid").innerHTML = SETUPS[players].places.map((name) => `<button type="button" tabindex="-1" data-place="${name}"></button>`).join("");
  cells = [...one("#grid").children];
  one("#grid").style.setProperty("--side", SETUPS[players].side);
  for (const texts of document.querySelectorAll("[data-players]")) texts.hidden = texts.dataset.players !== `${players}`;
  rebuild();
}

function beginAsAddressed() { // today's deal if the address has none; a page that is loaded anew goes on
  const asked = new URLSearchParams(location.hash.slice(1)), number = (name, form) => (form.test(asked.get(name)) ? asked.get(name) : null);
  begin(number("deal", /^\d{1,18}$/) ?? today(), +number("players", /^2$/) || 1, number("beat", /^-?\d{1,4}$/), location.hash && history.state);
}

function rebuild() {
  game = new Game(deal.players, deal.seed);
  for (const { card, cell } of turns) game.play(card, cell);
  follow(show);
}

function follow(change) { // a new position: keep it, show it, let Easy answer
  [chosen, hinted] = [{ card: null, cell: null }, null];
  try { history.replaceState({ turns, used: [...used] }, "", address(deal.beat)); } catch { /* a framed page may have no address */ }
  change();
  const now = game;
  if (!yours() && !game.over) setTimeout(() => { if (game === now) turn(...greedy(game)); }, calm ? 0 : THINKING);
}

function turn(card, cell) {
  turns.push({ seat: game.mover, card, cell, parts: game.parts(card, cell) });
  game.play(card, cell);
  follow(() => (calm || !document.startViewTransition ? show() : document.startViewTransition(show)));
}

const yours = () => !game.over && game.mover === YOU;
const candidate = () => yours() && chosen.card !== null && chosen.cell !== null;

function choose(change) {
  if (!yours()) return;
  Object.assign(chosen, change);
  show();
}

const play = () => { if (candidate()) turn(chosen.card, chosen.cell); };

function hint() {
  if (!yours()) return;
  const [card, cell] = deal.players > 1 ? greedy(game) : preferred(game);
  used.add("hints");
  hinted = `${card} ${cell}`;
  choose({ card, cell });
}

function undo() { // back to your last decision
  while (turns.length && turns.pop().seat !== YOU);
  used.add("undo");
  rebuild();
}

// --- What is shown ---

function paint(element, html) { // what has not changed stays, so that clicks and focus are not lost
  if (element.painted !== html) element.innerHTML = element.painted = html;
}

const held = CARDS.map(({ words }, card) => {
  const innerHTML = `${picture(`card${card}`)}<kbd aria-hidden="true"></kbd>`;
  return Object.assign(document.createElement("button"), { type: "button", className: "card", title: words, ariaLabel: words, innerHTML });
});

function show() {
  const last = turns.at(-1), hand = game.over ? [] : game.hands[YOU], shown = one("#hand").children;
  one("#title").textContent = deal.players === 1 && deal.seed === today() ? "Today's deal" : `Deal ${deal.seed}`;
  const pile = `<div class="pile" title="cards left to draw">${picture("back")} ${game.pile.length} <span>in the pile</span></div>`;
  paint(one("#seats"), names().map(seatOf).join("") + pile);
  one("#seats").className = deal.players > 1 ? "several" : "alone";
  cells.forEach(showCell);
  paint(one("#status"), status());
  one("#status").classList.toggle("yours", yours());
  paint(one("#score"), candidate() ? scored(chosen, game.parts(chosen.card, chosen.cell), "")
    : last ? scored(last, last.parts, `${names()[last.seat]} played `)
      : `<div class="quiet">The score of a play appears here, with its parts.</div>`);
  one("#score").classList.toggle("candidate", candidate());
  paint(one("#ending"), game.over ? ending() : "");
  one("#hand").className = `columns${Math.max(4, Math.ceil(SETUPS[deal.players].hand / 2))}${hand.length ? "" : " empty"}`;
  const changed = shown.length !== hand.length || hand.some((card, index) => shown[index] !== held[card]);
  if (changed) one("#hand").replaceChildren(...hand.map((card) => held[card]));
  hand.forEach((card, index) => {
    held[card].ariaPressed = card === chosen.card;
    held[card].dataset.key = held[card].lastChild.textContent = DATA.keys[index];
    held[card].style.viewTransitionName = `card${card}`;
  });
  one("#play").hidden = one("#hint").hidden = game.over;
  one("#again").hidden = !game.over;
  one("#play").disabled = !candidate();
  one("#hint").disabled = !yours();
  one("#undo").disabled = !turns.length;
  const said = `${turns.slice(-deal.players).map(spoken).join(" ")} ${game.over ? headline() : ""}`.trim();
  if (one("#live").textContent !== said) one("#live").textContent = said;
}

function seatOf(name, seat) {
  const hand = game.hands[seat], mover = seat === game.mover && !game.over && deal.players > 1 ? " mover" : "";
  const left = game.over ? hand.map((card) => `<span class="reader">${CARDS[card].words}</span>${picture(`card${card}`)}`).join("") : "";
  const count = `<span class="count">${counted(hand.length, "card")}</span><output>${plain(game.scores[seat])}</output>`;
  return `<div class="seat${mover}"><b>${name}</b> ${count}${left && `<div class="left">${left}</div>`}</div>`;
}

function showCell(button, cell) {
  const taken = game.board[cell], free = taken === EMPTY, parts = free && yours() && chosen.card !== null ? game.parts(chosen.card, cell) : null;
  const points = parts && total(parts, "points"), draws = parts && total(parts, "draws");
  button.className = `cell ${free ? "free" : "taken"}${cell === turns.at(-1)?.cell ? " last" : ""}${parts && cell === chosen.cell ? " chosen" : ""}`;
  button.disabled = !free || !yours();
  button.ariaLabel = `${place(cell)}: ${free ? "free" : CARDS[taken].words}${parts ? `, ${inWords(parts)}` : ""}`;
  button.style.viewTransitionName = free ? "none" : `card${taken}`;
  const drawing = draws ? `<span class="chip draw">${counted(draws, "draw")}</span>` : "";
  paint(button, parts ? `<b class="${tone(points)}">${signed(points)}</b>${drawing}` : free ? "" : picture(`card${taken}`));
}

function status() {
  if (!yours()) return game.over ? "" : "Easy is thinking …";
  if (candidate() && hinted === `${chosen.card} ${chosen.cell}`) return `${deal.players > 1 ? "Most points" : "The network plays"}: ${written(chosen)}`;
  if (candidate()) return `Play ${written(chosen)}?`;
  if (chosen.card !== null) return `Choose a cell for ${CARDS[chosen.card].html}.`;
  return turns.length ? "Choose a card." : `${deal.beat === null ? "" : `Beat ${plain(deal.beat)} on this deal. `}Choose a card to begin.`;
}

function scored(play, parts, who) {
  const points = total(parts, "points"), kinds = chips(parts).map(([text, kind]) => `<span class="chip ${kind}">${text}</span>`);
  return `<div><b>${who}${written(play)}</b><output class="${tone(points)}">${signed(points)}</output></div><div class="chips">${kinds.join("")}</div>`;
}

function ending() {
  const good = !game.lost && !(game.scores[1] > game.scores[YOU]), beat = game.scores[YOU];
  const points = game.lost ? "" : `<output>${game.scores.map(plain).join(" : ")}</output>`;
  const link = game.lost ? "" : `<p><a href="${address(beat)}">Beat ${plain(beat)} on this deal</a>: a link to share.</p>`;
  return `<div class="${good ? "good" : ""}">${points}${[headline(), ...comparisons()].map((text) => `<p>${text}</p>`).join("")}${link}</div>`;
}

// --- Input ---

function move(right, down) { // the focus, to the nearest free cell in a direction
  const { side } = game, at = (cell) => [cell % side, Math.floor(cell / side)], first = chosen.cell === null;
  const [x, y] = first ? [(side - 1) / 2, (side - 1) / 2] : at(chosen.cell);
  const far = (cell) => {
    const [column, row] = at(cell), along = (column - x) * right + (row - y) * down;
    return first ? Math.hypot(column - x, row - y) : along > 0 ? along + 3 * Math.abs((column - x) * down + (row - y) * right) : Infinity;
  };
  const [nearest] = game.free().filter((cell) => far(cell) < Infinity).sort((a, b) => far(a) - far(b));
  cells[nearest]?.focus();
}

function onClick({ target, pointerType }) {
  const button = target.closest?.("button"), cell = cells.indexOf(button), card = held.indexOf(button), again = cell === chosen.cell;
  if (card >= 0) choose({ card });
  else if (cell >= 0) {
    choose({ cell });
    if (again || pointerType !== "touch") play(); // a finger first sees the score
  } else if (button?.dataset.deal) {
    one("#deals").hidePopover();
    begin(button.dataset.deal === "today" ? today() : `${Math.floor(Math.random() * 2 ** 31)}`, button.dataset.deal === "two" ? 2 : 1);
  } else ({ play, hint, undo })[button?.id]?.();
}

function onKey(event) {
  const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey || one(":popover-open")) return;
  if (arrow) move(...arrow);
  else if (event.key === "Enter" && candidate() && !event.target.closest?.("#actions, header, a")) play();
  else if (event.key === "Escape") choose({ card: null, cell: null });
  else if (event.key.length === 1 && event.key !== " " && one("#letters").checked) one(`[data-key="${CSS.escape(event.key)}"]:enabled`)?.click();
  else return;
  event.preventDefault();
}

function onCell({ target, type, pointerType }) { // pointed at, or reached by keys
  if (target.matches(".free, .free *") && (type === "focusin" || pointerType === "mouse")) choose({ cell: cells.indexOf(target.closest(".free")) });
}

one("#grid").addEventListener("pointerover", onCell);
one("#grid").addEventListener("focusin", onCell);
document.addEventListener("click", onClick);
document.addEventListener("keydown", onKey);
addEventListener("hashchange", beginAsAddressed);
if (location.protocol === "file:") one(".home").removeAttribute("href"); // the file may lie anywhere
beginAsAddressed();
one("#unstarted").remove();
