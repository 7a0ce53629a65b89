// The landlord's win chance over a game as one seat sees it: filled from 50 %, a dot for a mistake, a line for now.
import { useEffect, useRef, useState } from "preact/hooks";
import { percent, t } from "../i18n";
import type { ReviewItem, Seat } from "../protocol";

export interface Point { ply: number; p: number; grade: Grade }
export type Grade = "ok" | "small" | "amber" | "red";
export const grade = (loss: number | null): Grade => (loss === null || loss < 0.02 ? "ok" : loss < 0.05 ? "small" : loss <= 0.1 ? "amber" : "red");

/** Points at the decisions of `seat`, and the result at the end. */
export function curveOf(items: readonly ReviewItem[], seat: Seat, landlord: Seat, plies: number, winner: "landlord" | "farmers" | null): Point[] {
  const mine: Point[] = [];
  for (const i of items) if (i.seat === seat && i.win !== null && i.legal > 0) mine.push({ ply: i.ply, p: seat === landlord ? i.win : 1 - i.win, grade: grade(i.loss) });
  if (winner) mine.push({ ply: plies, p: winner === "landlord" ? 1 : 0, grade: "ok" });
  return mine;
}

export function Curve(p: { points: Point[]; last: number; at: number; height: number; onSeek?: (ply: number) => void }) {
  const ref = useRef<HTMLDivElement>(null);
  const [w, setW] = useState(280);
  useEffect(() => {
    const see = new ResizeObserver(([e]) => e && setW(Math.round(e.contentRect.width)));
    see.observe(ref.current!);
    return () => see.disconnect();
  }, []);
  const h = p.height, L = 30, R = 8, T = 7, B = 7;
  const x = (ply: number) => L + (Math.max(0, ply) * (w - L - R)) / Math.max(1, p.last);
  const y = (v: number) => T + (1 - v) * (h - T - B);
  const path = p.points.map((q, i) => `${i ? "L" : "M"}${x(q.ply).toFixed(1)} ${y(q.p).toFixed(1)}`).join("");
  const first = p.points[0], end = p.points.at(-1);
  const now = [...p.points].reverse().find((q) => q.ply <= p.at) ?? first;
  const seek = (e: PointerEvent) => {
    if (!p.onSeek || (e.type === "pointermove" && e.buttons === 0)) return;
    const box = ref.current!.getBoundingClientRect();
    p.onSeek(Math.max(0, Math.min(p.last, Math.round(((e.clientX - box.left - L) * p.last) / (w - L - R)))));
  };
  return (
    <div class={`curve ${p.onSeek ? "seek" : ""}`} ref={ref} onPointerDown={seek} onPointerMove={seek}>
      <svg width={w} height={h} role="img" aria-label={`${t("rev.curve")} ${now ? percent(now.p, 0) : ""}`}>
        {[1, 0.5, 0].map((v) => <><line x1={L} x2={w - R} y1={y(v)} y2={y(v)} class={v === 0.5 ? "mid" : ""} /><text x={L - 6} y={y(v) + 4} text-anchor="end">{100 * v}</text></>)}
        {first && end && <path class="fill" d={`${path}L${x(end.ply)} ${y(0.5)}L${x(first.ply)} ${y(0.5)}Z`} />}
        <path class="line" d={path} />
        {p.points.filter((q) => q.grade === "amber" || q.grade === "red").map((q) => <circle cx={x(q.ply)} cy={y(q.p)} r="4.5" class={q.grade} />)}
        <line class="now" x1={x(p.at)} x2={x(p.at)} y1={2} y2={h - 2} />
        {now && <circle class="nowdot" cx={x(p.at)} cy={y(now.p)} r="4" />}
      </svg>
    </div>
  );
}
