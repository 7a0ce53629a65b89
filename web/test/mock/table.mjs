// One room of the mock: deals, bids, plays, bots, a clock that acts.
import { handOf, kindOf, legal } from "./rules.mjs";

const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const seeded = (seed) => () => ((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648);
let games = 0;

export class Table {
  constructor(code, o, finished) {
    Object.assign(this, { code, o, finished, people: [null, null, null], watchers: new Set(), seq: 0, g: null, ready: [false, false, false], pace: Number(process.env.MOCK_PACE ?? 700) });
    this.kinds = o.waiting ? ["human", "empty", "empty"] : o.watch ? ["bot", "bot", "bot"] : ["human", "bot", "bot"];
    this.botNames = ["石头", "小米", "阿福"];
  }

  seatOf(me) { return this.people.indexOf(me); }

  enter(me) {
    if (this.seatOf(me) < 0) {
      const free = this.kinds.findIndex((k, i) => (k === "human" || (k === "empty" && this.o.waiting)) && !this.people[i]);
      if (free >= 0 && !this.o.watch) this.people[free] = me, this.kinds[free] = "human";
      else this.watchers.add(me);
    }
    this.tellRoom();
    if (this.g) this.send(me, this.snapshot(this.seatOf(me), "join"));
  }

  leave(me) {
    const s = this.seatOf(me);
    this.watchers.delete(me);
    if (s >= 0) this.people[s] = null, this.kinds[s] = "bot";
    this.gone = this.people.every((p) => !p) && this.watchers.size === 0;
  }

  send(me, m) { me?.send?.(m); }
  all(make) { for (const p of [...this.people, ...this.watchers]) if (p) this.send(p, make(this.seatOf(p))); }
  event(m) { const seq = ++this.seq; this.all((s) => ({ ...(typeof m === "function" ? m(s) : m), seq })); }

  tellRoom() {
    this.all((s) => ({
      t: "room", room: this.code, name: this.o.name ?? "练习", rules: this.o.rules, time: this.o.time, help: this.o.help, allpass: this.o.allpass ?? "redeal", private: !!this.o.private,
      host: this.o.watch ? null : 0, me: s < 0 ? null : s, watchers: this.watchers.size, rated: true, state: this.g ? (this.g.end ? "over" : "play") : "wait",
      seats: [0, 1, 2].map((i) => ({ name: this.people[i]?.name ?? (this.kinds[i] === "bot" ? this.botNames[i === 0 ? 2 : 2 - i] : ""), kind: this.kinds[i], strength: this.kinds[i] === "bot" ? this.o.strength ?? "best" : null, ready: this.ready[i], away: false, host: this.g?.hosted[i] ?? false })),
    }));
  }

  begin() {
    const rnd = process.env.MOCK_SEED ? seeded(Number(process.env.MOCK_SEED) + games) : Math.random;
    const deck = Array.from({ length: 54 }, (_, i) => i);
    for (let i = 53; i > 0; i--) { const j = Math.floor(rnd() * (i + 1)); [deck[i], deck[j]] = [deck[j], deck[i]]; }
    const hands = [deck.slice(0, 17), deck.slice(17, 34), deck.slice(34, 51)], kitty = deck.slice(51);
    const bidding = this.o.rules === "classic" && this.o.role !== "landlord" && this.o.role !== "farmer";
    const g = (this.g = { id: `mock${++games}`, dealt: hands.map((h) => [...h]), hands, kitty, first: bidding && !this.o.watch ? 1 : 0, turn: null, ply: 0, bids: [], history: [], landlord: null, base: 1, mult: 1, phase: bidding ? "bid" : "play", hosted: [false, false, false], open: !!this.o.watch, end: null, beat: null, passes: 0, mults: [] });
    this.event((s) => ({ t: "deal", game: g.id, first: g.first, me: s < 0 ? null : s, hand: s < 0 ? null : g.hands[s], rules: this.o.rules, bidding, hands: g.open ? g.hands : null }));
    this.tellRoom();
    g.turn = g.first;
    if (bidding) return this.turn();
    this.becomes(this.o.role === "farmer" ? 1 : 0, 1, this.o.role ? "chosen" : "dealt");
  }

  becomes(seat, base, how) {
    const g = this.g;
    Object.assign(g, { landlord: seat, base, phase: "play", turn: seat, beat: null });
    g.hands[seat].push(...g.kitty);
    this.event({ t: "landlord", seat, base, kitty: g.kitty, how, counts: g.hands.map((h) => h.length) });
    this.turn();
  }

  min() { return this.g.phase === "bid" ? Math.max(0, ...this.g.bids.map((b) => b[1])) + 1 : 0; }

  turn() {
    const g = this.g, total = this.o.time ? this.o.time * 1000 : null;
    g.deadline = total && Date.now() + total;
    this.event({ t: "turn", seat: g.turn, ply: g.ply, left_ms: total, total_ms: total, beat: g.beat, min: this.min() });
    clearTimeout(this.clock);
    const ply = g.ply, bot = this.kinds[g.turn] === "bot" || g.hosted[g.turn];
    if (!bot && !total) return;
    this.clock = setTimeout(() => g === this.g && g.ply === ply && !g.end && !this.gone && this.auto(bot ? (g.hosted[g.turn] ? "host" : "bot") : "timeout"), bot ? this.pace : total + 300);
  }

  auto(why) {
    const g = this.g;
    if (g.phase === "bid") return this.bid(g.turn, why === "timeout" ? 0 : this.kinds[g.turn] === "bot" && this.min() <= 1 && g.bids.length === 0 ? 1 : 0, why);
    const plays = legal(this.o.rules, g.hands[g.turn], g.beat?.cards);
    const partner = g.beat && g.beat.seat !== g.landlord && g.turn !== g.landlord;
    const take = plays.length && !(g.beat && (why === "timeout" || partner || (plays[0].length === 4 && g.hands[g.turn].length > 8))) ? plays[0] : g.beat ? [] : plays[0];
    this.play(g.turn, take, why);
  }

  bid(seat, points, why, id) {
    const g = this.g, ply = g.ply++;
    g.bids.push([seat, points]);
    this.event((s) => ({ t: "bid", seat, ply, points, why, ...(s === seat && id ? { id } : {}) }));
  }

  command(me, m, ok, fail, send) {
    const g = this.g, s = this.seatOf(me);
    switch (m.t) {
      case "bot": this.kinds[m.seat] = "bot"; this.o.strength = m.strength; ok(); return this.tellRoom();
      case "remove": this.kinds[m.seat] = "empty"; this.people[m.seat] = null; ok(); return this.tellRoom();
      case "room_set": Object.assign(this.o, m); ok(); return this.tellRoom();
      case "ready": this.ready[s] = m.on; ok(); return this.tellRoom();
      case "start": ok(); return this.begin();
      case "rematch": ok(); this.all(() => ({ t: "rematch", yes: [true, true, true], left_ms: 20000 })); return void setTimeout(() => this.begin(), 300);
      case "phrase": ok(); return this.all(() => ({ t: "phrase", seat: s, n: m.n }));
      case "host": g.hosted[s] = m.on; ok(); this.event({ t: "host", seat: s, on: m.on }); return g.turn === s ? this.turn() : undefined;
      case "open": g.open = m.on; ok(); return this.event({ t: "open", on: m.on, hands: m.on ? g.hands : null });
      case "undo": ok(); return this.undo(s);
      case "advise": return m.ply === g.ply ? void sleep(80).then(() => send({ t: "advice", id: m.id, ply: m.ply, ms: 80, ...this.think(s) })) : fail("stale");
      case "bid":
        if (g?.phase !== "bid" || g.turn !== s) return fail("not_turn");
        return m.points && m.points < this.min() ? fail("lower") : this.bidden(s, m.points, "player", m.id);
      case "play": {
        if (!g || g.turn !== s) return fail("not_turn");
        if (m.ply !== g.ply) return fail("stale");
        const want = handOf(m.cards);
        if (m.cards.length ? !legal(this.o.rules, g.hands[s], g.beat?.cards).some((p) => handOf(p) === want) : !g.beat) return fail("illegal");
        return this.play(s, m.cards, "player", m.id);
      }
      default: return fail("bad_message");
    }
  }

  think(seat) {
    const g = this.g;
    if (g.phase === "bid") {
      const bids = [3, 2, 1].filter((n) => n >= this.min()).map((points, i) => ({ points, win: 0.612, exp: 1.3 - 0.4 * i }));
      return { win: 0.612, exp: 1.3, bids: [...bids, { points: 0, win: 0.471, exp: -0.4 }].slice(0, 4) };
    }
    const plays = legal(this.o.rules, g.hands[seat], g.beat?.cards).slice(0, 3);
    if (g.beat && plays.length < 3) plays.push([]);
    const top = 0.52 + 0.3 * Math.cos(g.ply * 1.7);
    return { win: top, exp: 4 * top - 2 + 0.1, moves: plays.map((cards, i) => ({ cards, kind: kindOf(this.o.rules, cards), win: top - 0.034 * i * i - 0.01 * i, exp: 4 * top - 1.9 - 0.6 * i })) };
  }

  bidden(seat, points, why, id) {
    this.bid(seat, points, why, id);
  }

  play(seat, cards, why, id) {
    const g = this.g, kind = kindOf(this.o.rules, cards);
    const think = g.open && why === "bot" ? this.think(seat) : undefined;
    g.hands[seat] = g.hands[seat].filter((c) => !cards.includes(c));
    if (kind === "bomb" || kind === "rocket") g.mult *= 2, g.mults.push(kind);
    const ply = g.ply++;
    g.history.push([seat, cards, kind]);
    this.event((s) => ({ t: "play", seat, ply, cards, kind, count: g.hands[seat].length, mult: g.mult, why, ...(s === seat && id ? { id } : {}), ...(think ? { think } : {}) }));
    if (g.hands[seat].length === 0) return this.over(seat);
    if (cards.length) g.beat = { seat, cards, kind }, g.passes = 0;
    else if (++g.passes === 2) g.beat = null;
    g.turn = (seat + 1) % 3;
    this.turn();
  }

  over(seat) {
    const g = this.g, ll = seat === g.landlord, farmers = g.history.filter(([s, c]) => s !== g.landlord && c.length).length;
    const factors = [{ name: "bid", n: g.base }, ...g.mults.map((name) => ({ name, n: 2 }))];
    if (ll && farmers === 0) factors.push({ name: "spring", n: 2 });
    const stake = factors.reduce((p, f) => p * f.n, 1);
    const points = [0, 1, 2].map((s) => (s === g.landlord ? 2 : 1) * stake * ((s === g.landlord) === ll ? 1 : -1));
    g.phase = "over";
    g.end = { t: "end", game: g.id, winner: ll ? "landlord" : "farmers", landlord: g.landlord, points, factors, hands: g.hands, rated: true, seq: this.seq + 1 };
    const names = [0, 1, 2].map((i) => this.people[i]?.name ?? this.botNames[i === 0 ? 2 : 2 - i]);
    this.finished.set(g.id, { review: this.review(), record: { game: g.id, at: Date.now(), rules: this.o.rules, names, kinds: this.kinds.map((k) => (k === "human" ? "human" : "bot")), me: this.people[0] ? 0 : null, first: g.first, landlord: g.landlord, base: g.base, deal: g.dealt, kitty: g.kitty, bids: g.bids, plays: g.history.map(([s, c, k]) => [s, c, k, 1, "player"]), end: g.end } });
    this.event(g.end);
    this.tellRoom();
    if (this.o.watch) setTimeout(() => !this.gone && this.begin(), 6000);
  }

  review() {
    const g = this.g, llWon = g.end.winner === "landlord", n = g.history.length;
    const items = g.history.map(([seat, , ], i) => {
      const lean = (i / n) * (llWon ? 0.42 : -0.42) + 0.06 * Math.sin(i * 2.1) + 0.52, win = Math.min(0.99, Math.max(0.01, seat === g.landlord ? lean : 1 - lean));
      const loss = i % 11 === 7 ? 0.152 : i % 9 === 5 ? 0.071 : i % 4 === 1 ? 0.012 : 0;
      return { ply: i + g.bids.length, seat, legal: 4, win, exp: 4 * win - 2, best: [], best_win: Math.min(1, win + loss), best_exp: 4 * (win + loss) - 2, loss };
    });
    const mine = items.filter((i) => i.seat === 0).sort((a, b) => b.loss - a.loss)[0];
    return { items, done: true, agree: [0.88, 1, 0.97], worst: mine ? { ply: mine.ply, loss: mine.loss } : null };
  }

  undo(s) {
    const g = this.g;
    let k = g.history.length - 1;
    while (k >= 0 && g.history[k][0] !== s) k--;
    if (k < 0) return;
    for (const [seat, cards] of g.history.splice(k)) g.hands[seat].push(...cards), g.ply--;
    g.turn = s;
    g.beat = null;
    for (let i = g.history.length - 1, passes = 0; i >= 0 && passes < 2; i--) {
      if (g.history[i][1].length) { g.beat = { seat: g.history[i][0], cards: g.history[i][1], kind: g.history[i][2] }; break; }
      passes++;
    }
    this.seq++;
    this.all((seat) => this.snapshot(seat, "undo"));
    this.turn();
  }

  snapshot(s, why) {
    const g = this.g, left = g.deadline ? Math.max(0, g.deadline - Date.now()) : null;
    return {
      t: "snapshot", seq: this.seq, why, game: g.id, rules: this.o.rules, phase: g.phase, me: s < 0 ? null : s, first: g.first, ply: g.ply, turn: g.end ? null : g.turn, left_ms: left,
      total_ms: this.o.time ? this.o.time * 1000 : null, beat: g.beat, min: this.min(), landlord: g.landlord, base: g.base, mult: g.mult, counts: g.hands.map((h) => h.length), hand: s < 0 ? null : g.hands[s],
      kitty: g.landlord === null ? null : g.kitty, bids: g.bids, history: g.history, hosted: g.hosted, away: [false, false, false], hands: g.open ? g.hands : null, rated: true, end: g.end,
    };
  }
}

// What follows a bid is the same whoever made it.
const bid = Table.prototype.bid;
Table.prototype.bid = function (seat, points, why, id) {
  bid.call(this, seat, points, why, id);
  const g = this.g, best = g.bids.reduce((a, b) => (b[1] > a[1] ? b : a));
  if (points === 3 || g.bids.length === 3) {
    if (best[1] === 0) { this.event({ t: "void" }); return void setTimeout(() => this.begin(), 800); }
    return this.becomes(best[0], best[1], "bid");
  }
  g.turn = (seat + 1) % 3;
  this.turn();
};
