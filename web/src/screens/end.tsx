// The end of a game: a sheet low on the table; the left-over hands lie open above it.
import { useEffect, useState } from "preact/hooks";
import { leaveRoom, tell } from "../commands";
import { send } from "../connection";
import { percent, signed, t, whole, type Key } from "../i18n";
import { cardsText } from "../moves";
import { nameOf } from "../names";
import type { End, Seat } from "../protocol";
import type { Game, Review } from "../state";
import { go, useApp } from "../store";

const FACTOR: Record<string, Key> = { bid: "end.bid", bomb: "end.bomb", rocket: "end.rocket", spring: "end.springx", anti: "end.antix", side: "end.side" };

export function EndSheet({ g, end }: { g: Game; end: End }) {
  const help = useApp((a) => a.net.link === "online"), review = useApp((a) => a.net.review);
  const [details, setDetails] = useState(false);
  useEffect(() => {
    if (help) void send({ t: "review", game: g.id });
  }, [g.id]);
  const mine = g.me === null ? null : end.points[g.me];
  const stake = end.factors.reduce((p, f) => p * f.n, 1);
  return (
    <div class="sheet">
      <section class={`panel ${details ? "details" : ""}`} role="dialog" aria-label={t(end.winner === "landlord" ? "end.llwin" : "end.fmwin")}>
        <h2><span>{t(end.winner === "landlord" ? "end.llwin" : "end.fmwin")}</span>{mine !== null && <Count to={mine} />}</h2>
        <div class="calc num">
          {end.factors.map((f, i) => <>{i > 0 && "×"}<b>{t(FACTOR[f.name] ?? "end.side", { n: f.n })}</b></>)}={<b>{t("end.pts", { n: stake })}</b>}
          {end.rating && <span class="mut small">{t("end.rating", { a: whole(end.rating.before), b: whole(end.rating.after) })}</span>}
          {!end.rated && g.me !== null && <span class="mut small">{t("ai.unrated")}</span>}
        </div>
        <div class="more"><Table g={g} end={end} review={review?.game === g.id ? review : null} /><Worst g={g} review={review?.game === g.id ? review : null} /></div>
        <div class="brow right">
          <button class="btn sm detail" onClick={() => setDetails(!details)} aria-expanded={details}>{t("end.details")}</button>
          <button class="btn sm" onClick={() => void leaveRoom()}>{t("end.lobby")}</button>
          <button class="btn sm" onClick={() => go(`/g/${g.id}`)}>{t("end.review")}</button>
          {g.me !== null ? <Rematch /> : <span class="mut small">{t("end.watch")}</span>}
        </div>
      </section>
    </div>
  );
}

/** The score counts up, once. */
function Count({ to }: { to: number }) {
  const [p, setP] = useState(document.documentElement.dataset.motion === "none" ? 1 : 0);
  useEffect(() => {
    let frame = 0;
    const start = performance.now();
    const step = (now: number) => {
      const q = Math.min(1, (now - start) / 500);
      setP(q);
      if (q < 1) frame = requestAnimationFrame(step);
    };
    if (p < 1) frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, []);
  return <span class={`num ${to > 0 ? "pos" : "neg"}`} aria-label={signed(to, 0)}>{signed(Math.round(to * p), 0)}</span>;
}

function Table({ g, end, review }: { g: Game; end: End; review: Review | null }) {
  const seats = useApp((a) => a.net.room?.seats);
  const order = ([0, 1, 2] as Seat[]).map((i) => (((g.me ?? 0) + i) % 3) as Seat);
  return (
    <table class="num">
      <thead><tr><th scope="col">{t("end.player")}</th><th scope="col">{t("end.role")}</th><th scope="col">{t("end.left")}</th><th scope="col">{t("end.match")}</th><th scope="col">{t("end.points")}</th></tr></thead>
      <tbody>{order.map((s) => (
        <tr>
          <th scope="row">{s === g.me ? <b>{t("role.you")}</b> : nameOf(seats, s)}</th><td>{t(end.landlord === s ? "role.landlord" : "role.farmer")}</td><td>{end.hands[s].length}</td>
          <td>{review?.agree?.[s] != null ? percent(review.agree[s], 0) : "–"}</td><td class={end.points[s] > 0 ? "pos" : "neg"}>{signed(end.points[s], 0)}</td>
        </tr>
      ))}</tbody>
    </table>
  );
}

function Worst({ g, review }: { g: Game; review: Review | null }) {
  const engine = useApp((a) => a.engine);
  if (g.me === null) return null;
  if (!review?.done) return <div class="note mut">{t("end.reviewing")}</div>;
  const item = review.worst && review.items.find((i) => i.ply === review.worst!.ply);
  if (!item || item.loss === null || item.loss < 0.02) return <div class="note">{t("end.perfect")}</div>;
  const ply = item.ply - g.bids.length, made = g.history[ply];
  const out = (cards: number[]) => (cards.length ? t("end.out", { x: cardsText(engine, g.rules, cards) }) : t("act.pass"));
  const said = (n: number) => (n ? t("bid.say", { n }) : t("bid.none"));
  const x = made ? out(made.cards) : said(g.bids[item.ply]?.points ?? 0), y = made ? out(item.best) : said(item.best[0] ?? 0);
  return <button class="note press" onClick={() => go(`/g/${g.id}#${item.ply}`)}><b class="neg num">−{percent(item.loss)}</b><span>{t("end.worst", { n: ply + 1, x, y })}</span></button>;
}

function Rematch() {
  const r = useApp((a) => a.net.rematch), me = useApp((a) => a.net.room?.me ?? null);
  const n = r?.yes.filter(Boolean).length ?? 0;
  const said = r !== null && me !== null && r.yes[me];
  return <button class="btn sm pri" disabled={said} onClick={() => void tell({ t: "rematch", yes: true })}>{t("end.again")}{r && <span class="num">{n}/3</span>}</button>;
}
