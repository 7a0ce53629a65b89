// A room before its game: three seats, the rules, the link to send to friends.
import { roomLink, share, showCode, tell, copy } from "../commands";
import { t, type Key } from "../i18n";
import { nameOf } from "../names";
import type { MessageOf, RoomSeat, Seat, Strength } from "../protocol";
import { qrPath } from "../qr";
import { useApp } from "../store";
import { Box, Icon, Seg } from "../ui";
import { askLeave } from "../commands";

type RoomState = MessageOf<"room">;

export function Room({ room }: { room: RoomState }) {
  const host = room.me !== null && room.me === room.host;
  return (
    <main class="page" id="main">
      <div class="wrap">
        <div class="stack">
          <section class="box hero seats3">
            <h1>{room.name}</h1>
            <div class="tri">{([2, 1, 0] as const).map((k) => <SeatCard key={k} room={room} seat={(((room.me ?? 0) + k) % 3) as Seat} host={host} />)}</div>
            <Start room={room} host={host} />
          </section>
        </div>
        <div class="stack"><Link room={room} /><Rules room={room} host={host} /></div>
      </div>
    </main>
  );
}

function SeatCard({ room, seat, host }: { room: RoomState; seat: Seat; host: boolean }) {
  const s: RoomSeat = room.seats[seat], me = room.me === seat;
  return (
    <div class={`seatcard ${me ? "mine" : ""}`}>
      <div class="av"><Icon name={s.kind === "bot" ? "bot" : s.kind === "human" ? "user" : "pin"} /></div>
      <b>{s.kind === "empty" ? t("room.empty") : me ? `${s.name} (${t("seat.you")})` : nameOf(room.seats, seat)}</b>
      <span class="sub">{s.kind === "bot" ? t(`str.${s.strength ?? "best"}` as Key) : s.kind === "empty" ? " " : `${room.host === seat ? `${t("room.host")} · ` : ""}${s.away ? t("seat.left") : t(s.ready ? "room.isready" : "room.notready")}`}</span>
      <div class="acts">
        {s.kind === "empty" && host && (["easy", "mid", "best"] as Strength[]).map((strength) => <button class="btn sm" onClick={() => void tell({ t: "bot", seat, strength })} aria-label={`${t("room.addbot")} ${t(`str.${strength}` as Key)}`}>{t(`str.${strength}` as Key)}</button>)}
        {s.kind === "empty" && !host && <button class="btn sm" onClick={() => void tell({ t: "sit", seat })}>{t("room.sit")}</button>}
        {s.kind !== "empty" && host && !me && <button class="btn sm" onClick={() => void tell({ t: "remove", seat })}>{t("room.remove")}</button>}
        {host && !me && room.me !== null && <button class="btn sm" onClick={() => void tell({ t: "swap", a: room.me!, b: seat })}>{t("room.swap")}</button>}
      </div>
    </div>
  );
}

function Start({ room, host }: { room: RoomState; host: boolean }) {
  const mine = room.me === null ? null : room.seats[room.me];
  const full = room.seats.every((s) => s.kind !== "empty" && (s.kind === "bot" || s.ready || (host && s === mine)));
  return (
    <div class="brow">
      {host ? <button class="btn pri" disabled={!full} onClick={() => void tell({ t: "start" })}>{t("room.start")}</button>
        : mine ? <button class="btn pri" onClick={() => void tell({ t: "ready", on: !mine.ready })}>{t(mine.ready ? "room.unready" : "room.ready")}</button> : null}
      <button class="btn" onClick={askLeave}>{t("room.leave")}</button>
      <span class="sub">{!host && mine?.ready ? t("room.waithost") : room.watchers > 0 ? t("room.watchers", { n: room.watchers }) : ""}</span>
    </div>
  );
}

function Link({ room }: { room: RoomState }) {
  return (
    <Box title={t("room.invite")} side={<span class="mut small code">{showCode(room.room)}</span>}>
      <Invitation code={room.room} />
      <p class="mut small under">{t("room.fill")}</p>
    </Box>
  );
}

export function Invitation({ code }: { code: string }) {
  const url = roomLink(code), qr = qrPath(url);
  return (
    <>
      <div class="share">
        <input class="field code" readOnly value={url} aria-label={t("room.link")} onFocus={(e) => e.currentTarget.select()} />
        <button class="btn sm h40" onClick={() => void copy(url)}>{t("room.copy")}</button>
        <button class="btn sm h40 only-touch" onClick={() => share(url)} aria-label={t("rev.share")}><Icon name="share" /></button>
      </div>
      <svg class="qr" viewBox={`-2 -2 ${qr.size + 4} ${qr.size + 4}`} role="img" aria-label={t("room.qr")}><path d={qr.path} /></svg>
    </>
  );
}

function Rules({ room, host }: { room: RoomState; host: boolean }) {
  const set = (c: Partial<Pick<RoomState, "rules" | "time" | "help" | "allpass" | "private">>) => void tell({ t: "room_set", ...c });
  const rows: [string, preact.JSX.Element, string][] = [
    [t("opt.rules"), <Seg label={t("opt.rules")} value={room.rules} onPick={(rules) => set({ rules })} options={[["classic", t("rules.classic")], ["douzero", t("rules.douzero")]]} />, t(`rules.${room.rules}` as Key)],
    [t("opt.time"), <Seg label={t("opt.time")} value={room.time} onPick={(time) => set({ time })} options={[10, 20, 40, 0].map((n) => [n, n ? String(n) : t("opt.notime")] as [number, string])} />, room.time ? t("opt.sec", { n: room.time }) : t("opt.notime")],
    [t("opt.help"), <Seg label={t("opt.help")} value={room.help} onPick={(help) => set({ help })} options={[[true, t("opt.on")], [false, t("opt.off")]]} />, t(room.help ? "opt.on" : "opt.off")],
    [t("opt.allpass"), <Seg label={t("opt.allpass")} value={room.allpass} onPick={(allpass) => set({ allpass })} options={[["redeal", t("opt.redeal")], ["first", t("opt.first")]]} />, t(room.allpass === "redeal" ? "opt.redeal" : "opt.first")],
    [t("lobby.rooms"), <Seg label={t("lobby.rooms")} value={room.private} onPick={(p) => set({ private: p })} options={[[false, t("opt.public")], [true, t("opt.private")]]} />, t(room.private ? "opt.private" : "opt.public")],
  ];
  useApp((a) => a.settings.lang);
  return (
    <Box title={t("room.rules")}>
      <div class={`opts plain ${host ? "" : "read"}`}>{rows.map(([name, seg, text]) => <><span>{name}</span><div>{host ? seg : <b>{text}</b>}</div></>)}</div>
    </Box>
  );
}
