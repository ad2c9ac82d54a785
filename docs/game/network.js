// The policy of quincunx_agents.torch.play_network for the solitaire, without the critic. A letter stands for a weight.
const { layers: LAYERS, features: FEATURES, middle: MIDDLE, places: PLACES, units: UNITS } = DATA.network;

function tensor(name) {
  const layer = LAYERS[name];
  return layer.values ??= Float32Array.from(layer.weights, (letter) => (letter.charCodeAt(0) - MIDDLE) * layer.step);
}

function linear(name, inputs) {
  const weights = tensor(`${name}.weight`), width = inputs.length;
  return Array.from(tensor(`${name}.bias`), (total, row) => {
    for (let column = 0; column < width; column++) total += weights[row * width + column] * inputs[column];
    return total;
  });
}

const relu = (values) => values.map((value) => Math.max(value, 0));
const product = (one, other) => sum(one.map((value, index) => value * other[index]));
const joined = (vectors, join) => vectors.reduce((total, vector) => total.map((value, index) => join(value, vector[index])));
const added = (...vectors) => joined(vectors, (one, other) => one + other);
const highest = (vectors) => joined(vectors, (one, other) => Math.max(one, other));

function logits(game) { // [card, cell, logit] of each play
  const { board, pile, hands: [hand], order, scores } = game, places = Array.from({ length: PLACES }, (_, place) => hand[place] ?? EMPTY);
  const isPlay = (card, cell) => card !== EMPTY && board[cell] === EMPTY;
  const [POINTS, DRAWS, ...COUNTS] = UNITS, features = (card) => FEATURES[card + 1];
  const shown = places.map((card) => board.map((_, cell) => {
    const [points, draws] = isPlay(card, cell) ? game.value(card, cell) : [0, 0];
    return [points / POINTS, draws / DRAWS];
  }));
  const over = (points, plays, self) => points - Math.max(0, ...plays.flatMap(([other], index) => (index === self ? [] : [other])));
  const plays = shown.map((row, place) => row.map(([points, draws], cell) =>
    [points, draws, over(points, shown.map((other) => other[cell]), place), over(points, row, cell)]));

  const faces = board.map((card, cell) => [...features(card), ...highest(plays.map((row) => row[cell]))]);
  const near = (name, cell, rows, columns) => {
    const line = [-2, -1, 0, 1, 2].map((far) => faces[game.at(cell, rows * far, columns * far)]);
    return linear(name, faces[cell].flatMap((_, index) => line.map((face) => face?.[index] ?? 0)));
  };
  const cells = board.map((_, cell) => relu(added(near("row", cell, 0, 1), near("column", cell, 1, 0))));
  const held = places.map((card, place) => [...features(card), ...highest(plays[place])]);
  const cards = held.map((inputs) => relu(linear("card", inputs)));
  const rest = CARDS.map((_, card) => +hand.slice(PLACES).includes(card));
  const counts = [pile.length, hand.length, scores[0]].map((count, index) => count / COUNTS[index]);
  let summary = [...board.flatMap(features), ...order.map((ply) => ply / game.plays), ...rest, ...counts, ...added(...cells), ...added(...cards)];
  for (const layer of ["summary.0", "summary.2"]) summary = relu(linear(layer, summary));

  const state = linear("state_query", summary), gain = linear("gain", summary), depth = state.length / board.length;
  const queries = cells.map((codes, cell) => added(linear("cell_query", codes), state.slice(cell * depth, (cell + 1) * depth)));
  return places.flatMap((card, place) => {
    const key = linear("key", held[place]), [bias] = linear("bias", cards[place]);
    return plays[place].flatMap((play, cell) => (isPlay(card, cell) ? [[card, cell, product(key, queries[cell]) + bias + product(play, gain) + play[0]]] : []));
  });
}

function preferred(game) { // [card, cell] of the highest logit, of equals the first, as in quincunx_agents.ties
  const plays = logits(game), most = Math.max(...plays.map(([, , logit]) => logit));
  return plays.find(([, , logit]) => logit >= most - 1e-3);
}
