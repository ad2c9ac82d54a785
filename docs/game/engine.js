// Part 1 of RULES.md for the solitaire and two players. The tables of cards, set-ups and points come from the package.
"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const { cards: CARDS, setups: SETUPS, points: POINTS } = DATA;
const EMPTY = -1;
const LINES = [[0, 1], [1, 0], [1, 1], [-1, 1]]; // the solitaire has the first two
const SIDES = [[-1, 0], [0, -1], [0, 1], [1, 0]];

// --- Deals: SplitMix64 as in quincunx_env/core/deal.py ---

const WORD = (1n << 64n) - 1n;
const [GOLDEN, FIRST, SECOND] = [0x9E3779B97F4A7C15n, 0xBF58476D1CE4E5B9n, 0x94D049BB133111EBn];

function mix(z) {
  z = (z ^ z >> 30n) * FIRST & WORD;
  z = (z ^ z >> 27n) * SECOND & WORD;
  return z ^ z >> 31n;
}

function shuffled(seed) {
  let state = 0n;
  for (const word of [BigInt(seed), 0n, 0n]) state = mix(state + GOLDEN & WORD) + word & WORD; // seed, game, round
  state = mix(state + GOLDEN & WORD);
  const key = (card) => mix(state + GOLDEN * BigInt(card + 1) & WORD) & ~63n | BigInt(card);
  return CARDS.map((_, card) => key(card)).sort((a, b) => (a < b ? -1 : 1)).map((sorted) => Number(sorted & 63n));
}

// --- A game ---

const ascending = (cards) => [...cards].sort((a, b) => a - b);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

class Game {
  constructor(players, seed) {
    const { side, face_up: up, hand, filled, lines } = SETUPS[players];
    const deck = shuffled(seed);
    Object.assign(this, { players, side, plays: filled - up.length, lines: LINES.slice(0, lines) });
    Object.assign(this, { ply: 0, mover: 0, over: false, lost: false, scores: Array(players).fill(0) });
    this.board = Array(side * side).fill(EMPTY);
    for (const [row, column] of up) this.board[row * side + column] = deck.shift();
    this.order = this.board.map((card) => (card === EMPTY ? -1 : 0)); // ply on which the card of a cell came
    this.hands = this.scores.map(() => ascending(deck.splice(0, hand)));
    this.pile = deck;
  }

  at(cell, rows, columns) { // undefined off the grid
    const row = Math.floor(cell / this.side) + rows, column = cell % this.side + columns;
    return row >= 0 && column >= 0 && row < this.side && column < this.side ? row * this.side + column : undefined;
  }

  card(cell) { return CARDS[this.board[cell]]; } // undefined for an empty cell and off the grid

  free() { return this.board.flatMap((card, cell) => (card === EMPTY ? [cell] : [])); }

  parts(id, cell) { // of the score of a card in an empty cell: name, points, draws and cells of each
    const one = CARDS[id], found = [], threes = new Set();
    const add = (name, points, cells, draws = 0) => found.push({ name, points, draws, cells });
    const near = SIDES.map(([rows, columns]) => this.at(cell, rows, columns)).filter((place) => this.card(place));
    for (const place of near) {
      const other = this.card(place), total = one.value + other.value;
      const friendly = one.suits & other.suits && (one.rank === "A" || other.rank === "A");
      if (POINTS.draws.includes(total)) add("draw", 0, [place], 1);
      else if (total !== 10) add("basic", total > 10 ? total - 10 : friendly ? total : -total, [place]);
    }
    for (const [rows, columns] of this.lines) {
      for (const [name, step] of [["three", 0], ["straight", 1], ["straight", -1]]) { // R4: a line scores once
        const cells = [];
        for (const way of [-1, 1]) {
          for (let far = way; ; far += way) {
            const place = this.at(cell, rows * far, columns * far);
            if (this.card(place)?.order !== one.order + step * far) break;
            cells.push(place);
          }
        }
        if (cells.length < 2) continue;
        add(name, POINTS[name], cells);
        if (name === "three") cells.forEach((place) => threes.add(place));
        break;
      }
    }
    for (const place of near) if (this.card(place).rank === one.rank && !threes.has(place)) add("pair", POINTS.pair, [place]);
    const royal = (card) => "AC".includes(card.rank);
    if (royal(one) && near.some((place) => this.card(place).suits === one.suits && royal(this.card(place)))) {
      this.board.forEach((_, place) => {
        const other = this.card(place);
        if (other && other.suits & one.suits && !royal(other)) add("power", other.value, [place]);
      });
    }
    return found;
  }

  value(card, cell) { // [points, draws]
    const parts = this.parts(card, cell);
    return [sum(parts.map((part) => part.points)), sum(parts.map((part) => part.draws))];
  }

  play(card, cell) { // returns the points that each seat gains
    const hand = this.hands[this.mover], gains = Array(this.players).fill(0);
    if (this.over || !hand.includes(card) || this.board[cell] !== EMPTY) throw new Error(`card ${card} cannot be played at ${cell}`);
    const [points, draws] = this.value(card, cell);
    gains[this.mover] = points;
    this.board[cell] = card;
    this.hands[this.mover] = ascending([...hand.filter((held) => held !== card), ...this.pile.splice(0, draws)]);
    this.order[cell] = this.ply += 1;
    const full = this.ply === this.plays;
    if (full) this.hands.forEach((left, seat) => { gains[seat] -= sum(left.map((held) => CARDS[held].penalty)); });
    this.scores = this.scores.map((score, seat) => score + gains[seat]);
    this.lost = this.players === 1 && !full && !this.hands[0].length;
    this.over = full || this.lost;
    this.mover = (this.mover + 1) % this.players;
    return gains;
  }
}

function greedy(game) { // the agent of that name: most points, of equal plays the first
  const plays = game.hands[game.mover].flatMap((card) => game.free().map((cell) => [card, cell]));
  const points = plays.map((play) => game.value(...play)[0]);
  return plays[points.indexOf(Math.max(...points))];
}
