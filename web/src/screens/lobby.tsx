// The lobby: one press starts a game; rooms, my record, the ranking beside it.
import { useEffect, useState } from "preact/hooks";
import * as api from "../api";
import { join, newRoom, quick, readCode, watch, watchBots } from "../commands";
import { send } from "../connection";
import { percent, signed, t, whole } from "../i18n";
import { boardName } from "../names";
import type { Role, Rules, Strength } from "../protocol";
import { go, setSettings, update, useApp } from "../store";
import { fanMarkup } from "../table/cardnode";
import { A, Box, Seg, useLoad, Waiting } from "../ui";

export function Lobby() {
  const online = useApp((a) => a.net.link === "online");
  useEffect(() => {
    if (!online) return;
    void send({ t: "lobby", on: true });
    return () => void send({ t: "lobby", on: false });
  }, [online]);
  return (
    <main class="page" id="main">
      <div class="wrap">
        <div class="stack"><Hero /><Rooms /></div>
        <div class="stack"><Invite /><MyRecord /><TopRanks /></div>
      </div>
    </main>
  );
}

function Hero() {
  const q = useApp((a) => a.settings.quick), saw = useApp((a) => a.settings.sawRules), online = useApp((a) => a.net.link === "online");
  const set = (c: Partial<typeof q>) => setSettings({ quick: { ...q, ...c } });
  const start = () => (saw ? void quick() : go("/rules"));
  return (
    <section class="box hero">
      <h1>{t("lobby.title")}</h1>
      <p>{t("lobby.sub")}</p>
      <div class="opts">
        <span>{t("opt.bots")}</span>
        <div><Seg<Strength> label={t("opt.bots")} value={q.strength} onPick={(strength) => set({ strength })} options={[["easy", t("str.easy")], ["mid", t("str.mid")], ["best", t("str.best")]]} /></div>
        <span>{t("opt.role")}</span>
        <div><Seg<Role> label={t("opt.role")} value={q.role} onPick={(role) => set({ role })} options={[["bid", t("opt.bid")], ["landlord", t("role.landlord")], ["farmer", t("role.farmer")]]} /></div>
        <span>{t("opt.rules")}</span>
        <div><Seg<Rules> label={t("opt.rules")} value={q.rules} onPick={(rules) => set({ rules })} options={[["classic", t("rules.classic1")], ["douzero", "DouZero"]]} /></div>
        <span>{t("opt.time")}</span>
        <div><Seg label={t("opt.time")} value={q.time} onPick={(time) => set({ time })} options={[10, 20, 40, 0].map((n) => [n, n ? `${n} s` : t("opt.notime")] as [number, string])} /></div>
      </div>
      <div class="brow">
        <button class="btn pri" onClick={start} disabled={!online}>{t("lobby.start")}</button>
        <button class="btn" onClick={() => void watchBots()} disabled={!online}>{t("lobby.watchbots")}</button>
      </div>
      <div class="hfan" aria-hidden="true">
        {[53, 50, 44, 43, 37].map((c, i) => <div class="hcard" style={{ transform: `rotate(${(i - 2) * 11}deg)` }} dangerouslySetInnerHTML={{ __html: fanMarkup([c]) }} />)}
      </div>
    </section>
  );
}

function Rooms() {
  const lobby = useApp((a) => a.net.lobby), room = useApp((a) => a.net.room), online = useApp((a) => a.net.link === "online");
  const rows = lobby?.rooms ?? [];
  return (
    <Box title={t("lobby.rooms")} side={<button class="btn sm" disabled={!online} onClick={() => void newRoom({ rules: "classic", time: 20, help: false, allpass: "redeal", private: false })}>{t("room.new")}</button>}>
      {room && <div class="note"><b>{room.name}</b><span class="gap" /><A class="btn sm pri" href={`/r/${room.room}`}>{t("lobby.back")}</A></div>}
      {rows.length === 0 ? <p class="mut empty">{t("lobby.norooms")}</p> : (
        <table class="rooms"><tbody>
          {rows.map((r) => {
            const free = 3 - r.people - (r.state === "wait" ? r.bots : 0);
            return (
              <tr key={r.room}>
                <td><b>{r.name}</b><div class="mut small">{t("room.people", { n: r.people })}{r.bots > 0 && ` + ${t("room.bots", { n: r.bots })}`}</div></td>
                <td class="mut nowrap">{r.state === "wait" ? t("room.needs", { n: free }) : t("room.playing")}</td>
                <td>{r.state === "wait" && free > 0
                  ? <button class="btn sm" onClick={() => void join(r.room)}>{t("room.join")}</button>
                  : <button class="btn sm" onClick={() => void watch(r.room)}>{t("room.watch")}</button>}</td>
              </tr>
            );
          })}
        </tbody></table>
      )}
    </Box>
  );
}

function Invite() {
  const [code, setCode] = useState("");
  const online = useApp((a) => a.net.link === "online");
  return (
    <Box title={t("room.invite")}>
      <form class="share" onSubmit={(e) => {
        e.preventDefault();
        if (readCode(code).length >= 4) go(`/r/${readCode(code)}`);
      }}>
        <input class="field code" value={code} onInput={(e) => setCode(e.currentTarget.value)} placeholder="7KQ2-M9XA" aria-label={t("room.or")} autocomplete="off" spellcheck={false} />
        <button class="btn sm h40" disabled={readCode(code).length < 4 || !online}>{t("room.join")}</button>
      </form>
      <p class="mut small under">{t("room.fill")}</p>
    </Box>
  );
}

function MyRecord() {
  const token = useApp((a) => a.net.token);
  const s = useLoad(`stats ${token}`, () => api.stats(100), token !== null);
  const d = s.data, farmer = d && { games: d.roles.up.games + d.roles.down.games, won: d.roles.up.won + d.roles.down.won };
  const rate = (r: { games: number; won: number }) => (r.games ? percent(r.won / r.games, 0) : "–");
  return (
    <Box title={<A href="/me">{t("st.record")}</A>} side={<span class="mut small">{t("st.last", { n: 100 })}</span>}>
      {!d || !farmer ? <Waiting of={s} /> : d.games === 0 ? <p class="mut empty">{t("st.empty")}</p> : (
        <div class="kv num">
          <div><b>{rate(d.roles.landlord)}</b><span>{t("st.ll")}</span></div>
          <div><b>{rate(farmer)}</b><span>{t("st.fm")}</span></div>
          <div><b>{signed(d.ppg, 2)}</b><span>{t("st.ppg")}</span></div>
        </div>
      )}
    </Box>
  );
}

function TopRanks() {
  const [span, setSpan] = useState<"week" | "all">("week");
  const b = useLoad(`board ${span}`, () => api.board(span));
  return (
    <Box title={<A href="/rank">{t("nav.rank")}</A>} side={<Seg label={t("nav.rank")} value={span} onPick={setSpan} options={[["week", t("rank.week")], ["all", t("rank.all")]]} />}>
      {!b.data ? <Waiting of={b} /> : b.data.rows.length === 0 ? <p class="mut empty">{t("rank.none")}</p> : (
        <table class="rooms ranks num"><tbody>
          {b.data.rows.slice(0, 5).map((r) => (
            <tr key={r.place} class={r.me ? "mine" : ""}><td class="mut">{r.place}</td><td><b>{boardName(r.name, r.bot)}</b> <span class="mut small">{r.bot ? "AI" : t("rank.games", { n: whole(r.games) })}</span></td><td>{whole(r.rating)}</td></tr>
          ))}
        </tbody></table>
      )}
    </Box>
  );
}

export const closeDialog = (): void => update({ dialog: null });
