// The engine for tests: the same wasm as the page's.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { load } from "../src/engine";

export const engine = await load(readFileSync(resolve(process.env.ENGINE_WASM ?? "../build/release/engine.wasm")));

/** Cards of a text such as "9h Ts R": rank, suit; B and R are the jokers. Without a suit the next free one. */
export function cards(text: string): number[] {
  const used = new Set<number>();
  return text.split(/\s+/).filter(Boolean).map((w) => {
    if (w === "B") return 52;
    if (w === "R") return 53;
    const rank = "3456789TJQKA2".indexOf(w[0]!);
    const card = w[1] ? rank * 4 + "hdsc".indexOf(w[1]) : [0, 1, 2, 3].map((s) => rank * 4 + s).find((c) => !used.has(c))!;
    used.add(card);
    return card;
  });
}
