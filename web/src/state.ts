// Everything the page knows, and how a message of the server changes it: (state, message, now) -> state.
// Pure: no clock, no DOM, no socket. Times are the caller's milliseconds.
import type { Card } from "./cards";
import type { Beat, End, Kind, Message, MessageOf, ReviewItem, Rules, Seat, Think, Why } from "./protocol";

export type Played = { seat: Seat; cards: Card[]; kind: Kind; why?: Why; think?: Think | null };
/** What lies before a seat: a bid, a play, or a pass (a play of no cards). */
export type Lying = { bid: number } | Played | null;
export type Three<T> = [T, T, T];

export interface Game {
  id: string;
  rules: Rules;
  phase: "bid" | "play" | "over";
  me: Seat | null;
  first: Seat;
  ply: number;
  turn: Seat | null;
  beat: Beat | null;
  min: number;
  /** When the turn ends and how long it is in all; null: no limit. */
  deadline: number | null;
  total: number | null;
  landlord: Seat | null;
  base: number;
  mult: number;
  counts: Three<number>;
  hand: Card[];
  kitty: Three<Card> | null;
  /** Cards taken from the kitty, marked until the first play. */
  fresh: Card[];
  bids: { seat: Seat; points: number }[];
  history: Played[];
  lying: Three<Lying>;
  hosted: Three<boolean>;
  /** When a bot sits in for a seat whose player is gone; null: the player is there. */
  away: Three<number | null>;
  hands: Three<Card[]> | null;
  rated: boolean;
  /** Nobody bid; the next deal comes. */
  void: boolean;
  end: End | null;
}

export type Advice = MessageOf<"advice">;
export type Review = { game: string; items: ReviewItem[]; done: boolean; agree: Three<number | null> | null; worst: { ply: number; loss: number } | null };

export interface State {
  link: "connecting" | "online" | "lost" | "moved" | "version" | "closed";
  /** When the line was lost; seats are kept for SEAT_KEPT_MS from then. */
  lostAt: number | null;
  rtt: number | null;
  token: string | null;
  name: string;
  net: string | null;
  lobby: MessageOf<"lobby"> | null;
  room: MessageOf<"room"> | null;
  game: Game | null;
  /** seq of the last message of the room; a gap means that something was missed. */
  seq: number;
  gap: boolean;
  advice: Advice | null;
  review: Review | null;
  rematch: { yes: Three<boolean>; until: number } | null;
  phrase: { seat: Seat; n: number; at: number } | null;
  /** The last error; `stray`: no answer to a command, but news, such as a room that closed. */
  error: { code: string; at: number; stray: boolean } | null;
}

export const SEAT_KEPT_MS = 60_000;

export const initial: State = {
  link: "connecting", lostAt: null, rtt: null, token: null, name: "", net: null, lobby: null, room: null, game: null, seq: 0, gap: false,
  advice: null, review: null, rematch: null, phrase: null, error: null,
};

/** What happens on this side of the line. */
export type Local =
  | { t: "line"; link: State["link"] }
  | { t: "rtt"; ms: number }
  | { t: "left" }
  | { t: "review.clear" };

export const isGameMessage = <M extends object>(m: M): m is M & { seq: number } => "seq" in m && typeof m.seq === "number";

export function reduce(s: State, m: Message | Local, now: number): State {
  if (m.t !== "snapshot" && isGameMessage(m)) {
    const seq = m.seq;
    if (seq <= s.seq) return s; // seen before the line was lost
    if (seq !== s.seq + 1) return { ...s, gap: true };
    s = { ...s, seq };
  }
  switch (m.t) {
    case "line": {
      const lost = m.link === "lost" ? (s.lostAt ?? now) : null;
      return { ...s, link: m.link, lostAt: lost };
    }
    case "rtt": return { ...s, rtt: m.ms };
    case "left": return { ...s, room: null, game: null, seq: 0, gap: false, advice: null, review: null, rematch: null };
    case "review.clear": return { ...s, review: null };
    case "welcome": return welcome(s, m);
    case "ok": return s;
    case "error": return failed(s, m, now);
    case "pong": return s;
    case "lobby": return { ...s, lobby: m };
    case "room": return room(s, m);
    case "rematch": return { ...s, rematch: { yes: m.yes, until: now + m.left_ms } };
    case "phrase": return { ...s, phrase: { seat: m.seat, n: m.n, at: now } };
    case "advice": return s.game && m.ply === s.game.ply ? { ...s, advice: m } : s;
    case "review": return review(s, m);
    case "bye": return { ...s, link: m.reason === "moved" || m.reason === "version" ? m.reason : m.retry_ms === 0 ? "closed" : s.link };
    case "snapshot": return { ...s, seq: m.seq, gap: false, game: fromSnapshot(m, now), advice: null, rematch: null, review: reviewOf(s, m.game) };
    case "deal": return { ...s, game: dealt(m), advice: null, rematch: null, review: null };
    default: return s.game ? { ...s, ...course(s.game, m, now) } : s;
  }
}

function welcome(s: State, m: MessageOf<"welcome">): State {
  const same = m.room !== null && m.room === s.room?.room;
  const kept = { ...s, link: "online" as const, lostAt: null, token: m.token, name: m.name, net: m.net ?? null, gap: false };
  return same ? kept : { ...kept, room: null, game: null, seq: 0, advice: null, rematch: null };
}

function failed(s: State, m: MessageOf<"error">, now: number): State {
  const stray = m.id == null;
  const error = { code: m.code, at: now, stray };
  return stray && m.code === "gone" ? { ...s, error, room: null, game: null, seq: 0, gap: false, advice: null, rematch: null } : { ...s, error };
}

function room(s: State, m: MessageOf<"room">): State {
  return m.room === s.room?.room ? { ...s, room: m } : { ...s, room: m, game: null, seq: 0, gap: false, advice: null, rematch: null, review: null };
}

const reviewOf = (s: State, game: string): Review | null => (s.review?.game === game ? s.review : null);

function review(s: State, m: MessageOf<"review">): State {
  const old = reviewOf(s, m.game)?.items ?? [];
  const fresh = new Set(m.items.map((i) => i.ply));
  const items = [...old.filter((i) => !fresh.has(i.ply)), ...m.items].sort((a, b) => a.ply - b.ply);
  return { ...s, review: { game: m.game, items, done: m.done, agree: m.agree ?? null, worst: m.worst ?? null } };
}

function dealt(m: MessageOf<"deal">): Game {
  return {
    id: m.game, rules: m.rules, phase: m.bidding ? "bid" : "play", me: m.me, first: m.first, ply: 0, turn: null, beat: null, min: 0, deadline: null,
    total: null, landlord: null, base: 1, mult: 1, counts: [17, 17, 17], hand: m.hand ?? [], kitty: null, fresh: [], bids: [], history: [],
    lying: [null, null, null], hosted: [false, false, false], away: [null, null, null], hands: m.hands ?? null, rated: true, void: false, end: null,
  };
}

function fromSnapshot(m: MessageOf<"snapshot">, now: number): Game {
  const history = m.history.map(([seat, cards, kind]) => ({ seat, cards, kind }));
  const lying: Three<Lying> = [null, null, null];
  if (m.phase === "bid") for (const [seat, bid] of m.bids) lying[seat] = { bid };
  // What lies on the table: the play to beat and the passes after it.
  if (m.beat) for (let i = history.length - 1; i >= 0; i--) {
    const h = history[i]!;
    lying[h.seat] = h;
    if (h.cards.length) break;
  }
  return {
    id: m.game, rules: m.rules, phase: m.phase, me: m.me, first: m.first, ply: m.ply, turn: m.turn, beat: m.beat, min: m.min,
    deadline: m.left_ms === null ? null : now + m.left_ms, total: m.total_ms, landlord: m.landlord, base: m.base, mult: m.mult, counts: m.counts,
    hand: m.hand ?? [], kitty: m.kitty, fresh: m.kitty && m.landlord === m.me && history.length === 0 ? [...m.kitty] : [],
    bids: m.bids.map(([seat, points]) => ({ seat, points })), history, lying, hosted: m.hosted,
    away: m.away.map((a) => (a ? now : null)) as Three<number | null>, hands: m.hands, rated: m.rated, void: false, end: m.end ?? null,
  };
}

const put = <T>(of: Three<T>, seat: Seat, v: T): Three<T> => of.map((o, i) => (i === seat ? v : o)) as Three<T>;
const without = (hand: Card[], cards: readonly Card[]): Card[] => hand.filter((c) => !cards.includes(c));

/** One step of the running game. */
function course(g: Game, m: Message, now: number): Partial<State> {
  switch (m.t) {
    case "bid":
      return { game: { ...g, ply: m.ply + 1, turn: null, bids: [...g.bids, { seat: m.seat, points: m.points }], lying: put(g.lying, m.seat, { bid: m.points }) }, advice: null };
    case "void": return { game: { ...g, turn: null, void: true, deadline: null } };
    case "landlord": {
      const mine = m.seat === g.me;
      return { game: { ...g, phase: "play", landlord: m.seat, base: m.base, kitty: m.kitty, counts: m.counts, lying: [null, null, null],
        hand: mine ? [...without(g.hand, m.kitty), ...m.kitty] : g.hand, fresh: mine ? [...m.kitty] : [],
        hands: g.hands && put(g.hands, m.seat, [...without(g.hands[m.seat], m.kitty), ...m.kitty]) } };
    }
    case "turn": {
      const lead = g.phase === "play" && m.beat === null;
      const lying: Three<Lying> = lead ? [null, null, null] : g.phase === "play" ? put(g.lying, m.seat, null) : g.lying;
      return { game: { ...g, turn: m.seat, ply: m.ply, beat: m.beat, min: m.min, deadline: m.left_ms === null ? null : now + m.left_ms, total: m.total_ms, lying }, advice: null };
    }
    case "play": return { game: played(g, m), advice: null };
    case "open": return { game: { ...g, hands: m.hands, rated: false } };
    case "host": return { game: { ...g, hosted: put(g.hosted, m.seat, m.on) } };
    case "away": return { game: { ...g, away: put(g.away, m.seat, now + m.left_ms) } };
    case "back": return { game: { ...g, away: put(g.away, m.seat, null) } };
    case "end":
      return { game: { ...g, phase: "over", turn: null, deadline: null, landlord: m.landlord, rated: m.rated, end: m, hands: m.hands, hand: g.me === null ? [] : m.hands[g.me] } };
    default: return {};
  }
}

function played(g: Game, m: MessageOf<"play">): Game {
  const move: Played = { seat: m.seat, cards: m.cards, kind: m.kind, why: m.why, think: m.think ?? null };
  return {
    ...g, ply: m.ply + 1, turn: null, deadline: null, mult: m.mult, counts: put(g.counts, m.seat, m.count), history: [...g.history, move],
    lying: put(g.lying, m.seat, move), hand: m.seat === g.me ? without(g.hand, m.cards) : g.hand, fresh: m.seat === g.me ? [] : g.fresh,
    hands: g.hands && put(g.hands, m.seat, without(g.hands[m.seat], m.cards)),
  };
}

/** Whose turn it is and mine to answer. */
export const myTurn = (g: Game | null): g is Game & { me: Seat } => g !== null && g.me !== null && g.turn === g.me && g.end === null;

/** Cards that are in other hands (while bidding: in other hands and in the kitty), as counts of the 15 ranks' cards. */
export function unseen(g: Game): Card[] {
  const gone = new Set<Card>(g.hand);
  for (const h of g.history) for (const c of h.cards) gone.add(c);
  return Array.from({ length: 54 }, (_, c) => c).filter((c) => !gone.has(c));
}

/** Cards whose place is known though they are in another hand: the landlord's kitty cards not yet played. */
export function known(g: Game): Card[] {
  if (!g.kitty || g.landlord === g.me) return [];
  const gone = new Set(g.history.flatMap((h) => h.cards));
  return g.kitty.filter((c) => !gone.has(c));
}
