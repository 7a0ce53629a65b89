// My record: figures by role, points over time, my name, my games.
import { useState } from "preact/hooks";
import * as api from "../api";
import { tell } from "../commands";
import { percent, signed, t, whole, type Key } from "../i18n";
import { update, get, useApp } from "../store";
import { Box, Seg, useLoad, Waiting } from "../ui";
import { GameTable } from "./games";

const ROLES: ["landlord" | "up" | "down", Key][] = [["landlord", "role.landlord"], ["up", "st.up"], ["down", "st.down"]];

export default function Me() {
  const [last, setLast] = useState(100);
  const token = useApp((a) => a.net.token);
  const s = useLoad(`me ${last} ${token}`, () => api.stats(last), token !== null), games = useLoad(`mine ${token}`, () => api.games(), token !== null);
  return (
    <main class="page" id="main">
      <div class="narrow">
        <Box title={t("st.record")} side={<Seg label={t("st.record")} value={last} onPick={setLast} options={[[100, t("st.last", { n: 100 })], [0, t("st.all")]]} />}>
          <Name />
          {!s.data ? <Waiting of={s} /> : s.data.games === 0 ? <p class="mut empty">{t("st.empty")}</p> : <Figures s={s.data} />}
        </Box>
        <Box title={t("rev.mine")}>{!games.data ? <Waiting of={games} /> : <GameTable first={games.data} />}</Box>
      </div>
    </main>
  );
}

function Name() {
  const name = useApp((a) => a.net.name), [text, setText] = useState<string | null>(null);
  const value = text ?? name, n = [...value.trim()].length;
  const save = async (e: Event) => {
    e.preventDefault();
    if (await tell({ t: "rename", name: value.trim() })) {
      update({ net: { ...get().net, name: value.trim() } });
      setText(null);
    }
  };
  return (
    <form class="nameform" onSubmit={(e) => void save(e)}>
      <input class="field" value={value} onInput={(e) => setText(e.currentTarget.value)} aria-label={t("st.name")} aria-invalid={n < 1 || n > 12} maxLength={24} />
      <button class="btn sm h40" disabled={n < 1 || n > 12 || value.trim() === name}>{t("st.save")}</button>
    </form>
  );
}

function Figures({ s }: { s: api.Stats }) {
  return (
    <>
      <div class="scroll" style={{ marginTop: "12px" }}>
        <table class="list num">
          <thead><tr><th scope="col">{t("end.role")}</th><th scope="col" class="r">{t("st.games")}</th><th scope="col" class="r">{t("st.win")}</th><th scope="col" class="r">{t("st.ppg")}</th><th scope="col" class="r">{t("st.loss")}</th></tr></thead>
          <tbody>{ROLES.map(([role, key]) => {
            const r = s.roles[role];
            return <tr><th scope="row">{t(key)}</th><td class="r">{whole(r.games)}</td><td class="r">{r.games ? percent(r.won / r.games, 0) : "–"}</td><td class={`r ${r.ppg < 0 ? "neg" : r.ppg > 0 ? "pos" : ""}`}>{signed(r.ppg, 2)}</td><td class="r">{r.loss === null ? "–" : percent(r.loss)}</td></tr>;
          })}</tbody>
        </table>
      </div>
      <div class="kv two num" style={{ marginTop: "14px" }}>
        <div class="all">{s.bids.map((n, i) => <span>{i ? t("bid.n", { n: i }) : t("bid.none")} <b>{whole(n)}</b></span>)}</div><div><b>{whole(s.bombs)}</b><span>{t("st.bombs")}</span></div><div><b>{whole(s.springs)}</b><span>{t("st.springs")}</span></div>
      </div>
      <Spark points={s.points} />
    </>
  );
}

/** Points summed over the games. */
function Spark({ points }: { points: number[] }) {
  if (points.length < 2) return null;
  const sums = points.reduce<number[]>((a, p) => [...a, (a.at(-1) ?? 0) + p], [0]);
  const lo = Math.min(...sums), hi = Math.max(...sums), W = 600, H = 90;
  const x = (i: number) => (i * W) / (sums.length - 1), y = (v: number) => 6 + ((hi - v) * (H - 12)) / Math.max(1, hi - lo);
  return (
    <div class="curve" style={{ marginTop: "14px" }}>
      <svg viewBox={`0 0 ${W} ${H}`} width="100%" height={H} preserveAspectRatio="none" role="img" aria-label={`${t("st.curve")} ${signed(sums.at(-1)!, 0)}`}>
        {lo <= 0 && hi >= 0 && <line class="mid" x1="0" x2={W} y1={y(0)} y2={y(0)} vector-effect="non-scaling-stroke" />}
        <path class="line" vector-effect="non-scaling-stroke" d={sums.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("")} />
      </svg>
    </div>
  );
}
