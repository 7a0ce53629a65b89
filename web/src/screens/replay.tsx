// A finished game, step by step: all hands open, the win chance as a curve, the bot's view of each move.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as api from "../api";
import { resumeAt, share, toast } from "../commands";
import { clearReview, send } from "../connection";
import { percent, signed, t } from "../i18n";
import { cardsText } from "../moves";
import { recordName } from "../names";
import type { ReviewItem, Seat } from "../protocol";
import { pace } from "../settings";
import { cue } from "../sound";
import { get, useApp } from "../store";
import { framesOf, replayModel, type Frame } from "../table/past";
import { TableView } from "../table/table";
import { A, Icon, useLoad, Waiting } from "../ui";
import { Curve, curveOf, grade } from "./curve";

const SPEEDS = [0.5, 1, 2, 4];
const STEP_MS = 1100;

export default function Replay() {
  const id = useApp((a) => a.path).slice(3);
  const load = useLoad(`game ${id}`, () => api.game(id));
  if (!load.data) return <main class="page" id="main"><section class="box sorry">{load.failed ? <><h1>{t("rev.notfound")}</h1><A class="btn pri" href="/replays">{t("nav.replay")}</A></> : <Waiting of={load} />}</section></main>;
  return <Player key={id} g={load.data} />;
}

function Player({ g }: { g: api.GameRecord }) {
  const frames = useMemo(() => framesOf(g), [g]);
  const last = frames.length - 1;
  const [at, setAt] = useState(() => clamp(Number(location.hash.slice(1)) || 0, last));
  const [running, setRunning] = useState(false), [speed, setSpeed] = useState(1);
  const [eye, setEye] = useState<Seat>(g.me ?? g.landlord);
  const items = useReview(g);
  const seek = (n: number) => setAt(clamp(n, last));
  const mistakes = items.filter((i) => i.loss !== null && i.loss >= 0.05).map((i) => i.ply + 1);
  const jump = (step: 1 | -1) => {
    const next = step > 0 ? mistakes.find((m) => m > at) : [...mistakes].reverse().find((m) => m < at);
    if (next !== undefined) seek(next);
  };
  useEffect(() => {
    history.replaceState(null, "", `${location.pathname}${at ? `#${at}` : ""}`);
    if (running && at >= last) setRunning(false);
    if (!running || at >= last) return;
    const id = setTimeout(() => setAt(at + 1), STEP_MS / speed);
    return () => clearTimeout(id);
  }, [at, running, speed]);
  useReplayKeys({ step: (n) => { setRunning(false); seek(at + n); }, to: (end) => seek(end ? last : 0), run: () => setRunning(!running), jump });
  const felt = useFelt(g, frames, at, eye, items, setEye);
  const p = [...curveOf(items, eye, g.landlord, last, g.end.winner)].reverse().find((q) => q.ply <= at);
  return (
    <div class="game rp">
      <main class="felt-host" id="main" ref={felt} aria-label={t("rev.title")} />
      <aside class="side" aria-label={t("rev.title")}>
        <div class="blk">
          <div class="sec-h"><span>{t("rev.curve")} · {eye === g.me ? t("role.you") : recordName(g.names, eye)}</span><span class="num thin">{p && <b>{percent(p.p, 0)}</b>} {at} / {last}</span></div>
          <Curve points={curveOf(items, eye, g.landlord, last, g.end.winner)} last={last} at={at} height={matchMedia("(max-width: 599px), (max-height: 480px)").matches ? 76 : 110} onSeek={seek} />
          <div class="ctl">
            <button class="ib" aria-label={t("rev.first")} onClick={() => seek(0)}><Icon name="first" /></button>
            <button class="ib" aria-label={t("rev.prev")} onClick={() => seek(at - 1)}><Icon name="prev" /></button>
            <button class="ib pri" aria-label={t(running ? "rev.pause" : "rev.play")} onClick={() => { if (at >= last) setAt(0); setRunning(!running); }}><Icon name={running ? "pause" : "run"} /></button>
            <button class="ib" aria-label={t("rev.next")} onClick={() => seek(at + 1)}><Icon name="next" /></button>
            <button class="ib" aria-label={t("rev.last")} onClick={() => seek(last)}><Icon name="last" /></button>
            <button class="btn sm num" aria-label={`${t("rev.speed")} ${speed}`} onClick={() => setSpeed(SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length]!)}>{speed}×</button>
          </div>
        </div>
        <Moves g={g} frames={frames} at={at} items={items} seek={(n) => { setRunning(false); seek(n); }} />
        <div class="rvbar">
          <button class="btn sm" disabled={!mistakes.some((m) => m < at)} onClick={() => jump(-1)} aria-label={t("rev.prevdiff")}><Icon name="prev" />?</button>
          <button class="btn sm" disabled={!mistakes.some((m) => m > at)} onClick={() => jump(1)} aria-label={t("rev.nextdiff")}>?<Icon name="next" /></button>
          <button class="btn sm" onClick={() => share(location.href)} title={t("rev.share")} aria-label={t("rev.share")}><Icon name="share" /><span>{t("rev.share")}</span></button>
          <button class="btn sm" onClick={() => void api.download(g.game).catch(() => toast(t("err.fetch")))} title={t("rev.download")} aria-label={t("rev.download")}><Icon name="save" /></button>
        </div>
      </aside>
    </div>
  );
}

const clamp = (n: number, last: number): number => Math.max(0, Math.min(last, Number.isFinite(n) ? n : 0));

/** The felt, redrawn when the step or the eye changes. */
function useFelt(g: api.GameRecord, frames: Frame[], at: number, eye: Seat, items: ReviewItem[], setEye: (s: Seat) => void) {
  const ref = useRef<HTMLDivElement>(null), view = useRef<TableView | null>(null), before = useRef(at);
  const a = useApp((x) => x.settings), engine = useApp((x) => x.engine);
  useEffect(() => {
    const bottom = g.me ?? g.landlord;
    const none = () => undefined;
    const v = (view.current = new TableView(ref.current!, {
      press: none, clear: none, hint: none, toggle: none, drag: none, settle: none, rank: none, flick: none, focus: none, second: none,
      seat: (place) => setEye((["me", "right", "left"].indexOf(place) + bottom) % 3 as Seat),
    }));
    return () => v.destroy();
  }, []);
  useEffect(() => {
    const step = at - before.current;
    before.current = at;
    view.current?.render(replayModel(g, frames, at, engine, items), pace(a), step !== 1);
    if (step === 1) cue(frames[at]!.cards?.length ? "play" : "pass");
  }, [at, eye, items, engine, a]);
  return ref;
}

/** Asks the server for its view of each move; the answers come in parts. */
function useReview(g: api.GameRecord): ReviewItem[] {
  const online = useApp((a) => a.net.link === "online"), review = useApp((a) => a.net.review);
  useEffect(() => {
    if (online && get().net.review?.game !== g.game) void send({ t: "review", game: g.game });
  }, [online, g.game]);
  useEffect(() => () => clearReview(), []);
  return review?.game === g.game ? review.items : NO_ITEMS;
}
const NO_ITEMS: ReviewItem[] = [];

function useReplayKeys(k: { step: (n: number) => void; to: (end: boolean) => void; run: () => void; jump: (s: 1 | -1) => void }) {
  const now = useRef(k);
  now.current = k;
  useEffect(() => {
    const on = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || (e.target instanceof Element && e.target.closest("input,[role=dialog]"))) return;
      const act: Record<string, () => void> = {
        ArrowLeft: () => now.current.step(-1), ArrowRight: () => now.current.step(1), Home: () => now.current.to(false), End: () => now.current.to(true),
        b: () => now.current.jump(-1), n: () => now.current.jump(1),
      };
      if (e.key === " " && !(e.target instanceof Element && e.target.closest("button,a"))) now.current.run();
      else if (act[e.key]) act[e.key]!();
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", on);
    return () => removeEventListener("keydown", on);
  }, []);
}

function Moves(p: { g: api.GameRecord; frames: Frame[]; at: number; items: ReviewItem[]; seek: (n: number) => void }) {
  const { g, frames, at } = p, ref = useRef<HTMLDivElement>(null);
  const engine = useApp((a) => a.engine);
  useEffect(() => {
    const row = ref.current?.querySelector<HTMLElement>(".hr.on");
    if (row) ref.current!.scrollTo({ top: row.offsetTop - ref.current!.offsetTop - ref.current!.clientHeight / 3 });
  }, [at]);
  const start = curveOf(p.items, g.me ?? g.landlord, g.landlord, 0, null)[0];
  const byPly = new Map(p.items.map((i) => [i.ply, i]));
  return (
    <div class="hist" ref={ref}>
      {start && <div class="luck mut small num">{t("rev.luck")} {percent(start.p, 0)}</div>}
      {frames.slice(1).map((f, k) => {
        const item = byPly.get(k), loss = item?.loss ?? null, gr = grade(loss);
        const text = f.bid !== null ? (f.bid ? t("bid.n", { n: f.bid }) : t("bid.none")) : cardsText(engine, g.rules, f.cards!);
        return (
          <>
            <button key={k} class={`hr ${k + 1 === at ? "on" : ""}`} onClick={() => p.seek(k + 1)} aria-current={k + 1 === at ? "step" : undefined}>
              <span class="n num">{k + 1}</span><span class={`s ${f.seat === g.landlord ? "ll" : "fm"}`}>{f.seat === g.me ? t("role.you") : recordName(g.names, f.seat)}</span>
              <b class={f.cards?.length === 0 ? "mut" : "num"}>{text}</b>
              <span class={`q num ${gr}`}>{loss !== null && item!.legal > 1 ? (loss < 0.0005 ? "0.0" : `−${(100 * loss).toFixed(1)}`) : ""}{gr === "amber" ? " ?!" : gr === "red" ? " ?" : ""}</span>
            </button>
            {k + 1 === at && item && <Opened g={g} item={item} seat={f.seat} />}
          </>
        );
      })}
    </div>
  );
}

function Opened({ g, item, seat }: { g: api.GameRecord; item: ReviewItem; seat: Seat }) {
  const engine = useApp((a) => a.engine), strength = useApp((a) => a.settings.quick.strength), online = useApp((a) => a.net.link === "online");
  const bid = item.ply < g.bids.length;
  const x = bid ? (item.best[0] ? t("bid.n", { n: item.best[0] }) : t("bid.none")) : cardsText(engine, g.rules, item.best);
  const chance = (p: number | null, e: number | null) => (p === null ? "" : `${percent(p)}${e === null ? "" : ` (${signed(e)})`}`);
  return (
    <div class={`rev ${grade(item.loss)}`}>
      <div class="num">{t("rev.would", { x: "" })}<b>{x}</b> {chance(item.best_win, item.best_exp)}{item.win !== null && `，${t("rev.actual", { n: chance(item.win, item.exp) })}`}</div>
      {!bid && <button class="btn sm" disabled={!online} onClick={() => void resumeAt(g.game, item.ply, seat, strength)}>{t("rev.from")}</button>}
    </div>
  );
}

