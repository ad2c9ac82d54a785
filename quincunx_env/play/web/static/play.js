// Sends what the player does, and shows the parts of the page that the server sends back. It knows no rules.
"use strict";

const game = document.getElementById("game");
const chosen = { card: "", cell: "", points: "" };
let last = 0; // number of the last request: answers to earlier ones are dropped
let waiting = 0; // requests without an answer
let acting = 0; // actions that are on their way; they are sent one after the other
let actions = Promise.resolve();
let hinted = false; // whether the first hint is to be chosen when it arrives
let pressed = null; // the card on which the mouse button or the finger went down, and whether it was chosen before
let focus = null; // name of the part that has the focus, which it gets back when it is shown anew
let place = 0; // of the last played card in the hand: the focus goes to the next one
let heard = ""; // the position whose news the screen reader has

const one = (selector, within = document) => within.querySelector(selector);
const state = () => one("#state").dataset;

const still = matchMedia("(prefers-reduced-motion: reduce)");
const taken = (page) => [...page.querySelectorAll("#board .cell.taken")];
const held = (page) => [...page.querySelectorAll("#hand [data-card]")];
const without = (all, known, key) => all.filter((one) => !known.some((other) => other.dataset[key] === one.dataset[key]));

// Shows the parts of a page. In a new position the played card moves from the hand to its cell, drawn ones into the hand.
function show(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const begun = one("#state", page).dataset.position !== state().position;
  if (!begun || still.matches || document.hidden || !document.startViewTransition) return replace(page);
  const [cells, cards, moved] = [taken(document), held(document), []];
  const name = (card) => {
    card.style.viewTransitionName = `card${card.dataset.card}`;
    moved.push(card);
  };
  const played = without(cards, held(page), "card");
  if (played.length === 1) name(played[0]);
  const flying = document.createElement("div");
  const transition = document.startViewTransition(() => {
    replace(page);
    without(held(document), cards, "card").forEach(name);
    const filled = without(taken(document), cells, "cell");
    if (played.length !== 1 || filled.length !== 1) return;
    const { x, y, width, height } = filled[0].getBoundingClientRect();
    Object.assign(flying.style, { position: "fixed", left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
    flying.dataset.card = played[0].dataset.card;
    flying.append(one("svg", played[0]).cloneNode(true)); // over the grid, whose parts cannot move alone
    name(flying);
    document.body.append(flying);
    filled[0].style.opacity = 0; // until the card arrives
    moved.push(filled[0]);
  });
  transition.finished.finally(() => {
    flying.remove();
    for (const element of moved) element.removeAttribute("style");
  });
  return transition.updateCallbackDone;
}

function replace(page) {
  focus = document.activeElement.dataset.focus ?? focus;
  for (const part of page.querySelectorAll("body > [id]")) {
    const old = document.getElementById(part.id); // what has not changed stays, so that clicks and focus are not lost
    if (old.outerHTML === part.outerHTML) continue;
    old.replaceWith(part);
  }
  const { position, news, said } = state();
  const words = [position === heard ? "" : news, said].join(" ").trim();
  heard = position;
  if (one("#live").textContent !== words) one("#live").textContent = words;
  if (focus !== null && document.activeElement === document.body) refocus();
}

// What had the focus is gone, or takes no input now: the next card has it, or what there is to do instead.
function refocus() {
  const cards = document.querySelectorAll("#hand .card:enabled");
  const instead = one("#ending[tabindex], #announce input, [data-act=next], [data-act=show]");
  (one(`[data-focus="${focus}"]:enabled`) ?? instead ?? cards[Math.min(place, cards.length - 1)])?.focus();
}

async function ask(what, fields, method = "GET") {
  const number = ++last;
  const before = JSON.stringify(chosen);
  const body = new URLSearchParams(fields);
  const address = game.dataset.address + what;
  waiting += 1;
  try {
    const answer = await fetch(method === "GET" ? `${address}?${body}` : address, method === "GET" ? {} : { method, body });
    if (number !== last || answer.status === 204) return;
    const text = await answer.text();
    if (number !== last) return;
    if (!answer.headers.get("Content-Type").startsWith("text/html")) {
      one("#problem").textContent = text;
      return;
    }
    await show(text);
    // What was chosen meanwhile stays; otherwise the server knows what is possible.
    if (JSON.stringify(chosen) === before) ({ card: chosen.card, cell: chosen.cell } = state());
    const first = one("#hints button");
    if (hinted && first) {
      hinted = false;
      chooseHint(first);
    }
  } catch {
    if (number === last) one("#problem").textContent = "The program does not answer. The game is saved: start quincunx play again.";
  } finally {
    waiting -= 1;
  }
}

function act(what, fields = {}) {
  acting += 1;
  actions = actions
    .then(() => ask(what, { position: state().position, ...chosen, ...fields }, "POST"))
    .then(() => {
      acting -= 1;
      if (!acting && (chosen.card !== state().card || chosen.cell !== state().cell)) ask("view", chosen);
    });
}

function choose(change) {
  const before = { ...chosen };
  Object.assign(chosen, change);
  for (const card of document.querySelectorAll("#hand .card")) card.setAttribute("aria-pressed", card.dataset.card === chosen.card);
  if (chosen.card !== before.card) one("#hand [aria-pressed=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  for (const hint of document.querySelectorAll("[data-hint]")) hint.setAttribute("aria-pressed", hint.dataset.hint === `${chosen.card} ${chosen.cell}`);
  if (!acting && Object.keys(chosen).some((key) => chosen[key] !== before[key])) ask("view", chosen);
}

function play(cell = chosen.cell) {
  if (chosen.card === "" || cell === "") return;
  focus ??= "";
  place = held(document).findIndex((card) => card.dataset.card === chosen.card);
  act("play", { card: chosen.card, cell });
  Object.assign(chosen, { card: "", cell: "" }); // a second click plays nothing
}

function hint() {
  const buttons = acting ? [] : [...document.querySelectorAll("#hints button")]; // others belong to an old position
  if (buttons.length) {
    const at = buttons.findIndex((button) => button.matches("[aria-pressed=true]"));
    chooseHint(buttons[(at + 1) % buttons.length]);
  } else {
    hinted = true;
    act("hint");
  }
}

function chooseHint(button) {
  const [card, cell] = (button.dataset.hint ?? "").split(" ");
  if (cell) choose({ card, cell }); // not that of an announcement
}

// --- Cells ---

const legal = () => [...document.querySelectorAll("#board .cell.legal, #board .cell.chosen")];
const at = (event, selector) => document.elementFromPoint(event.clientX, event.clientY)?.closest?.(selector);

function cellAt(event) {
  const cell = at(event, "#board .cell.legal, #board .cell.chosen");
  return cell && state().yours === "1" ? cell.dataset.cell : null;
}

function move(key) {
  const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  const middle = (element) => {
    const box = element.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const cells = legal();
  if (cells.length === 1) return step(x + y); // there is nothing to choose but the card
  const here = cells.find((cell) => cell.dataset.cell === chosen.cell);
  const [left, top] = middle(here ?? one("#board"));
  let best = null;
  for (const cell of cells) {
    const [right, down] = middle(cell).map((value, axis) => value - [left, top][axis]);
    const along = here ? right * x + down * y : 1;
    const distance = here ? along + 3 * Math.abs(right * y + down * x) : Math.hypot(right, down);
    if (cell !== here && along > 0.5 && (!best || distance < best.distance)) best = { cell, distance };
  }
  if (best) choose({ cell: best.cell.dataset.cell });
}

function step(by) {
  const cards = [...document.querySelectorAll("#hand .card")].map((card) => card.dataset.card);
  const next = cards.indexOf(chosen.card) + by;
  if (cards.length) choose({ card: cards.at(next < 0 ? next : next % cards.length) });
}

// --- Input ---

function onMove(event) {
  if (event.pointerType !== "mouse" || chosen.card === "") return;
  const cell = cellAt(event);
  if (cell) choose({ cell });
}

function onDown(event) {
  focus = null; // a click moves it
  const card = event.target.closest?.("#hand .card:enabled")?.dataset.card;
  pressed = event.button === 0 && card !== undefined ? { card, again: card === chosen.card } : null;
  if (pressed && event.pointerType === "mouse") choose({ card }); // a finger may scroll the page: it chooses with a click
}

function onUp(event) {
  const cell = event.button === 0 && chosen.card !== "" && cellAt(event);
  if (!cell) return;
  if (event.pointerType === "mouse" || cell === chosen.cell) play(cell);
  else choose({ cell });
}

function onClick(event) {
  const button = event.target.closest?.("button");
  if (!button) return;
  if (button.matches("[data-copy]")) return copy(button);
  const { act: what, announce, card, step } = button.dataset;
  if (what === "play") play();
  else if (what === "points") choose({ points: state().points === "1" ? "0" : "1" });
  else if (what === "hint") hint();
  else if (what) act(what);
  else if (button.dataset.hint) chooseHint(button);
  else if (step) one("#announce input").value = Number(one("#announce input").value) + Number(step); // some keypads have no minus
  else if (announce) act("play", { announce });
  else if (card) {
    const again = pressed?.card === card ? pressed.again : card === chosen.card; // the mouse has chosen it meanwhile
    if (again && legal().length === 1) play();
    else choose({ card });
  }
  pressed = null;
}

async function copy(button) {
  const text = button.previousElementSibling;
  getSelection().selectAllChildren(text); // where the browser does not let the page copy, the reader does
  const copied = await navigator.clipboard?.writeText(text.textContent).then(() => true, () => false);
  button.textContent = copied ? "Copied" : "Selected";
}

// The letter or digit of a key: on a layout without Latin letters, the one at its place on other keyboards.
function letter({ key, code }) {
  return (/^[a-z\d?]$/i.test(key) ? key : code.replace(/^(Key|Digit)(?=.$)/, "")).toLowerCase();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
  if (event.key.startsWith("Arrow")) move(event.key);
  else if (event.key === "Escape" && !(CSS.supports("selector(:popover-open)") && one(":popover-open"))) choose({ card: "", cell: "" });
  else if (event.key === "Enter" && chosen.cell !== "" && !event.target.closest?.("#actions, #hints [aria-pressed=false], header, a")) event.repeat || play();
  else if (event.key.length === 1 && event.key !== " " && one("#letters").checked) {
    const button = one(`[data-key="${CSS.escape(letter(event))}"]:enabled`);
    if (!button) return;
    button.click();
  } else return;
  event.preventDefault();
}

if (game) {
  heard = state().position;
  game.addEventListener("pointermove", onMove);
  document.addEventListener("pointerdown", onDown);
  document.addEventListener("pointerup", onUp);
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "announce") return;
    event.preventDefault();
    act("play", { announce: event.target.elements.announce.value });
  });
  const poll = () => document.hidden || waiting || ask("view", { have: state().version, ...chosen });
  setInterval(poll, 400);
  document.addEventListener("visibilitychange", poll);
  one("#unstarted").remove();
  const letters = one("#letters");
  try { // a browser may deny to store anything
    letters.checked = localStorage.letters !== "off";
    letters.addEventListener("change", () => { localStorage.letters = letters.checked ? "on" : "off"; });
  } catch {}
}

one("#open input[type=file]")?.addEventListener("change", async (event) => {
  const form = one("#open");
  form.elements.record.value = await event.target.files[0].text();
  form.submit();
});
