// The line to the server: connects, says hello, numbers commands, repeats unanswered ones after a break.
import { type Command, decode, type Message } from "./protocol";
import { isGameMessage, type Local, reduce } from "./state";
import { get, update } from "./store";

const VERSION = "1.0";
const RETRY_MS = [500, 1000, 2000, 4000, 8000];
const PING_MS = 10_000, SILENCE_MS = 25_000;

type Answer = Message & { id?: number | null };
type Waiting = { text: string; done: (m: Answer) => void };

let socket: WebSocket | null = null;
let tries = 0, lastId = 0, lastHeard = 0, pingAt = 0;
let retry: ReturnType<typeof setTimeout> | undefined;
const waiting = new Map<number, Waiting>();
/** The room that this page wants to be in after the next hello; undefined: the one it is in. */
let wanted: string | undefined;

function take(m: Message | Local): void {
  update({ net: reduce(get().net, m, Date.now()) });
}

function token(): string | undefined {
  try {
    return localStorage.getItem("ddz.token") ?? undefined;
  } catch {
    return get().net.token ?? undefined;
  }
}

function hello(): void {
  const { room, seq } = get().net;
  const code = wanted ?? room?.room;
  const known = room && code === room.room ? { seq } : {};
  socket?.send(JSON.stringify({ t: "hello", ver: VERSION, lang: get().settings.lang, token: token(), room: code, ...known }));
}

export function connect(room?: string): void {
  if (room) wanted = room;
  clearTimeout(retry);
  const url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
  const ws = (socket = new WebSocket(url, "ddz.v1"));
  ws.onopen = hello;
  ws.onmessage = (e) => {
    if (socket === ws && typeof e.data === "string") hear(e.data);
  };
  ws.onclose = () => {
    if (socket === ws) lost();
  };
}

function lost(): void {
  socket = null;
  const { link } = get().net;
  if (link === "moved" || link === "version" || link === "closed") return;
  take({ t: "line", link: tries === 0 && link === "connecting" ? "connecting" : "lost" });
  const wait = RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]!;
  retry = setTimeout(() => connect(), wait * (0.8 + 0.4 * Math.random()));
}

function hear(text: string): void {
  lastHeard = performance.now();
  const m = decode(text);
  if (m.t === "bad") {
    console.warn("message refused:", m.why);
    return;
  }
  if (m.t === "pong") return take({ t: "rtt", ms: Math.round(performance.now() - pingAt) });
  if (m.t === "welcome") welcome(m);
  take(m);
  if (m.t === "bye") socket?.close();
  if (get().net.gap && isGameMessage(m)) hello();
  const id = (m as Answer).id;
  const done = typeof id === "number" ? waiting.get(id) : undefined;
  if (done) {
    waiting.delete(id!);
    done.done(m as Answer);
  }
}

function welcome(m: Extract<Message, { t: "welcome" }>): void {
  tries = 0;
  wanted = undefined;
  lastId = Math.max(lastId, m.last_id ?? 0);
  try {
    localStorage.setItem("ddz.token", m.token);
  } catch { /* lasts as long as the page */ }
  for (const w of waiting.values()) socket?.send(w.text);
}

/** Sends a command; the promise is its answer, an `error` too. Unanswered ones are sent again after a break. */
export function send(c: Command): Promise<Answer> {
  const id = ++lastId;
  const text = JSON.stringify({ ...c, id });
  return new Promise((done) => {
    waiting.set(id, { text, done });
    if (socket?.readyState === WebSocket.OPEN && get().net.link === "online") socket.send(text);
  });
}

export function leave(): void {
  take({ t: "left" });
}
export function clearReview(): void {
  take({ t: "review.clear" });
}

/** This tab takes the session back from another. */
export function here(): void {
  take({ t: "line", link: "connecting" });
  tries = 0;
  connect();
}

/** Tries again at once: a press on "retry", the network is back, the tab is shown again. */
export function nudge(): void {
  if (socket || ["moved", "version"].includes(get().net.link)) return;
  tries = 0;
  connect();
}

setInterval(() => {
  if (socket?.readyState !== WebSocket.OPEN) return;
  pingAt = performance.now();
  if (lastHeard && pingAt - lastHeard > SILENCE_MS) return socket.close();
  socket.send(JSON.stringify({ t: "ping", c: Math.round(pingAt) }));
}, PING_MS);
addEventListener("online", nudge);
document.addEventListener("visibilitychange", () => document.hidden || nudge());
