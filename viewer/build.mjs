// node build.mjs FOLDER: viewer.js and the licence of what is in it, into that folder.
import { copyFileSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2]);
const three = join(here, "node_modules", "three");
const { version } = JSON.parse(readFileSync(join(three, "package.json"), "utf-8"));

buildSync({
  absWorkingDir: here,
  entryPoints: ["main.js"],
  outfile: join(folder, "viewer.js"),
  banner: { js: `/* three.js ${version}, MIT: viewer.LICENSE.txt. Built from viewer/main.js. */` },
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
});
copyFileSync(join(three, "LICENSE"), join(folder, "viewer.LICENSE.txt"));
