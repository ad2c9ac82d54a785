// The policy of quincunx_agents.torch.networks for the solitaire, without the critic. Its weights are bytes.
const { layers: LAYERS, features: FEATURES, counts: UNITS } = DATA.network;
const [OFF, FREE] = [CARDS.length, CARDS.length + 1]; // rows of FEATURES for a place off the grid and an empty cell

function tensor(name) {
  const layer = LAYERS[name], bytes = () => Int8Array.from(atob(layer.weights), (letter) => letter.charCodeAt(0));
  return layer.values ??= Float32Array.from(bytes(), (byte) => byte * layer.step);
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
const added = (vectors) => vectors.reduce((total, vector) => total.map((value, index) => value + vector[index]));

function best(plays) { // the two most points and the most draws
  const points = plays.map(([scored]) => scored).sort((a, b) => b - a);
  return [points[0], points[1], Math.max(...plays.map(([, draws]) => draws))];
}

function logits(game) { // [card, cell, logit] of each play
  const [hand] = game.hands, cells = game.free(), { board } = game;
  const scaled = ([points, draws]) => [points / 10, draws];
  const plays = hand.map((card) => cells.map((cell) => scaled(game.value(card, cell))));
  const missing = (count) => Array(count).fill([0, 0]); // what cannot be played counts as a play without points
  const bestOfCard = plays.map((row) => best([...row, ...missing(board.length - cells.length)]));
  const bestOfCell = cells.map((_, index) => best([...plays.map((row) => row[index]), ...missing(CARDS.length - hand.length)]));

  const embedded = FEATURES.map((features) => linear("card_embedding", features));
  const code = (cell) => embedded[cell === undefined ? OFF : board[cell] === EMPTY ? FREE : board[cell]];
  const near = (cell) => game.lines.flatMap(([rows, columns]) => [-2, -1, 1, 2].flatMap((far) => code(game.at(cell, rows * far, columns * far))));
  const cellCodes = cells.map((cell, index) => relu(linear("cell_encoder", [...near(cell), ...bestOfCell[index]])));
  const cardCodes = hand.map((card, index) => relu(linear("card_encoder", [...FEATURES[card], ...bestOfCard[index]])));
  const counts = [game.pile.length, hand.length, game.scores[0]].map((count, index) => count / UNITS[index]);
  const holds = CARDS.map((_, card) => +hand.includes(card));
  let hidden = [...board.flatMap((_, cell) => code(cell)), ...holds, ...counts, ...added(cellCodes), ...added(cardCodes)];
  for (const layer of ["trunk.0", "trunk.2"]) hidden = relu(linear(layer, hidden));

  const state = linear("state_queries", hidden), gain = linear("preview_gain", hidden), depth = embedded[0].length;
  const queries = cellCodes.map((codes, index) => added([linear("cell_queries", codes), state.slice(cells[index] * depth).slice(0, depth)]));
  const over = (points, [first, second]) => points - (points === first ? second : first);
  return hand.flatMap((card, row) => {
    const key = linear("card_keys", FEATURES[card]), [bias] = linear("card_bias", cardCodes[row]);
    return cells.map((cell, index) => {
      const [points, draws] = plays[row][index];
      const shown = [points, draws, over(points, bestOfCell[index]), over(points, bestOfCard[row])];
      return [card, cell, bias + product(key, queries[index]) + product(shown, gain)];
    });
  });
}

function preferred(game) { // [card, cell] of the highest logit, of equals the first, as in quincunx_agents.ties
  const plays = logits(game), most = Math.max(...plays.map(([, , logit]) => logit));
  return plays.find(([, , logit]) => logit >= most - 1e-3);
}
