// The C rules, as WebAssembly: what a play is and which plays are legal. The page knows no rule of its own.
import type { Hand } from "./cards";
import type { Kind, Rules } from "./protocol";

export interface Move {
  cards: Hand;
  kind: Kind;
  /** Main rank; of a chain the lowest. */
  rank: number;
  /** Number of chained groups. */
  length: number;
  size: number;
}

export interface Engine {
  /** All plays from `hand` that may be led (`beat` 0) or that beat `beat`; never pass. */
  moves(rules: Rules, hand: Hand, beat: Hand): Move[];
  /** null: these cards are no play. */
  classify(rules: Rules, cards: Hand): Move | null;
}

interface Exports {
  memory: WebAssembly.Memory;
  dz_moves_buffer(): number;
  dz_moves(rules: number, hand: Hand, beat: Hand): number;
  dz_classify(rules: number, cards: Hand): number;
}

// In the order of the engine's RulesetId and MoveType.
const RULESET: Record<Rules, number> = { douzero: 0, classic: 4 };
const KIND_OF: (Kind | null)[] = [
  null, "pass", "single", "pair", "triple", "bomb", "rocket", "t1", "t2", "straight", "pairs", "plane", "plane1", "plane2", "q2", "q22",
  "shuttle", "shuttle1", "shuttle2", "other",
];

export async function load(bytes: BufferSource | Promise<Response>): Promise<Engine> {
  const { instance } = bytes instanceof Promise ? await WebAssembly.instantiateStreaming(bytes) : await WebAssembly.instantiate(bytes);
  const wasm = instance.exports as unknown as Exports;
  const classify = (rules: Rules, cards: Hand): Move | null => {
    const packed = wasm.dz_classify(RULESET[rules], cards);
    const kind = KIND_OF[packed & 255];
    return kind && kind !== "pass" ? { cards, kind, rank: (packed >> 8) & 255, length: (packed >> 16) & 255, size: packed >>> 24 } : null;
  };
  return {
    classify,
    moves(rules, hand, beat) {
      const n = wasm.dz_moves(RULESET[rules], hand, beat);
      const out = new BigUint64Array(wasm.memory.buffer, wasm.dz_moves_buffer(), n);
      return [...out].map((cards) => classify(rules, cards)!);
    },
  };
}
