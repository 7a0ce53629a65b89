// The table with what surrounds it: side panel, end sheet, banners. The felt itself is the module in table/.
import { useEffect, useRef } from "preact/hooks";
import { warn } from "../announce";
import { askLeave, tell, toast } from "../commands";
import { here, nudge } from "../connection";
import { t } from "../i18n";
import { keysAtTable } from "../keys";
import * as act from "../play";
import type { Seat } from "../protocol";
import { pace } from "../settings";
import { cue } from "../sound";
import { SEAT_KEPT_MS } from "../state";
import { get, listen, setSettings, update, useApp } from "../store";
import { liveModel } from "../table/live";
import type { Place } from "../table/model";
import { TableView } from "../table/table";
import { EndSheet } from "./end";
import { Panel } from "./panel";

function press(id: string): void {
  if (id === "pass") act.pass();
  else if (id === "hint") act.hint(1);
  else if (id === "play") act.play();
  else if (id === "unhost") act.host(false);
  else if (id === "nopass") act.stopAutopass();
  else if (id === "sit") sit();
  else if (id === "host") act.host(true);
  else if (id === "talk") update({ dialog: "invite" });
  else if (id === "leave") askLeave();
  else if (id.startsWith("bid")) act.bid(Number(id.slice(3)));
}

function sit(): void {
  const seat = get().net.room?.seats.findIndex((s) => s.kind === "bot") ?? -1;
  if (seat >= 0) void tell({ t: "sit", seat: seat as Seat });
}

/** A press on a person's picture mutes their phrases, another hears them again. */
function mute(place: Place): void {
  const { net, settings } = get(), me = net.game?.me;
  if (me == null || !net.room) return;
  const info = net.room.seats[(me + (place === "right" ? 1 : 2)) % 3]!;
  if (info.kind !== "human") return;
  const off = settings.muted.includes(info.name);
  setSettings({ muted: off ? settings.muted.filter((n) => n !== info.name) : [...settings.muted, info.name] });
  toast(t(off ? "seat.heard" : "seat.muted", { name: info.name }));
}

let view: TableView | null = null;
export const tableView = (): TableView | null => view;

export function TableScreen() {
  const ref = useRef<HTMLDivElement>(null);
  const game = useApp((a) => a.net.game), dialog = useApp((a) => a.dialog);
  useEffect(() => {
    const table = (view = new TableView(ref.current!, {
      press, clear: act.clear, hint: () => act.hint(1), seat: mute,
      second: (left) => {
        if (left === 10) warn(t("say.ten"));
        if (left > 0 && left <= 5) cue("tick");
      },
      toggle: (card) => {
        cue(get().choice.chosen.has(card) ? "clear" : "choose");
        act.toggle(card);
      },
      drag: act.setChosen, settle: act.settle, rank: (r) => act.chooseRank(r, true), flick: act.play, focus: () => undefined,
    }));
    const draw = () => {
      const a = get(), model = liveModel(a);
      if (model) table.render(model, pace(a.settings));
    };
    draw();
    const off = listen(draw), keys = keysAtTable(table);
    const away = setInterval(() => get().net.game?.away.some((x) => x !== null) && draw(), 1000);
    return () => {
      off();
      keys();
      clearInterval(away);
      table.destroy();
      view = null;
    };
  }, []);
  return (
    <div class={`game ${dialog === "panel" ? "sheet-open" : ""}`}>
      <main class="felt-host" id="main" ref={ref} aria-label={t("say.table")}>
        <Banner />
        {game === null && <Outlines />}
        <Tips />
        {game?.end && <EndSheet key={game.id} g={game} end={game.end} />}
      </main>
      {dialog === "panel" && <button class="shade only-small" aria-label={t("set.close")} onClick={() => update({ dialog: null })} />}
      <Panel />
    </div>
  );
}

/** Cards' places while the game is on its way. */
function Outlines() {
  return <div class="outlines" aria-hidden="true">{Array.from({ length: 10 }, (_, i) => <i key={i} />)}</div>;
}

function Banner() {
  const link = useApp((a) => a.net.link), lostAt = useApp((a) => a.net.lostAt), seated = useApp((a) => a.net.game?.me != null);
  const back = useRef(false);
  useEffect(() => {
    if (link === "online" && back.current) toast(t("net.back"));
    back.current = link === "lost";
  }, [link]);
  useTick(link === "lost");
  if (link === "moved") return <div class="banner" role="status">{t("net.other")}<button class="btn sm pri" onClick={here}>{t("net.here")}</button></div>;
  if (link === "connecting") return <div class="banner" role="status"><i class="spin" />{t("net.conn")}<button class="btn sm late" onClick={nudge}>{t("net.retry")}</button></div>;
  if (link === "closed") return <div class="banner" role="status">{t("net.closed")}<button class="btn sm pri" onClick={here}>{t("net.retry")}</button></div>;
  if (link !== "lost") return null;
  const left = Math.max(0, Math.ceil(((lostAt ?? Date.now()) + SEAT_KEPT_MS - Date.now()) / 1000));
  return <div class="banner" role="status"><i class="spin" /><span>{seated ? t("net.re", { n: left }) : t("net.conn")}</span></div>;
}

function useTick(on: boolean): void {
  useEffect(() => {
    if (!on) return;
    const id = setInterval(() => update({}), 1000);
    return () => clearInterval(id);
  }, [on]);
  useApp((a) => (on ? Math.floor(Date.now() / 1000) + Number(a.wrong) : 0));
}

/** First game: three tips, one at a time, never over the hand. */
function Tips() {
  const n = useApp((a) => a.settings.tips), playing = useApp((a) => a.net.game?.phase === "play" && a.net.game.me !== null);
  if (n >= 3 || !playing) return null;
  return <div class="tip" role="note"><span>{t((["tip.1", "tip.2", "tip.3"] as const)[n]!)}</span><button class="btn sm" onClick={() => setSettings({ tips: n + 1 })}>{t("tip.ok")}</button></div>;
}
