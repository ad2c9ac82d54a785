// Which game an address asks for, and what the page remembers of games, in this browser alone.
const dayOf = (time) => new Date(time).toISOString().slice(0, 10).replaceAll("-", ""); // UTC, as in quincunx_env.play.daily
const today = () => dayOf(Date.now());
const yesterday = () => dayOf(Date.now() - 864e5); // milliseconds of a day
const LESSON = DATA.lesson;
const FIRST_DAY = "20250101";
const FIELDS = { deal: /^\d{1,19}$/, players: /^[12]$/, beat: /^-?\d{1,4}$/ };

// --- Addresses ---

const isDay = ({ seed, players }) => players === 1 && date(seed) !== "";

function date(seed) { // of a day's deal: 29 Nov 2026; empty for other deals
  const day = new Date(seed.replace(/^(....)(..)(..)$/, "$1-$2-$3")), isDate = !Number.isNaN(+day) && dayOf(day) === seed;
  return isDate && seed >= FIRST_DAY && seed <= today() ? day.toUTCString().slice(5, 16) : "";
}

function titleOf(asked) {
  if (asked.lesson) return LESSON.title;
  if (!isDay(asked)) return `Deal ${asked.seed}`;
  return asked.seed === today() ? `Today's deal, ${date(asked.seed)}` : date(asked.seed);
}

const newDeal = (seed, players = 1) => ({ seed, players, beat: null, lesson: false, problem: "" });
const todays = () => newDeal(today());
const lesson = () => ({ ...newDeal(`${LESSON.seed}`), lesson: true });

function asked(hash) { // the deal of an address; today's, and never without a word, if it is not understood
  if (hash === "#learn") return lesson();
  const fields = new URLSearchParams(hash.slice(1)), seed = BigInt(/^\d+$/.test(fields.get("deal")) ? fields.get("deal") : today());
  const understood = [...fields].every(([name, value]) => FIELDS[name]?.test(value)) && seed < 1n << 63n;
  if (!understood) return { ...todays(), problem: "This page does not understand its address: here is today's deal." };
  return { ...newDeal(`${seed}`, Number(fields.get("players") ?? 1)), beat: fields.get("beat") };
}

const linkTo = ({ seed, players, beat }) => `#deal=${seed}${players > 1 ? `&players=${players}` : ""}${beat === null ? "" : `&beat=${beat}`}`;

function addressOf(next) { // today's deal has the bare one, which is today's tomorrow, too
  const bare = next.seed === today() && next.players === 1 && next.beat === null;
  return next.lesson ? "#learn" : bare ? location.pathname + location.search : linkTo(next);
}

// --- Memory ---

const KEPT = "quincunx"; // the name of all that is stored
const MOST = { running: 3, results: 10 };
const isDeal = ({ seed, players }) => /^\d{1,19}$/.test(seed) && [1, 2].includes(players);
const same = (one, other) => one.seed === other.seed && one.players === other.players && !one.lesson === !other.lesson;

function remembered() { // nothing, if another version of the page wrote something else
  const nothing = { running: [], results: [], best: null, day: "", streak: 0 };
  try {
    const memory = { ...nothing, ...JSON.parse(localStorage.getItem(KEPT)) }, { running, results, best, streak } = memory;
    const scores = results.flatMap((result) => result.scores);
    return [...running, ...results].every(isDeal) && [...scores, best ?? 0, streak].every(Number.isInteger) ? memory : nothing;
  } catch {
    return nothing;
  }
}

function remember(change) {
  try { localStorage.setItem(KEPT, JSON.stringify({ ...remembered(), ...change })); } catch { /* denied or full: all else works */ }
}

const running = (beside) => remembered().running.filter((each) => !same(each, beside));
const resultOf = (known) => remembered().results.find((result) => same(result, known));

const rememberGame = (state, over) => remember({ running: [...(over ? [] : [state]), ...running(state)].slice(0, MOST.running) });

function rememberResult(result) { // of the first game on a deal: who knows the cards plays another game
  const { results, best, day, streak } = remembered(), [points] = result.scores, alone = result.players === 1;
  if (resultOf(result)) return;
  const isBest = alone && !result.helped && points > (best ?? -Infinity); // a lost round has no points
  const inARow = { day: today(), streak: day === yesterday() ? streak + 1 : 1 };
  remember({
    results: [result, ...results].slice(0, MOST.results),
    ...(isBest ? { best: points } : {}),
    ...(alone && result.seed === today() ? inARow : {}),
  });
}

const daysInARow = () => ([today(), yesterday()].includes(remembered().day) ? remembered().streak : 0);
