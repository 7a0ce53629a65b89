// The training dashboard: a run's figures, live. Lines differ in dash as well as in colour, and so does the legend.
import { useEffect, useState } from "preact/hooks";
import * as api from "../api";
import { percent, t, whole } from "../i18n";
import "../styles/train.css";
import { useApp } from "../store";
import { Seg } from "../ui";
import { Chart, type Line } from "./chart";

const EVERY_MS = 2000;

/** Asks again every two seconds while the page is shown. */
function useTrain(run: string | undefined): { data: api.Train | null; failed: boolean } {
  const [s, set] = useState<{ data: api.Train | null; failed: boolean }>({ data: null, failed: false });
  useEffect(() => {
    let live = true, timer: ReturnType<typeof setTimeout>;
    const ask = async () => {
      if (!document.hidden) {
        try {
          const data = await api.train(run);
          if (live) set({ data, failed: false });
        } catch {
          if (live) set((old) => ({ ...old, failed: true }));
        }
      }
      if (live) timer = setTimeout(() => void ask(), EVERY_MS);
    };
    void ask();
    return () => {
      live = false;
      clearTimeout(timer);
    };
  }, [run]);
  return s;
}

export default function Train() {
  const [run, setRun] = useState<string>();
  const [runs, setRuns] = useState<api.Runs["runs"]>([]);
  const { data, failed } = useTrain(run);
  useApp((a) => a.settings);
  useEffect(() => {
    api.runs().then((r) => setRuns(r.runs), () => undefined);
  }, []);
  if (!data) return <main class="page" id="main"><p class="mut">{t(failed ? "err.fetch" : "load")}</p></main>;
  if (data.run === null) return <main class="page" id="main"><section class="box sorry"><h1>{t("tr.none")}</h1><p class="mut">{t("tr.command")} <code>{data.command || "./run"}</code></p></section></main>;
  return (
    <main class="page" id="main">
      <h1 class="vh">{t("tr.title")}</h1>
      <State d={data} runs={runs} pick={setRun} />
      <Board d={data} />
    </main>
  );
}

function State({ d, runs, pick }: { d: api.Train; runs: api.Runs["runs"]; pick: (run: string) => void }) {
  const nan = Object.entries(d.series).some(([k, s]) => k.startsWith("loss") && s.y.at(-1) === "nan");
  const s = Math.round(d.age_ms / 1000);
  return (
    <div class="dash bars">
      {nan && <p class="bar red" role="alert">{t("tr.nan")}</p>}
      {d.state === "done" ? <p class="bar">{t("tr.done")}</p> : s > 30 && <p class={`bar ${s > 300 ? "red" : "amber"}`} role="status">{t("tr.stale", { n: whole(s) })}</p>}
      {runs.length > 1 && <label class="bar pick">{t("tr.run")}<select class="field" value={d.run ?? ""} onChange={(e) => pick(e.currentTarget.value)}>{runs.map((r) => <option key={r.run}>{r.run}</option>)}</select></label>}
    </div>
  );
}

function big(n: number): string {
  return n >= 1e9 ? `${(n / 1e9).toFixed(2)} G` : n >= 1e6 ? `${(n / 1e6).toFixed(2)} M` : whole(n);
}
function duration(ms: number): string {
  const min = Math.floor(ms / 60000), h = Math.floor(min / 60);
  return h ? `${h} h ${min % 60} m` : `${min} m`;
}
const latest = (s: api.Series | undefined): number | null => {
  const v = s?.y.findLast((y) => typeof y === "number");
  return typeof v === "number" ? v : null;
};

function Board({ d }: { d: api.Train }) {
  const [log, setLog] = useState(false), [table, setTable] = useState(false);
  const fps = latest(d.series.fps), sps = latest(d.series.sps);
  const wp: Line[] = [{ name: t("tr.all"), of: "wp" }, { name: t("tr.landlord"), of: "wp_landlord" }, { name: t("tr.farmers"), of: "wp_farmers" }];
  const loss: Line[] = [{ name: t("tr.landlord"), of: "loss_landlord" }, { name: t("tr.down"), of: "loss_down" }, { name: t("tr.up"), of: "loss_up" }];
  const rate: Line[] = [{ name: t("tr.dps"), of: "fps" }, { name: t("tr.sps"), of: "sps" }];
  const k = (v: number) => (Math.abs(v) >= 1e3 ? `${+(v / 1e3).toFixed(1)}k` : String(v));
  const common = { d, log, table };
  return (
    <div class="dash">
      <Stat n={big(d.games)} of={t("tr.games")} /><Stat n={fps === null ? "–" : whole(fps)} of={t("tr.dps")} /><Stat n={sps === null ? "–" : whole(sps)} of={t("tr.sps")} />
      <Stat n={duration(Date.now() - d.started)} of={t("tr.time", { n: d.checkpoint === null ? "–" : parseInt(String(d.checkpoint), 10) })} />
      <div class="c12 tbar">
        <Seg label={t("tr.chart")} value={table} onPick={setTable} options={[[false, t("tr.chart")], [true, t("tr.table")]]} />
        <button class="btn sm" aria-pressed={log} onClick={() => setLog(!log)}>{t("tr.log")}{log ? " ✓" : ""}</button>
      </div>
      <Chart {...common} cls="c8" title={`${t("tr.wp")}${d.baseline ? ` (${d.baseline})` : ""}`} lines={wp} height={232} mark={0.5} show={(v) => percent(v, 0)} exact={(v) => percent(v)} />
      <Chart {...common} cls="c4" title={t("tr.adp")} lines={[{ name: t("tr.all"), of: "adp" }]} height={232} mark={0} show={(v) => String(+v.toFixed(2))} exact={(v) => v.toFixed(3)} />
      <Chart {...common} cls="c4" title={t("tr.loss")} lines={loss} height={180} show={(v) => String(+v.toFixed(3))} exact={(v) => v.toFixed(4)} />
      <Chart {...common} cls="c4" title={t("tr.rate")} lines={rate} height={180} time show={k} exact={(v) => whole(v)} zero />
      <Nodes d={d} />
    </div>
  );
}

const Stat = ({ n, of }: { n: string; of: string }) => <section class="box stat c3"><b class="num">{n}</b><span>{of}</span></section>;

function Nodes({ d }: { d: api.Train }) {
  const lost = d.nodes.filter((n) => n.state === "lost").length;
  return (
    <section class="box c4">
      <h2 class="bh"><span>{t("tr.nodes")}</span><span class="mut small">{t("tr.nodesn", { a: d.nodes.length - lost, b: lost })}</span></h2>
      <div class="nodes">
        <table class="list num"><tbody>{d.nodes.map((n) => (
          <tr class={n.state === "lost" ? "lost" : ""}><th scope="row">{n.name} <span class="mut">{n.kind}</span></th><td class="load"><div><i style={{ width: percent(n.load) }} /></div></td><td class="r">{n.state === "lost" ? t("tr.lost") : percent(n.load, 0)}</td></tr>
        ))}</tbody></table>
      </div>
    </section>
  );
}
