// Scores of search results, which Sphinx reads in place of its built-in ones: introductions first, then other pages,
// then the background, and classes with their attributes last.
const INTRODUCTION = /^docs\/(index|learn|play|quick_start|training)$/;
const BACKGROUND = /^(docs\/(api|design|experiments|methods|models|strength)|CHANGELOG|CONTRIBUTING)/;

var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) =>
    score - (kind === "object" ? 30 : BACKGROUND.test(page) ? 4 : INTRODUCTION.test(page) ? -4 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
