// node validate.mjs FILE...  ->  one JSON line per file: its errors and warnings
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import validator from "gltf-validator";

for (const path of process.argv.slice(2)) {
  const report = await validator.validateBytes(new Uint8Array(readFileSync(path)), {
    maxIssues: 0,
    externalResourceFunction: async (uri) =>
      new Uint8Array(readFileSync(join(dirname(path), decodeURIComponent(uri)))),
  });
  const issues = report.issues.messages.filter((message) => message.severity < 2);
  console.log(JSON.stringify({ path, issues }));
}
