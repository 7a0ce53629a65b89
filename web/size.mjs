// Prints the size of what the first sight of the page loads, compressed, and fails above the limit.
// node size.mjs [dist]
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 120_000;
const dist = process.argv[2] ?? "dist", assets = join(dist, "assets");
const html = readFileSync(join(dist, "index.html"), "utf8");
const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((m) => m[1]);
const engine = readdirSync(assets).find((f) => /^engine-.*\.wasm$/.test(f));
if (!engine) throw new Error(`no engine.wasm in ${assets}`);
const files = ["index.html", ...new Set(first), `assets/${engine}`];

let sum = 0;
for (const f of files) {
  const n = gzipSync(readFileSync(join(dist, f)), { level: 9 }).length;
  sum += n;
  console.log(`${String(n).padStart(8)}  ${f}`);
}
console.log(`${String(sum).padStart(8)}  first load, gzip (limit ${LIMIT})`);
const rest = readdirSync(assets).filter((f) => /\.(js|css)$/.test(f) && !files.includes(`assets/${f}`));
for (const f of rest) console.log(`${String(gzipSync(readFileSync(join(assets, f)), { level: 9 }).length).padStart(8)}  assets/${f} (when opened)`);
if (sum > LIMIT) {
  console.error(`first load is ${sum} bytes, more than ${LIMIT}`);
  process.exit(1);
}
