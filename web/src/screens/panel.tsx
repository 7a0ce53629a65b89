// Beside the table: win chance, the bot's three best moves, the card counter, the moves so far.
import { useEffect, useRef } from "preact/hooks";
import { handOf, type Card } from "../cards";
import { percent, signed, t } from "../i18n";
import { cardsText, kindName, looseText } from "../moves";
import { nameOf } from "../names";
import { adviceOnBids, bid, canPass, chooseCards, pass, play } from "../play";
import type { Kind, Seat, Think } from "../protocol";
import { myTurn, type Game } from "../state";
import { get, setSettings, useApp, type App } from "../store";
import { counterCells } from "../table/live";
import { counterMarkup } from "../table/table";
import { Icon } from "../ui";
import { tell } from "../commands";
import { Curve, curveOf } from "./curve";

export function Panel() {
  const g = useApp((a) => a.net.game);
  useApp((a) => a.settings);
  if (!g) return <aside class="side" aria-label={t("ai.title")} />;
  return (
    <aside class="side" aria-label={t("ai.title")}>
      <Chance g={g} />
      {g.end ? <EndCurve g={g} /> : <Advice g={g} />}
      <Counter g={g} />
      <Log g={g} />
    </aside>
  );
}

const landlordWin = (g: Game, win: number, seat: Seat | null): number => (g.landlord === null || g.landlord === seat ? win : 1 - win);

/** The last known chance, of mine or of the bot that thought last on an open table. */
function chance(a: App): { landlord: number; exp: number | null } | null {
  const g = a.net.game;
  if (!g) return null;
  if (g.end) return { landlord: g.end.winner === "landlord" ? 1 : 0, exp: g.me === null ? null : g.end.points[g.me] };
  const advice = a.net.advice;
  if (advice?.win != null && g.me !== null) return { landlord: landlordWin(g, advice.win, g.me), exp: advice.exp };
  const last = [...g.history].reverse().find((h) => h.think?.win != null);
  return last?.think?.win != null ? { landlord: landlordWin(g, last.think.win, last.seat), exp: null } : null;
}

function Chance({ g }: { g: Game }) {
  const a = useApp((x) => x);
  const c = chance(a);
  const keep = useRef<{ id: string; c: ReturnType<typeof chance> }>({ id: "", c: null });
  if (c) keep.current = { id: g.id, c };
  const shown = c ?? (keep.current.id === g.id ? keep.current.c : null);
  if (!shown) return null;
  const p = shown.landlord;
  return (
    <div class="blk">
      <div class="sec-h"><span>{t("ai.win")}</span>{shown.exp !== null && <span class="num thin">{t("ai.exp")} <b>{signed(shown.exp)}</b></span>}</div>
      <div class="wpbar"><i style={{ width: percent(p) }} /></div>
      <div class="wprow num"><span>{t("role.landlord")} <b>{percent(p)}</b></span><span>{t("role.farmer")} <b>{percent(1 - p)}</b></span></div>
    </div>
  );
}

function Advice({ g }: { g: Game }) {
  const a = useApp((x) => x);
  const allowed = a.net.room?.help ?? false;
  const alone = g.me !== null && a.net.room?.seats.every((s, i) => i === g.me || s.kind === "bot");
  const last = g.hands ? [...g.history].reverse().find((h) => h.think?.moves?.length) : undefined;
  if (g.me === null && !last) return null;
  return (
    <div class="blk">
      {g.me !== null && <div class="sec-h"><span>{t("ai.title")}</span><span class="thin">{allowed && a.settings.help ? t("ai.help") : ""}</span></div>}
      {g.me !== null && (allowed
        ? a.settings.help ? <Moves a={a} g={g} /> : <button class="btn sm wide" onClick={() => setSettings({ help: true })}>{t("set.help")}</button>
        : <p class="mut small">{t("ai.off")}</p>)}
      {last?.think && <Thoughts name={nameOf(a.net.room?.seats, last.seat)} think={last.think} g={g} />}
      {alone && (
        <div class="tools">
          <button class="btn sm" onClick={() => void tell({ t: "open", on: !g.hands })} aria-pressed={g.hands !== null}><Icon name="eye" />{t(g.hands ? "ai.hide" : "ai.show")}</button>
          <button class="btn sm" disabled={!g.history.some((h) => h.seat === g.me)} onClick={() => void tell({ t: "undo", ply: g.ply })}><Icon name="undo" />{t("act.undo")}</button>
        </div>
      )}
    </div>
  );
}

function Moves({ a, g }: { a: App; g: Game }) {
  if (!myTurn(g)) return <p class="mut small">{t("ai.none")}</p>;
  const advice = a.net.advice;
  if (!advice) return a.net.error?.code === "busy" ? <p class="mut small">{t("ai.busy")}</p> : <div class="ghost" role="img" aria-label={t("ai.fetch")}><i /><i /><i /></div>;
  if (advice.bids) return <>{adviceOnBids(a).slice(0, 3).map((b, i) => <Row key={b.points} on={i === 0} text={b.points ? t("bid.n", { n: b.points }) : t("bid.none")} kind={t(b.points ? "ai.aslandlord" : "ai.asfarmer")} win={b.win} exp={b.exp} press={() => bid(b.points)} />)}</>;
  const moves = advice.moves ?? [];
  const bestExp = Math.max(...moves.map((m) => m.exp ?? -Infinity));
  const chosen = handOf([...a.choice.chosen]);
  return <>{moves.map((m, i) => (
    <Row key={m.cards.join()} on={chosen ? handOf(m.cards) === chosen : i === 0} text={cardsText(a.engine, g.rules, m.cards)} kind={kindLine(m, i, bestExp)} win={m.win} exp={m.exp} press={() => take(m.cards)} />
  ))}</>;
}

function kindLine(m: { cards: Card[]; kind: Kind; exp: number | null }, i: number, bestExp: number): string {
  const trade = i > 0 && m.exp !== null && m.exp >= bestExp ? t("ai.trade") : "";
  return [m.cards.length ? kindName(m.kind) : "", trade].filter(Boolean).join(" · ");
}

/** A press chooses those cards, a second press plays. */
function take(cards: Card[]): void {
  if (cards.length === 0) {
    if (canPass(get().net.game)) pass();
  } else if (chooseCards(cards)) play();
}

function Row(p: { on: boolean; text: string; kind: string; win: number | null; exp: number | null; press?: () => void }) {
  return (
    <button class={`ai ${p.on ? "on" : ""}`} onClick={p.press} disabled={!p.press}>
      <span class="mv num">{p.text}</span><span class="v num">{p.win === null ? "" : percent(p.win)}</span><span class="e num">{p.exp === null ? "" : signed(p.exp)}</span>
      <span class="kd">{p.kind}</span><span class="bar"><i style={{ width: percent(p.win ?? 0) }} /></span>
    </button>
  );
}

function Thoughts({ name, think, g }: { name: string; think: Think; g: Game }) {
  const engine = useApp((a) => a.engine);
  return (
    <div class="thoughts">
      <div class="sec-h sub2"><span>{t("ai.thinks", { name })}</span></div>
      {think.moves?.map((m, i) => <Row key={i} on={i === 0} text={cardsText(engine, g.rules, m.cards)} kind={m.cards.length ? kindName(m.kind) : ""} win={m.win} exp={m.exp} />)}
    </div>
  );
}

function EndCurve({ g }: { g: Game }) {
  const review = useApp((a) => a.net.review);
  if (!review || review.game !== g.id || review.items.length < 2 || g.landlord === null) return null;
  const seat = g.me ?? g.landlord;
  return (
    <div class="blk">
      <div class="sec-h"><span>{t("rev.curve")}</span></div>
      <Curve points={curveOf(review.items, seat, g.landlord, g.ply, g.end?.winner ?? null)} last={g.ply} at={g.ply} height={100} />
    </div>
  );
}

function Counter({ g }: { g: Game }) {
  const on = useApp((a) => a.settings.counter);
  if (!on || g.me === null || g.end) return null;
  const cells = counterCells(g), n = cells.reduce((s, c) => s + c.n, 0);
  return (
    <div class="blk">
      <div class="sec-h"><span>{t("cnt.title")}</span><span class="thin num">{t(g.landlord === null ? "cnt.unseen" : "cnt.others", { n })}</span></div>
      <div dangerouslySetInnerHTML={{ __html: counterMarkup(cells) }} />
    </div>
  );
}

function Log({ g }: { g: Game }) {
  const seats = useApp((a) => a.net.room?.seats), engine = useApp((a) => a.engine);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    ref.current?.scrollTo({ top: 1e6 });
  }, [g.history.length, g.bids.length]);
  const name = (seat: Seat) => (seat === g.me ? t("role.you") : nameOf(seats, seat));
  const role = (seat: Seat) => (g.landlord === null ? "" : g.landlord === seat ? "ll" : "fm");
  return (
    <div class="log" ref={ref} tabIndex={0} aria-label={t("log.title")}>
      <div class="sec-h"><span>{t("log.title")}</span></div>
      {g.bids.map((b, i) => <div class="lr" key={`b${i}`}><span class="i" /><span class={`s ${role(b.seat)}`}>{name(b.seat)}</span><span class="m">{b.points ? t("bid.n", { n: b.points }) : t("bid.none")}</span></div>)}
      {g.landlord !== null && g.kitty && <div class="lr"><span class="i" /><span class="s ll">{name(g.landlord)}</span><span class="m num">{t("table.kitty")} {looseText(g.kitty)}</span></div>}
      {g.history.map((h, i) => <div class="lr" key={i} title={h.cards.length ? kindName(h.kind) : ""}><span class="i num">{i + 1}</span><span class={`s ${role(h.seat)}`}>{name(h.seat)}</span><span class={`m num ${h.cards.length ? "" : "mut"}`}>{cardsText(engine, g.rules, h.cards)}</span></div>)}
    </div>
  );
}
