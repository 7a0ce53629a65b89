// The engine for node: kinds and legal plays, the same wasm as the page.
import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.env.ENGINE_WASM ?? new URL("../../../build/release/engine.wasm", import.meta.url)));
const wasm = instance.exports;
const KINDS = ["", "pass", "single", "pair", "triple", "bomb", "rocket", "t1", "t2", "straight", "pairs", "plane", "plane1", "plane2", "q2", "q22", "shuttle", "shuttle1", "shuttle2", "other"];
const id = (rules) => (rules === "douzero" ? 0 : 4);

export const rank = (c) => (c < 52 ? c >> 2 : c - 39);
export const handOf = (cards) => cards.reduce((h, c) => h + (1n << BigInt(4 * rank(c))), 0n);
export const kindOf = (rules, cards) => (cards.length ? KINDS[wasm.dz_classify(id(rules), handOf(cards)) & 255] : "pass");

/** Legal plays as lists of cards, cheap ones first. */
export function legal(rules, hand, beat) {
  const n = wasm.dz_moves(id(rules), handOf(hand), handOf(beat ?? []));
  const plays = [...new BigUint64Array(wasm.memory.buffer, wasm.dz_moves_buffer(), n)];
  const price = (h) => {
    let p = 0;
    for (let r = 0n; r < 15n; r++) p += Number((h >> (4n * r)) & 15n) * (Number(r) + 1) + (((h >> (4n * r)) & 15n) === 4n ? 100 : 0);
    return beat ? p : p - 14 * pick(hand, h).length;
  };
  return plays.sort((a, b) => price(a) - price(b)).map((h) => pick(hand, h));
}

function pick(hand, want) {
  const out = [];
  for (const c of [...hand].sort((a, b) => a - b)) {
    const r = BigInt(4 * rank(c));
    if (BigInt(out.filter((o) => rank(o) === rank(c)).length) < ((want >> r) & 15n)) out.push(c);
  }
  return out;
}
