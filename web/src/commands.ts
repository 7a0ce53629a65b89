// What the lobby and the rooms do: send a command, go where its answer leads.
import { leave, send } from "./connection";
import { has, t, type Key } from "./i18n";
import type { Command, Message, RoomRules, Seat, Strength } from "./protocol";
import { get, go, listen, update } from "./store";

let toastTimer: ReturnType<typeof setTimeout> | undefined;
export function toast(text: string): void {
  update({ toast: text });
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => update({ toast: null }), 3000);
}

export const errorText = (code: string): string => (has(`err.${code}`) ? t(`err.${code}` as Key) : t("err.other", { code }));

/** Sends; an error is told to the player. */
export async function tell(c: Command): Promise<Message | null> {
  const m = await send(c);
  if (m.t !== "error") return m;
  toast(errorText(m.code));
  return null;
}

/** News that no command asked for: the room closed, too fast. */
listen((now, before) => {
  const e = now.net.error;
  if (e?.stray && e !== before.net.error) toast(errorText(e.code));
});

export const showCode = (room: string): string => (room.length === 8 ? `${room.slice(0, 4)}-${room.slice(4)}` : room);
export const readCode = (text: string): string => text.toUpperCase().replace(/^.*\/R\//, "").replace(/[^0-9A-Z]/g, "");
export const roomLink = (room: string): string => `${location.origin}/r/${showCode(room)}`;

async function enter(c: Command): Promise<void> {
  const m = await tell(c);
  if (m?.t === "ok" && m.room) go(`/r/${showCode(m.room)}`);
}

export const quick = (): Promise<void> => {
  const { quick: q, help, think } = get().settings;
  return enter({ t: "quick", ...q, help, think });
};
export const watchBots = (): Promise<void> => enter({ t: "watch" });
export const newRoom = (rules: RoomRules): Promise<void> => enter({ t: "room_new", name: t("room.name", { name: get().net.name }).slice(0, 12), ...rules, think: get().settings.think });
export const join = (room: string): Promise<void> => enter({ t: "room_join", room });
export const watch = (room: string): Promise<void> => enter({ t: "watch", room });
export const resumeAt = (game: string, ply: number, seat: Seat, strength: Strength): Promise<void> => enter({ t: "resume_at", game, ply, seat, strength });

export async function leaveRoom(): Promise<void> {
  go("/");
  leave();
  await send({ t: "room_leave" });
}

/** Leaving a game that runs is asked once. */
export function askLeave(): void {
  const g = get().net.game;
  if (g && g.me !== null && !g.end) update({ dialog: "leave" });
  else void leaveRoom();
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  toast(t("room.copied"));
}

/** The system's share sheet where there is one (phones), else the clipboard. */
export function share(url: string): void {
  if (matchMedia("(pointer: coarse)").matches && "share" in navigator) void navigator.share({ url }).catch(() => copy(url));
  else void copy(url);
}
