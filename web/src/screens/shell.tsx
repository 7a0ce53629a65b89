// The frame of every screen: top bar, connection, the page that the address names.
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { readCode, showCode } from "../commands";
import { send } from "../connection";
import { t, type Key } from "../i18n";
import { errorText } from "../commands";
import type { Spoken } from "../announce";
import { watchEvents } from "../announce";
import { get, go, setSettings, update, useApp, type App } from "../store";
import { A, Icon } from "../ui";
import { Lobby } from "./lobby";
import { Room } from "./room";
import { Dialogs } from "./settings";
import { TableScreen } from "./tablescreen";

/** A screen that is fetched when it is first opened. */
function later(load: () => Promise<{ default: ComponentType }>): ComponentType {
  let Page: ComponentType | null = null;
  return () => {
    const [, redraw] = useState(0);
    useEffect(() => {
      if (!Page) void load().then((m) => {
        Page = m.default;
        redraw(1);
      });
    }, []);
    return Page ? <Page /> : <main class="page" id="main"><p class="mut">{t("load")}</p></main>;
  };
}

const Replay = later(() => import("./replay"));
const Games = later(() => import("./games"));
const Me = later(() => import("./me"));
const Rank = later(() => import("./rank"));
const Train = later(() => import("./train"));
const Rules = later(() => import("./rules"));

const LINKS: [string, Key][] = [["/", "nav.lobby"], ["/table", "nav.table"], ["/replays", "nav.replay"], ["/rank", "nav.rank"], ["/train", "nav.train"], ["/rules", "nav.rules"]];

const section = (path: string): string => (path.startsWith("/r/") ? "/table" : path.startsWith("/g/") ? "/replays" : path === "/me" ? "/rank" : path);

/** A game is on the table: running, or just ended and its room not yet waiting for another. */
const inGame = (a: App): boolean => a.net.game !== null && !(a.net.game.end && a.net.room?.state === "wait");

export function Shell() {
  const path = useApp((a) => a.path), room = useApp((a) => a.net.room), playing = useApp(inGame);
  useApp((a) => a.settings);
  const at = section(path);
  const atTable = at === "/table" && (room === null || room.state !== "wait" || playing);
  useEffect(() => {
    document.getElementById("app")!.className = (at === "/table" && atTable) || path.startsWith("/g/") ? "at-table" : "";
  });
  return (
    <>
      <Top at={at} table={at === "/table" && room !== null} />
      <Page path={path} at={at} />
      <Dialogs />
      <Toast />
      <Live />
    </>
  );
}

function Page({ path, at }: { path: string; at: string }) {
  if (at === "/table") return <AtTable path={path} />;
  if (path.startsWith("/g/")) return <Replay />;
  return at === "/" ? <Lobby /> : path === "/me" ? <Me /> : at === "/replays" ? <Games /> : at === "/rank" ? <Rank /> : at === "/train" ? <Train /> : at === "/rules" ? <Rules /> : <Lobby />;
}

/** A room's address: joins it, then shows the room or its game. */
function AtTable({ path }: { path: string }) {
  const room = useApp((a) => a.net.room), online = useApp((a) => a.net.link === "online"), playing = useApp(inGame);
  const [gone, setGone] = useState<string | null>(null);
  const code = path.startsWith("/r/") ? readCode(path.slice(3)) : null;
  useEffect(() => {
    setGone(null);
    if (!online || !code || get().net.room?.room === code) return;
    void send({ t: "room_join", room: code }).then((m) => m.t === "error" && setGone(m.code));
  }, [online, code]);
  useEffect(() => {
    if (!code && room) go(`/r/${showCode(room.room)}`, true);
  }, [code, room?.room]);
  if (gone || (!code && !room && online)) return (
    <main class="page" id="main"><section class="box sorry"><h1>{gone ? (gone === "gone" ? t("room.notfound") : errorText(gone)) : t("nav.table")}</h1>{!gone && <p class="mut">{t("lobby.sub")}</p>}<A class="btn pri" href="/">{t("end.lobby")}</A></section></main>
  );
  return room && room.state === "wait" && !playing ? <Room room={room} /> : <TableScreen />;
}

function Top({ at, table }: { at: string; table: boolean }) {
  const s = useApp((a) => a.settings), [menu, setMenu] = useState(false);
  const dark = document.documentElement.dataset.theme === "dark";
  return (
    <header class="top">
      <A class="logo" href="/"><Icon name="crown" /><span>{t("app")}</span></A>
      <nav class="nav" aria-label={t("nav.menu")}>{LINKS.map(([href, key]) => <A href={href} aria-current={at === href ? "page" : undefined}>{t(key)}</A>)}</nav>
      <span class="gap" />
      {table && <button class="ib only-small keep" aria-label={t("ai.title")} onClick={() => update({ dialog: get().dialog === "panel" ? null : "panel" })}><Icon name="bulb" /></button>}
      <Link />
      <button class={`ib quiet ${table ? "keep" : ""}`} aria-label={t("set.sound")} aria-pressed={s.sound} onClick={() => setSettings({ sound: !s.sound })}><Icon name={s.sound ? "sound" : "mute"} /></button>
      {!table && <button class="ib" aria-label={t("nav.theme")} onClick={() => setSettings({ theme: dark ? "light" : "dark" })}><Icon name={dark ? "sun" : "moon"} /></button>}
      <button class="ib keep" aria-label={t("nav.set")} onClick={() => update({ dialog: "settings" })}><Icon name="gear" /></button>
      <button class="ib only-small" aria-label={t("nav.menu")} aria-expanded={menu} onClick={() => setMenu(!menu)}><Icon name="menu" /></button>
      {menu && <nav class="drop" onClick={() => setMenu(false)}>{[...LINKS, ["/me", "nav.me"] as [string, Key]].map(([href, key]) => <A href={href} aria-current={at === href ? "page" : undefined}>{t(key)}</A>)}</nav>}
    </header>
  );
}

function Link() {
  const link = useApp((a) => a.net.link), rtt = useApp((a) => a.net.rtt);
  const text = link === "online" ? `${t("net.on")}${rtt === null ? "" : ` · ${t("net.ms", { n: rtt })}`}` : link === "version" ? t("net.new") : t("net.conn");
  if (link === "version") return <button class="btn sm pri" onClick={() => location.reload()}>{text}</button>;
  return <div class="link num" role="status" aria-live="off"><i class={`dot ${link === "online" ? "" : link === "lost" || link === "connecting" ? "amber" : "off"}`} /><span>{text}</span><span class="vh">{text}</span></div>;
}

function Toast() {
  const toast = useApp((a) => a.toast);
  return toast ? <div class="toast" role="alert">{toast}</div> : null;
}

/** What a screen reader is told. */
function Live() {
  const [s, set] = useState<Spoken>({ log: "", status: "", alert: "" });
  const log = useRef<HTMLDivElement>(null);
  useEffect(() => watchEvents((now) => {
    set((old) => ({ ...now, status: now.status || old.status }));
    if (now.log && log.current) {
      const line = document.createElement("p");
      line.textContent = now.log;
      log.current.append(line);
      while (log.current.children.length > 6) log.current.firstChild!.remove();
    }
  }), []);
  return (
    <div class="vh">
      <div role="log" aria-live="polite" ref={log} />
      <div role="status">{s.status}</div>
      <div role="alert">{s.alert}</div>
    </div>
  );
}
