// The page: choosing, playing, showing. The rules are in engine.js, the network in network.js.
const one = (selector) => document.querySelector(selector);
const THINKING = 700; // milliseconds until Easy plays, so that one sees the play before
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
let deal, game, turns, used, chosen, hinted, cells, told;

// --- Deals and plays ---

const plays = (count = turns.length) => turns.slice(0, count).map(({ card, cell }) => [card, cell]);
const state = () => ({ ...deal, plays: plays(), used: [...used] });

function begin(next, before = null) { // with the plays before, if they are of this deal
  const known = [before, ...remembered().running].find((each) => each?.plays && same(each, next));
  deal = { ...next, look: before?.look };
  used = new Set(HELPS.filter((help) => known?.used?.includes?.(help)));
  const { places, side } = SETUPS[deal.players];
  one("#grid").innerHTML = places.map((name) => `<button type="button" tabindex="-1" data-place="${name}"></button>`).join("");
  cells = [...one("#grid").children];
  one("#grid").style.setProperty("--side", side);
  for (const texts of document.querySelectorAll("[data-players]")) texts.hidden = texts.dataset.players !== `${deal.players}`;
  close();
  replay(known?.plays ?? []);
  told = turns.length;
  follow();
}

function replay(plays) { // anew if they do not fit, as may those that another version of the page kept
  const start = () => { [turns, game] = [[], new Game(deal.players, deal.seed)]; };
  start();
  try { for (const play of plays) lay(...play); } catch { start(); }
}

function lay(card, cell) {
  turns.push({ seat: game.mover, card, cell, parts: game.parts(card, cell) });
  game.play(card, cell);
}

function after(plays) { // the position
  const position = new Game(deal.players, deal.seed);
  for (const play of plays) position.play(...play);
  return position;
}

function networkReaches(plays) { // when it plays on from there; undefined for a lost round
  const position = after(plays);
  while (!position.over) position.play(...preferred(position));
  return position.lost ? undefined : position.scores[YOU];
}

function go(next, before = null) { // Back returns to this game
  try { history.pushState(before, "", addressOf(next)); } catch { /* a framed page may have no address */ }
  begin(next, before);
  attend(0);
}

function follow(change = show) { // a new position: keep it, show it, let Easy answer
  [chosen, hinted] = [{ card: null, cell: null }, null];
  try { history.replaceState(state(), ""); } catch { /* as above */ }
  if (turns.length && !deal.lesson && deal.look !== turns.length) rememberGame(state(), game.over);
  change();
  review();
  const now = game, ply = game.ply;
  if (!yours() && !game.over) setTimeout(() => { if (game === now && ply === now.ply) turn(...greedy(game)); }, calm ? 0 : THINKING);
}

function turn(card, cell) {
  const mine = yours(), place = game.hands[YOU].indexOf(card);
  lay(card, cell);
  if (game.over && !deal.lesson) rememberResult({ seed: deal.seed, players: deal.players, scores: game.lost ? [] : game.scores, helped: helped() });
  const change = () => { show(); if (mine) attend(place); };
  follow(() => move(held[card], cells[cell], change));
}

function attend(place) { // the focus goes to the next card of the hand
  const cards = held.filter((card) => card.isConnected && !card.disabled);
  (cards[Math.min(place, cards.length - 1)] ?? one("#again")).focus({ preventScroll: true });
}

const yours = () => !game.over && game.mover === YOU;
const candidate = () => yours() && chosen.card !== null && chosen.cell !== null;
const play = () => candidate() && turn(chosen.card, chosen.cell);
const isHint = () => hinted === `${chosen.card} ${chosen.cell}`;
const wanted = () => (deal.lesson && yours() ? LESSON.steps[turns.length] : undefined);
const advice = (game) => (game.players > 1 ? greedy(game) : preferred(game)).slice(0, 2);

function choose(change) {
  if (!yours()) return;
  const before = chosen.card;
  Object.assign(chosen, change);
  show();
  if (chosen.card !== before) held[chosen.card]?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function hint() {
  if (!yours() || wanted()) return;
  const [card, cell] = advice(game);
  used.add("hints");
  hinted = `${card} ${cell}`;
  choose({ card, cell });
}

function undo() { // back to your last decision
  while (turns.length && turns.pop().seat !== YOU);
  used.add("undo");
  replay(plays());
  follow();
  attend(0);
}

// --- What is shown ---

function paint(element, html) { // what has not changed stays, so that clicks and focus are not lost
  if (element.painted !== html) element.innerHTML = element.painted = html;
}

const cardButton = ({ words }, card) => `<button type="button" class="card" title="${words}" aria-label="${words}">${picture(`card${card}`)}<kbd aria-hidden="true"></kbd></button>`;
one("#hand").innerHTML = CARDS.map(cardButton).join("");
const held = [...one("#hand").children]; // of all cards; the hand shows some

function show() {
  const last = turns.at(-1);
  one("#title").textContent = titleOf(deal);
  document.title = `${titleOf(deal)} · Quincunx`;
  paint(one("#notice"), notice());
  const pile = `<div class="pile" title="cards left to draw">${picture("back")} ${game.pile.length} <span>in the pile</span></div>`;
  paint(one("#seats"), names().map(seatOf).join("") + pile);
  one("#seats").className = deal.players > 1 ? "several" : "alone";
  cells.forEach(showCell);
  paint(one("#status"), status());
  one("#status").classList.toggle("yours", yours());
  paint(one("#score"), candidate() ? scored(chosen, game.parts(chosen.card, chosen.cell), "")
    : last ? scored(last, last.parts, `${names()[last.seat]} played `)
      : `<div class="quiet">The score of a play appears here.</div>`);
  one("#score").classList.toggle("candidate", candidate());
  paint(one("#ending"), game.over ? ending() : "");
  showHand(game.over ? [] : game.hands[YOU]);
  showActions();
  say();
}

function showHand(hand) {
  const shown = one("#hand"), columns = Math.ceil(Math.max(8, hand.length, SETUPS[deal.players].hand) / 2);
  shown.className = `columns${columns}${hand.length ? "" : " empty"}`;
  for (const button of [...shown.children]) if (!hand.includes(held.indexOf(button))) button.remove();
  hand.forEach((card, index) => {
    const button = held[card], letter = DATA.keys[index];
    if (shown.children[index] !== button) shown.insertBefore(button, shown.children[index] ?? null);
    button.disabled = wanted() && card !== wanted().card;
    button.setAttribute("aria-pressed", card === chosen.card);
    button.classList.toggle("wanted", card === wanted()?.card);
    button.dataset.key = button.lastChild.textContent = letter;
  });
}

function showActions() {
  one("#play").hidden = one("#hint").hidden = game.over;
  one("#again").hidden = !game.over;
  one("#share-it").hidden = !game.over || game.lost || deal.lesson;
  one("#play").disabled = !candidate();
  one("#hint").disabled = !yours() || Boolean(wanted());
  one("#hint").textContent = deal.players > 1 ? "Most points" : "Hint";
  one("#undo").disabled = !turns.length;
  paint(one("#share"), game.over && !game.lost ? sharing() : "");
  paint(one("#asking"), turns.length && !game.over ? `<p>Leave this game? Back returns to it.</p>${button("close", "Go on with it")}` : "");
  paint(one("#memory"), memory());
}

function say() { // what is new, once
  const news = [...turns.slice(told).map(spoken), ...(game.over ? [headline()] : [])].join(" ");
  if (told !== turns.length) one("#live").textContent = told < turns.length ? news : `Back after ${counted(turns.length, "play")}.`;
  told = turns.length;
}

function seatOf(name, seat) {
  const hand = game.hands[seat], mover = seat === game.mover && !game.over && deal.players > 1 ? " mover" : "";
  const left = game.over ? hand.map((card) => `<span class="reader">${CARDS[card].words}</span>${picture(`card${card}`)}`).join("") : "";
  const count = `<span class="count" title="cards in hand">${hand.length}<span> card${hand.length === 1 ? "" : "s"}</span></span>`;
  return `<div class="seat${mover}"><b>${name}</b> ${count}<output>${plain(game.scores[seat])}</output>${left && `<div class="left">${left}</div>`}</div>`;
}

function showCell(button, cell) {
  const step = wanted(), taken = game.board[cell], free = taken === EMPTY, open = free && yours() && (!step || cell === step.cell);
  const parts = open && chosen.card !== null ? game.parts(chosen.card, cell) : null;
  const points = parts && total(parts, "points"), draws = parts && total(parts, "draws");
  button.className = `cell ${free ? "free" : "taken"}`;
  button.classList.toggle("last", cell === turns.at(-1)?.cell);
  button.classList.toggle("chosen", Boolean(parts) && cell === chosen.cell);
  button.classList.toggle("marked", chosen.card === null && Boolean(step?.cells.includes(cell)));
  button.disabled = !open;
  button.setAttribute("aria-label", `${place(cell)}: ${free ? "free" : CARDS[taken].words}${parts ? `, ${inWords(parts)}` : ""}`);
  const drawing = draws ? `<span class="chip draw">${counted(draws, "draw")}</span>` : "";
  paint(button, parts ? `<b class="${tone(points)}">${signed(points)}</b>${drawing}` : free ? "" : picture(`card${taken}`));
}

function move(card, cell, change) { // it alone moves: the cards of the hand take clicks meanwhile
  if (calm || !document.startViewTransition) return change();
  const name = `moving${held.indexOf(card)}`;
  card.style.viewTransitionName = name;
  const moving = document.startViewTransition(() => {
    card.style.viewTransitionName = "";
    cell.style.viewTransitionName = name;
    change();
  });
  moving.finished.finally(() => { cell.style.viewTransitionName = ""; });
}

function scored(play, parts, who) {
  const points = total(parts, "points"), kinds = chips(parts).map(([text, kind]) => `<span class="chip ${kind}">${text}</span>`);
  return `<div><b>${who}${written(play)}</b><output class="${tone(points)}">${signed(points)}</output></div><div class="chips">${kinds.join("")}</div>`;
}

function ending() {
  const good = !game.lost && !(game.scores[1] > game.scores[YOU]);
  const points = game.lost ? "" : `<output>${game.scores.map(plain).join(" : ")}</output>`;
  const beat = game.scores[YOU], text = `Beat ${unaided(counted(beat, "point"))}`;
  const link = game.lost || deal.lesson ? "" : `<p><a href="${linkTo({ ...deal, beat })}">${text}</a></p>`;
  const sentences = [headline(), ...(deal.lesson ? [] : comparisons())].map((text) => `<p>${text}</p>`);
  return `<div class="${good ? "good" : ""}">${points}${sentences.join("")}${link}</div>`;
}

function sharing() {
  const buttons = [button("copy", "Copy", 'class="strong"'), navigator.share ? button("send", "Send") : ""];
  return `<pre>${shared().replaceAll("&", "&amp;")}</pre>${buttons.join(" ")}`;
}

function memory() { // what the page remembers, below the choice of a new game
  const { results, best } = remembered(), days = daysInARow(), facts = [];
  const others = running(deal).map((other, number) => button("resume", `Continue: ${titleOf(other)}`, `data-number="${number}"`));
  if (best !== null) facts.push(`Best: ${counted(best, "point")}.`);
  if (days > 1) facts.push(`${days} days in a row.`);
  const rows = results.map((each) => `<li>${titleOf(each)}: ${result(each.scores)}</li>`);
  return `${others.join("")}<p>${facts.join(" ")}</p>${rows.length ? `<h2>Your last games</h2><ol>${rows.join("")}</ol>` : ""}`;
}

// --- The plays beside the adviser's, after the end ---

function review() { // row by row: the network takes its time
  const shown = game.over && !deal.lesson, now = game, rows = judged(), what = deal.players > 1 ? "Most points" : "Network";
  one("#game").classList.toggle("over", shown);
  one("#review").innerHTML = shown ? `<table><tr><td></td><th>You</th><th>${what}</th><th>Lost</th></tr></table>` : "";
  const add = () => {
    const { value } = game === now ? rows.next() : {};
    if (!value) return;
    one("#review tbody").insertAdjacentHTML("beforeend", value);
    setTimeout(add);
  };
  if (shown) setTimeout(add);
}

function* judged() { // lost: at once against Easy; alone, when the network plays on
  const worth = (number, play) => (deal.players > 1 ? after(plays(number)).value(...play)[0] : networkReaches([...plays(number), play]) ?? 0);
  for (const [number, { seat, card, cell }] of turns.entries()) {
    if (seat !== YOU) continue;
    const best = advice(after(plays(number))), same = `${best}` === `${[card, cell]}`;
    const lost = same ? 0 : worth(number, best) - worth(number, [card, cell]);
    yield judgedRow(number, same ? "the same" : written({ card: best[0], cell: best[1] }), lost);
  }
}

function judgedRow(number, best, lost) {
  const open = `<button type="button" aria-label="Position before play ${number + 1}">${number + 1}</button>`;
  const row = `<td>${open}</td><td>${written(turns[number])}</td><td>${best}</td><td class="${tone(-lost)}">${lost < 0 ? `won ${-lost}` : lost}</td>`;
  return `<tr data-act="look" data-number="${number}">${row}</tr>`;
}

function look({ number }) { // at the position before a play, which can be played anew
  go({ ...deal, look: +number }, { ...state(), look: +number, plays: plays(number), used: HELPS });
  hint();
}

// --- Boxes over the page: popovers, or where there are none (Firefox ESR 115), boxes that are shown and hidden ---

const POPOVERS = "popover" in HTMLElement.prototype;
const boxes = [...document.querySelectorAll("[popover]")];
const opened = () => boxes.find((box) => (POPOVERS ? box.matches(":popover-open") : !box.hidden));

function toggle(box) { // the others close
  for (const each of boxes) each.hidden = each !== box || !each.hidden;
}

const close = () => (POPOVERS ? opened()?.hidePopover() : toggle(null));

// --- Input ---

async function copy(_, button) {
  getSelection().selectAllChildren(one("#share pre")); // where the browser refuses to copy, the reader does
  const copied = await navigator.clipboard?.writeText(shared()).then(() => true, () => false);
  button.textContent = copied ? "Copied" : "Selected, not copied";
}

const ACTS = {
  play, hint, undo, look, close, copy,
  today: () => go(todays()),
  one: () => go(newDeal(`${Math.floor(Math.random() * 2 ** 31)}`)),
  two: () => go(newDeal(`${Math.floor(Math.random() * 2 ** 31)}`, 2)),
  learn: () => go(lesson()),
  resume: ({ number }) => go(asked(linkTo(running(deal)[number]))),
  back: () => history.back(),
  send: () => navigator.share({ text: shared() }).catch(() => {}), // the reader may think better of it
};

function step(right, down) { // the focus, to the nearest free cell in a direction
  const { side } = game, at = (cell) => [cell % side, Math.floor(cell / side)], first = chosen.cell === null;
  const [x, y] = first ? [(side - 1) / 2, (side - 1) / 2] : at(chosen.cell);
  const far = (cell) => {
    const [column, row] = at(cell), along = (column - x) * right + (row - y) * down;
    return first ? Math.hypot(column - x, row - y) : along > 0 ? along + 3 * Math.abs((column - x) * down + (row - y) * right) : Infinity;
  };
  const [nearest] = game.free().filter((cell) => !cells[cell].disabled && far(cell) < Infinity).sort((a, b) => far(a) - far(b));
  cells[nearest]?.focus();
}

function onClick({ target }) { // a cell asks before it plays: what was not chosen before, a click only chooses
  const act = target.closest?.("[data-act]"), button = target.closest?.("button"), cell = cells.indexOf(button), card = held.indexOf(button);
  if (card >= 0) choose({ card });
  else if (cell >= 0 && cell === chosen.cell) play();
  else if (cell >= 0) choose({ cell });
  else if (act) ACTS[act.dataset.act](act.dataset, act);
  else if (button?.matches("[popovertarget]") && !POPOVERS) toggle(one(`#${button.getAttribute("popovertarget")}`));
}

function onCell({ target, type, pointerType }) { // pointed at by a mouse, or reached by keys: a finger has not seen the score
  const seen = type === "focusin" ? target.matches(":focus-visible") : pointerType === "mouse", cell = target.closest(".free:enabled");
  if (seen && cell) choose({ cell: cells.indexOf(cell) });
}

function letter({ key, code }) { // on a layout without Latin letters, the one at its place on others
  return (/^[a-z\d?]$/i.test(key) ? key : code.replace(/^(Key|Digit)(?=.$)/, "")).toLowerCase();
}

function onKey(event) {
  const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  const elsewhere = event.target.closest?.("a, button:not(.card, .cell)");
  if (event.ctrlKey || event.metaKey || event.altKey || (opened() && event.key !== "Escape")) return;
  if (arrow) step(...arrow);
  else if (event.key === "Enter" && candidate() && !elsewhere) event.repeat || play();
  else if (event.key === "Escape") opened() ? close() : choose({ card: null, cell: null });
  else if (event.key.length === 1 && event.key !== " " && one("#letters").checked) one(`[data-key="${CSS.escape(letter(event))}"]:enabled`)?.click();
  else return;
  event.preventDefault();
}

one("#grid").addEventListener("pointerover", onCell);
one("#grid").addEventListener("focusin", onCell);
document.addEventListener("click", onClick);
document.addEventListener("keydown", onKey);
addEventListener("popstate", () => { begin(asked(location.hash), history.state); attend(0); });
if (location.protocol === "file:") one(".home").removeAttribute("href"); // the file may lie anywhere
begin(asked(location.hash), history.state);
one("#unstarted").remove();
