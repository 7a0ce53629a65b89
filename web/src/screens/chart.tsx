// One chart of the dashboard: uPlot, drawn at its pixel size, with a 95 % band and the same data as a table.
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series, Train } from "../api";
import { t, whole } from "../i18n";
import { useApp } from "../store";

export interface Line { name: string; of: string }
export interface ChartProps { d: Train; lines: Line[]; title: string; cls: string; height: number; log: boolean; table: boolean; mark?: number; time?: boolean; zero?: boolean; show: (v: number) => string; exact: (v: number) => string }

const DASH: number[][] = [[], [7, 4], [2, 3]];
const COLORS = ["--gold-text", "--blue", "--good"];
const look = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const sync = uPlot.sync("train");

/** All lines over one common x; NaN and missing points are gaps. */
function join(d: Train, lines: Line[]): { x: number[]; rows: (number | null)[][] } {
  const series = lines.map((l) => d.series[l.of]).filter((s): s is Series => s !== undefined && s.x.length > 0);
  const x = [...new Set(series.flatMap((s) => s.x))].sort((a, b) => a - b);
  const place = new Map(x.map((v, i) => [v, i]));
  const spread = (xs: number[], ys: readonly (number | null | "nan")[] | undefined): (number | null)[] => {
    const out = new Array<number | null>(x.length).fill(null);
    ys?.forEach((y, i) => (out[place.get(xs[i]!)!] = typeof y === "number" ? y : null));
    return out;
  };
  return { x, rows: series.flatMap((s) => [spread(s.x, s.y), spread(s.x, s.hi), spread(s.x, s.lo)]) };
}

export function Chart(p: ChartProps) {
  const here = p.lines.filter((l) => (p.d.series[l.of]?.x.length ?? 0) > 0);
  const data = useMemo(() => join(p.d, here), [p.d]);
  return (
    <section class={`box ${p.cls}`}>
      <h2 class="bh"><span>{p.title}</span>{here.length > 1 && <span class="leg">{here.map((l, i) => <span><Swatch i={i} />{l.name}</span>)}</span>}</h2>
      {data.x.length === 0 ? <p class="mut empty">–</p> : p.table ? <Table {...p} lines={here} data={data} /> : <Plot {...p} lines={here} data={data} />}
    </section>
  );
}

const Swatch = ({ i }: { i: number }) => <svg width="22" height="8" aria-hidden="true"><line x1="1" x2="21" y1="4" y2="4" stroke={`var(${COLORS[i]!})`} stroke-width="2.5" stroke-dasharray={DASH[i]!.join(" ")} /></svg>;

type Data = ReturnType<typeof join>;

function Plot(p: ChartProps & { data: Data }) {
  const ref = useRef<HTMLDivElement>(null), plot = useRef<uPlot | null>(null);
  const theme = useApp((a) => a.settings.theme), lang = useApp((a) => a.settings.lang);
  useEffect(() => {
    const u = (plot.current = new uPlot(options(p, ref.current!.clientWidth), aligned(p), ref.current!));
    if (!p.time) sync.sub(u);
    const see = new ResizeObserver(([e]) => e && u.setSize({ width: Math.max(160, Math.floor(e.contentRect.width)), height: p.height }));
    see.observe(ref.current!);
    return () => {
      see.disconnect();
      sync.unsub(u);
      u.destroy();
    };
  }, [p.lines.length, p.log, theme, lang]);
  useEffect(() => plot.current?.setData(aligned(p)), [p.data]);
  return <div class="plot" ref={ref} role="img" aria-label={`${p.title}: ${p.lines.map((l, i) => `${l.name} ${lastOf(p, i)}`).join(", ")}`} />;
}

const aligned = (p: { data: Data }): uPlot.AlignedData => [p.data.x, ...p.data.rows];
function lastOf(p: ChartProps & { data: Data }, i: number): string {
  const v = p.data.rows[3 * i]?.findLast((y) => y !== null);
  return v == null ? "–" : p.exact(v);
}

function options(p: ChartProps & { data: Data }, width: number): uPlot.Options {
  const line = look("--line"), text = look("--text2");
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: `11px ${look("--font")}` };
  return {
    width: Math.max(160, width), height: p.height, padding: [8, 10, 0, 0], legend: { show: false },
    cursor: { sync: p.time ? undefined : { key: "train", setSeries: false, scales: ["x", null] }, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: p.time ?? false, distr: p.log && !p.time ? 3 : 1 }, y: { range: (_, lo, hi) => range(p, lo, hi) } },
    axes: [
      { ...axis, grid: { show: false }, size: 26, space: 70, values: p.time ? (_, xs) => xs.map((v) => ago(v)) : (_, xs) => xs.map((v) => (v === null ? "" : short(v))) },
      { ...axis, size: 46, values: (_, ys) => ys.map((v) => (v == null ? "" : p.show(v))) },
    ],
    series: [{}, ...p.lines.flatMap((l, i) => {
      const stroke = look(COLORS[i]!);
      return [{ label: l.name, stroke, width: 2, dash: DASH[i]!, spanGaps: true, points: { show: p.data.x.length < 20, size: 5 } }, { show: true, width: 0, spanGaps: true, points: { show: false } }, { show: true, width: 0, spanGaps: true, points: { show: false } }];
    })],
    bands: p.lines.map((_, i) => ({ series: [3 * i + 2, 3 * i + 3] as [number, number], fill: `${look(COLORS[i]!)}22` })),
    hooks: {
      draw: [(u) => p.mark !== undefined && drawMark(u, p.mark, text)],
      setCursor: [(u) => tip(u, p)],
    },
  };
}

function range(p: ChartProps, lo: number, hi: number): [number, number] {
  if (lo == null || hi == null) return [0, 1];
  const a = Math.min(p.zero ? 0 : lo, p.mark ?? lo), b = Math.max(hi, p.mark ?? hi), pad = (b - a || 1) * 0.06;
  return [p.zero ? 0 : a - pad, b + pad];
}

/** The dashed line that a figure is held against: one half, or zero. */
function drawMark(u: uPlot, at: number, color: string): void {
  const y = Math.round(u.valToPos(at, "y", true)) + 0.5, c = u.ctx;
  c.save();
  c.strokeStyle = color;
  c.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  c.lineWidth = devicePixelRatio;
  c.beginPath();
  c.moveTo(u.bbox.left, y);
  c.lineTo(u.bbox.left + u.bbox.width, y);
  c.stroke();
  c.restore();
}

function tip(u: uPlot, p: ChartProps): void {
  let el = u.over.querySelector<HTMLElement>(".ptip");
  if (!el) {
    el = document.createElement("div");
    el.className = "ptip num";
    u.over.append(el);
  }
  const i = u.cursor.idx, left = u.cursor.left ?? -1;
  el.hidden = i == null || left < 0;
  if (i == null || left < 0) return;
  const rows = p.lines.map((l, k) => {
    const v = u.data[3 * k + 1]?.[i];
    return v == null ? "" : `${l.name} ${p.exact(v)}`;
  }).filter(Boolean);
  el.textContent = [p.time ? ago(u.data[0][i]!) : whole(u.data[0][i]!), ...rows].join("\n");
  el.style.left = `${Math.min(left + 12, u.over.clientWidth - 130)}px`;
}

const short = (v: number): string => (v >= 1e9 ? `${+(v / 1e9).toFixed(1)}G` : v >= 1e6 ? `${+(v / 1e6).toFixed(1)}M` : v >= 1e3 ? `${+(v / 1e3).toFixed(1)}k` : String(v));
function ago(x: number): string {
  const min = Math.round((Date.now() - x) / 60000);
  return min <= 0 ? "0" : `−${min} m`;
}

/** The same figures as a table, at most 12 rows. */
function Table(p: ChartProps & { data: Data }) {
  const n = p.data.x.length, step = Math.max(1, Math.ceil(n / 12));
  const at = p.data.x.map((_, i) => i).filter((i) => (n - 1 - i) % step === 0);
  return (
    <div class="scroll">
      <table class="list num">
        <thead><tr><th scope="col">{p.time ? "t" : t("tr.frames")}</th>{p.lines.map((l) => <th scope="col" class="r">{l.name}</th>)}</tr></thead>
        <tbody>{at.map((i) => <tr><th scope="row">{p.time ? ago(p.data.x[i]!) : whole(p.data.x[i]!)}</th>{p.lines.map((_, k) => <td class="r">{p.data.rows[3 * k]?.[i] == null ? "–" : p.exact(p.data.rows[3 * k]![i]!)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}
