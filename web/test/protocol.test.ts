import { describe, expect, it } from "vitest";
import { decode } from "../src/protocol";

const turn = { t: "turn", seq: 2, seat: 0, ply: 0, left_ms: 20000, total_ms: 20000, beat: null, min: 1 };
const why = (m: unknown): string => {
  const d = decode(typeof m === "string" ? m : JSON.stringify(m));
  return d.t === "bad" ? d.why : "ok";
};

describe("messages are checked on arrival", () => {
  it("takes the documented examples", () => {
    const good = [
      turn,
      { t: "welcome", ver: "1.0", token: "q1", name: "青山", now: 1760000000000, resumed: false, room: null, net: "best-42", last_id: 0 },
      { t: "deal", seq: 1, game: "3fK9", first: 0, me: 0, hand: [53, 50], rules: "classic", bidding: true },
      { t: "bid", seq: 3, seat: 0, ply: 0, points: 3, why: "player", id: 2 },
      { t: "landlord", seq: 4, seat: 0, base: 3, kitty: [46, 27, 5], how: "bid", counts: [20, 17, 17] },
      { t: "play", seq: 6, seat: 0, ply: 1, cards: [0, 2], kind: "pair", count: 18, mult: 1, why: "player", id: 3 },
      { t: "advice", id: 4, ply: 4, win: 0.714, exp: 3.1, moves: [{ cards: [24, 25], kind: "pair", win: 0.714, exp: null }], ms: 12 },
      { t: "error", id: 5, code: "stale" }, { t: "error", id: null, code: "bad_message" },
      { t: "end", seq: 80, game: "3fK9", winner: "farmers", landlord: 2, points: [8, 8, -16], factors: [{ name: "bid", n: 2 }], hands: [[], [4, 2], [50, 41]], rated: true },
      { t: "review", game: "3fK9", items: [{ ply: 17, seat: 2, legal: 6, win: 0.48, exp: -0.3, best: [], best_win: 0.632, best_exp: 0.6, loss: 0.152 }], done: false },
    ];
    for (const m of good) expect(why(m), JSON.stringify(m)).toBe("ok");
  });

  it("ignores fields it does not know", () => expect(why({ ...turn, news: [1] })).toBe("ok"));

  it("refuses what is no message", () => {
    expect(why("{")).toBe("not JSON");
    expect(why("[]")).toBe("no type");
    expect(why("null")).toBe("no type");
    expect(why({ t: "nonsense" })).toBe("unknown type nonsense");
    expect(why({ t: "constructor" })).toBe("unknown type constructor");
    expect(why({ t: "__proto__" })).toBe("unknown type __proto__");
  });

  it("refuses a message with one wrong field", () => {
    const wrong: Record<string, unknown>[] = [{ seat: 3 }, { seat: "0" }, { ply: 0.5 }, { left_ms: "20" }, { beat: {} }, { beat: { seat: 0, cards: [54], kind: "single" } }, { beat: { seat: 0, cards: [1], kind: "sonata" } }, { min: null }];
    for (const change of wrong) expect(why({ ...turn, ...change }), JSON.stringify(change)).toBe("malformed turn");
    for (const field of ["seat", "ply", "left_ms", "beat", "min", "seq"]) {
      const { [field]: _, ...rest } = turn as Record<string, unknown>;
      expect(why(rest), field).toBe("malformed turn");
    }
  });
});
