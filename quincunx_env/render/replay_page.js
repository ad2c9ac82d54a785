"use strict";
// Steps through games. The page holds everything: `data` is what quincunx_env.render.replay_page writes.
const data = JSON.parse(document.getElementById("data").textContent);
const part = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
let game, at, timer;

const names = new RegExp(`\\b(${Object.keys(data.cards).join("|")})\\b`);

function markup(element) { // a line, a number, or several numbers
  if (typeof element === "number") return markup(data.elements[element]);
  return typeof element === "string" ? element : element.map(markup).join("");
}

function write(element, text) {
  // Every second piece is the name of a card, for which the page has emblems.
  element.textContent = "";
  for (const [number, piece] of text.split(names).entries())
    if (number % 2) element.insertAdjacentHTML("beforeend", markup(data.cards[piece]));
    else element.append(piece);
}

function show(position) {
  at = Math.min(Math.max(position, 0), game.positions.length - 1);
  const { picture, valued, caption, points, thoughts } = game.positions[at];
  part.picture.innerHTML = markup(part.values.checked ? valued || picture : picture);
  write(part.caption, caption);
  write(part.thoughts, part.values.checked ? thoughts : "");
  for (const [seat, output] of part.points.querySelectorAll("output").entries()) output.textContent = points[seat];
  part.position.value = at;
  part.position.setAttribute("aria-valuetext", `${at} of ${game.positions.length - 1}`);
  document.getElementById("now").style.left = `${(100 * at) / Math.max(game.positions.length - 1, 1)}%`;
  // Not `disabled`: a disabled button that has the focus would keep all keys from the page.
  for (const name of ["first", "back"]) part[name].ariaDisabled = at === 0;
  for (const name of ["next", "last"]) part[name].ariaDisabled = at === game.positions.length - 1;
  part.plays.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const play = part.plays.children[at].firstChild;
  play.setAttribute("aria-current", "step");
  part.plays.scrollTop = play.offsetTop - part.plays.clientHeight / 2;
}

function stop() {
  clearInterval(timer);
  timer = undefined;
  part.play.textContent = "Play";
}

function start() {
  stop();
  if (at === game.positions.length - 1) show(0);
  part.play.textContent = "Stop";
  timer = setInterval(() => {
    show(at + 1);
    if (at === game.positions.length - 1) stop();
  }, part.speed.value);
}

function go(position) {
  stop();
  show(position);
}

function choose(number) {
  stop();
  game = data.games[number];
  part.title.textContent = document.title = game.title;
  part.curve.innerHTML = game.curve;
  part.points.innerHTML = game.players;
  part.position.max = game.positions.length - 1;
  part.plays.replaceChildren(
    ...game.positions.map(({ caption }, position) => {
      const button = document.createElement("button");
      write(button, caption);
      button.onclick = () => go(position);
      const item = document.createElement("li");
      item.append(button);
      return item;
    }),
  );
  show(Number(location.hash.slice(1)) || 0); // an address may name a position
}

const steps = {
  first: () => go(0),
  back: () => go(at - 1),
  next: () => go(at + 1),
  last: () => go(Infinity),
  play: () => (timer ? stop() : start()),
};
const keys = { Home: "first", ArrowLeft: "back", ArrowRight: "next", End: "last" };
for (const [name, step] of Object.entries(steps)) part[name].onclick = step;
part.position.oninput = () => go(Number(part.position.value));
part.speed.onchange = () => timer && start();
part.values.onchange = () => show(at);
part.game.onchange = () => choose(part.game.value);
part.game.append(...data.games.map(({ name }, number) => new Option(name, number)));
part.choice.hidden = data.games.length < 2;
part.valued.hidden = !data.games.some(({ positions }) => positions.some(({ valued }) => valued));
document.addEventListener("keydown", (event) => {
  const inside = event.target.closest("#position, select");
  if (!(event.key in keys) || inside || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  steps[keys[event.key]]();
});
choose(0);
