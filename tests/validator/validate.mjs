// node validate.mjs FILE...  ->  one JSON line per file: its errors and warnings
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import validator from "gltf-validator";

async function messages(path) {
  try {
    const report = await validator.validateBytes(new Uint8Array(readFileSync(path)), {
      maxIssues: 0,
      externalResourceFunction: async (uri) =>
        new Uint8Array(readFileSync(join(dirname(path), decodeURIComponent(uri)))),
    });
    return report.issues.messages;
  } catch (error) {
    return [{ code: "REFUSED", message: String(error), severity: 0 }];
  }
}

for (const path of process.argv.slice(2)) {
  const issues = (await messages(path)).filter((message) => message.severity < 2);
  console.log(JSON.stringify({ path, issues }));
}
