// The messages between page and server (docs/protocol.md), as types and as checks on arrival.
// Types are inferred from the checks, so the two cannot disagree.

export type Check<T> = (v: unknown) => v is T;
type Of<C> = C extends Check<infer T> ? T : never;
type Shape = Record<string, Check<unknown>>;
type Optional<S extends Shape> = { [K in keyof S]: undefined extends Of<S[K]> ? K : never }[keyof S];
type Obj<S extends Shape> = { [K in Exclude<keyof S, Optional<S>>]: Of<S[K]> } & { [K in Optional<S>]?: Of<S[K]> };

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);
const num: Check<number> = (v): v is number => typeof v === "number" && Number.isFinite(v);
const int: Check<number> = (v): v is number => Number.isInteger(v);
const bool: Check<boolean> = (v): v is boolean => typeof v === "boolean";
const str: Check<string> = (v): v is string => typeof v === "string" && v.length <= 200;
const seat: Check<Seat> = (v): v is Seat => v === 0 || v === 1 || v === 2;
const card: Check<number> = (v): v is number => Number.isInteger(v) && (v as number) >= 0 && (v as number) <= 53;
const maybe = <T>(c: Check<T>): Check<T | null> => (v): v is T | null => v === null || c(v);
const opt = <T>(c: Check<T>): Check<T | undefined> => (v): v is T | undefined => v === undefined || c(v);
const list = <T>(c: Check<T>, max = 400): Check<T[]> => (v): v is T[] => Array.isArray(v) && v.length <= max && v.every(c);
const three = <T>(c: Check<T>): Check<[T, T, T]> => (v): v is [T, T, T] => Array.isArray(v) && v.length === 3 && v.every(c);
const pair = <A, B>(a: Check<A>, b: Check<B>): Check<[A, B]> => (v): v is [A, B] => Array.isArray(v) && v.length === 2 && a(v[0]) && b(v[1]);
const one = <T extends string>(...words: T[]): Check<T> => (v): v is T => words.includes(v as T);
const obj = <S extends Shape>(shape: S): Check<Obj<S>> => (v): v is Obj<S> => isObject(v) && Object.entries(shape).every(([k, c]) => c(v[k]));

export type Seat = 0 | 1 | 2;
export type Lang = "zh" | "en";

const rules = one("classic", "douzero");
const strength = one("easy", "mid", "best");
const why = one("player", "timeout", "host", "bot");
const cards = list(card, 20);
export const KINDS = ["pass", "single", "pair", "triple", "t1", "t2", "straight", "pairs", "plane", "plane1", "plane2", "q2", "q22", "bomb", "rocket", "shuttle", "shuttle1", "shuttle2", "other"] as const;
const kind = one(...KINDS);
const beat = obj({ seat, cards, kind });
const left = maybe(num);
const think = obj({
  win: maybe(num),
  exp: maybe(num),
  moves: opt(list(obj({ cards, kind, win: maybe(num), exp: maybe(num) }), 3)),
  bids: opt(list(obj({ points: int, win: maybe(num), exp: maybe(num) }), 4)),
});
const end = obj({
  game: str, winner: one("landlord", "farmers"), landlord: seat, points: three(num),
  factors: list(obj({ name: str, n: num }), 40), hands: three(cards), rated: bool,
  rating: opt(maybe(obj({ before: num, after: num }))),
});
const roomSeat = obj({ name: str, kind: one("human", "bot", "empty"), strength: opt(maybe(strength)), ready: bool, away: bool, host: bool });
const reviewItem = obj({
  ply: int, seat, legal: int, win: maybe(num), exp: maybe(num), best: list(int, 20), best_win: maybe(num), best_exp: maybe(num), loss: maybe(num),
});

const SERVER = {
  welcome: obj({ ver: str, token: str, name: str, now: num, resumed: bool, room: maybe(str), net: opt(maybe(str)), last_id: opt(int) }),
  ok: obj({ id: int, room: opt(maybe(str)), seat: opt(maybe(seat)) }),
  error: obj({ id: opt(maybe(int)), code: str }),
  pong: obj({ c: int, now: num }),
  lobby: obj({ rooms: list(obj({ room: str, name: str, people: int, bots: int, watchers: int, state: one("wait", "play", "over") }), 500), online: opt(int) }),
  room: obj({
    room: str, name: str, rules, time: int, help: bool, allpass: one("redeal", "first"), private: bool, host: maybe(seat), me: maybe(seat),
    watchers: int, rated: bool, state: one("wait", "play", "over"), seats: three(roomSeat),
  }),
  snapshot: obj({
    seq: int, why: one("join", "resync", "undo"), game: str, rules, phase: one("bid", "play", "over"), me: maybe(seat), first: seat, ply: int,
    turn: maybe(seat), left_ms: left, total_ms: left, beat: maybe(beat), min: int, landlord: maybe(seat), base: num, mult: num, counts: three(int),
    hand: maybe(cards), kitty: maybe(three(card)), bids: list(pair(seat, int), 3), history: list(historyEntry(), 400), hosted: three(bool), away: three(bool),
    hands: maybe(three(cards)), rated: bool, end: opt(maybe(end)),
  }),
  deal: obj({ seq: int, game: str, first: seat, me: maybe(seat), hand: maybe(cards), rules, bidding: bool, hands: opt(maybe(three(cards))) }),
  bid: obj({ seq: int, seat, ply: int, points: int, why, id: opt(maybe(int)) }),
  landlord: obj({ seq: int, seat, base: num, kitty: three(card), how: one("bid", "first", "chosen", "dealt"), counts: three(int) }),
  void: obj({ seq: int }),
  turn: obj({ seq: int, seat, ply: int, left_ms: left, total_ms: left, beat: maybe(beat), min: int }),
  play: obj({ seq: int, seat, ply: int, cards, kind, count: int, mult: num, why, id: opt(maybe(int)), think: opt(maybe(think)) }),
  open: obj({ seq: int, on: bool, hands: maybe(three(cards)) }),
  advice: obj({ id: int, ply: int, win: maybe(num), exp: maybe(num), moves: opt(list(obj({ cards, kind, win: maybe(num), exp: maybe(num) }), 3)), bids: opt(list(obj({ points: int, win: maybe(num), exp: maybe(num) }), 4)), ms: opt(num) }),
  host: obj({ seq: int, seat, on: bool }),
  away: obj({ seq: int, seat, left_ms: num }),
  back: obj({ seq: int, seat }),
  phrase: obj({ seat, n: int }),
  end: (v: unknown): v is Of<typeof end> & { seq: number } => end(v) && int((v as { seq?: unknown }).seq),
  rematch: obj({ yes: three(bool), left_ms: num }),
  review: obj({ game: str, items: list(reviewItem), done: bool, agree: opt(maybe(three(maybe(num)))), worst: opt(maybe(obj({ ply: int, loss: num }))) }),
  bye: obj({ reason: one("moved", "closing", "idle", "banned", "version", "full"), retry_ms: opt(num) }),
};

function historyEntry(): Check<[Seat, number[], Kind]> {
  return (v): v is [Seat, number[], Kind] => Array.isArray(v) && v.length === 3 && seat(v[0]) && cards(v[1]) && kind(v[2]);
}

type Schemas = typeof SERVER;
export type Message = { [K in keyof Schemas]: { t: K } & Of<Schemas[K]> }[keyof Schemas];
export type MessageOf<K extends Message["t"]> = Extract<Message, { t: K }>;
export type Kind = (typeof KINDS)[number];
export type Rules = Of<typeof rules>;
export type Strength = Of<typeof strength>;
export type Why = Of<typeof why>;
export type Beat = Of<typeof beat>;
export type End = Of<typeof end>;
export type RoomSeat = Of<typeof roomSeat>;
export type Think = Of<typeof think>;
export type ReviewItem = Of<typeof reviewItem>;

/** A message of the server, or why it is none. */
export function decode(text: string): Message | { t: "bad"; why: string } {
  let v: unknown;
  try {
    v = JSON.parse(text);
  } catch {
    return { t: "bad", why: "not JSON" };
  }
  if (!isObject(v) || typeof v.t !== "string") return { t: "bad", why: "no type" };
  if (!Object.hasOwn(SERVER, v.t)) return { t: "bad", why: `unknown type ${v.t.slice(0, 20)}` };
  const check: (v: unknown) => boolean = SERVER[v.t as keyof Schemas];
  return check(v) ? (v as Message) : { t: "bad", why: `malformed ${v.t}` };
}

export type Role = "bid" | "landlord" | "farmer";
export type RoomRules = { rules: Rules; time: number; help: boolean; allpass: "redeal" | "first"; private: boolean; think?: number };

/** What the page sends; `id` is added by the connection. */
export type Command =
  | { t: "rename"; name: string }
  | { t: "lobby"; on: boolean }
  | { t: "quick"; strength: Strength; role: Role; time: number; rules: Rules; help: boolean; think: number }
  | ({ t: "room_new"; name?: string } & RoomRules)
  | { t: "room_join"; room: string }
  | { t: "watch"; room?: string }
  | { t: "room_leave" }
  | ({ t: "room_set" } & Partial<RoomRules>)
  | { t: "sit"; seat: Seat }
  | { t: "bot"; seat: Seat; strength: Strength }
  | { t: "remove"; seat: Seat }
  | { t: "swap"; a: Seat; b: Seat }
  | { t: "ready"; on: boolean }
  | { t: "start" }
  | { t: "bid"; ply: number; points: number }
  | { t: "play"; ply: number; cards: number[] }
  | { t: "host"; on: boolean }
  | { t: "open"; on: boolean }
  | { t: "undo"; ply: number }
  | { t: "advise"; ply: number }
  | { t: "phrase"; n: number }
  | { t: "rematch"; yes: boolean }
  | { t: "resume_at"; game: string; ply: number; seat: Seat; strength: Strength }
  | { t: "review"; game: string; from?: number };
