// node compile.mjs FOLDER FILE...  ->  Python modules in FOLDER; a FILE is a .ksy as JSON
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import compiler from "kaitai-struct-compiler";

const [folder, ...files] = process.argv.slice(2);
for (const file of files) {
  const modules = await compiler.compile("python", JSON.parse(readFileSync(file, "utf8")), null, false);
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(folder, name), text);
}
