// A small server that speaks docs/protocol.md, for working on the page without the real one: bots that
// play the cheapest legal move by the engine, invented statistics. node test/mock/main.mjs [port] [dist]
import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { WebSocketServer } from "ws";
import { Table } from "./table.mjs";
import { api } from "./figures.mjs";

const port = Number(process.argv[2] ?? 8765), dist = process.argv[3] ?? "dist";
const TYPE = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".wasm": "application/wasm" };

const http = createServer((req, res) => {
  const url = new URL(req.url, "http://x");
  if (url.pathname.startsWith("/api/")) return api(url, res, finished);
  let file = join(dist, url.pathname);
  if (!extname(file) || !existsSync(file)) file = join(dist, "index.html");
  res.setHeader("Content-Type", TYPE[extname(file)] ?? "application/octet-stream");
  res.end(readFileSync(file));
});

export const finished = new Map();
const rooms = new Map(), sessions = new Map();
let names = 0;
const word = (n) => Array.from({ length: n }, () => "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"[Math.floor(Math.random() * 32)]).join("");

const wss = new WebSocketServer({ server: http, path: "/ws", maxPayload: 4096, handleProtocols: (p) => (p.has("ddz.v1") ? "ddz.v1" : false) });
wss.on("connection", (ws) => {
  let me = null;
  const send = (m) => ws.readyState === 1 && ws.send(JSON.stringify(m));
  ws.on("message", (data) => {
    const m = JSON.parse(String(data));
    if (m.t === "ping") return send({ t: "pong", c: m.c, now: Date.now() });
    if (m.t === "hello") {
      me = sessions.get(m.token) ?? { token: word(32), name: ["青山", "白云", "流水"][names++ % 3], lastId: 0, room: null };
      sessions.set(me.token, me);
      me.send?.({ t: "bye", reason: "moved" });
      me.send = send;
      const room = rooms.get(m.room) ?? me.room;
      send({ t: "welcome", ver: "1.0", token: me.token, name: me.name, now: Date.now(), resumed: false, room: room?.code ?? null, net: "mock", last_id: me.lastId });
      if (room) room.enter(me);
      return;
    }
    me.lastId = Math.max(me.lastId, m.id ?? 0);
    command(me, m, send);
  });
  ws.on("close", () => {
    if (me?.send === send) me.send = null;
  });
});

function open(me, options) {
  const room = new Table(word(8), options, finished);
  rooms.set(room.code, room);
  me.room?.leave(me);
  me.room = room;
  return room;
}

function command(me, m, send) {
  const ok = (more = {}) => send({ t: "ok", id: m.id, ...more });
  const fail = (code) => send({ t: "error", id: m.id, code });
  const room = me.room;
  switch (m.t) {
    case "lobby":
      ok();
      return m.on && send({ t: "lobby", online: 5, rooms: [
        { room: "FRIDAYTE", name: "周五茶馆", people: 2, bots: 1, watchers: 3, state: "play" }, { room: "BEGNNERS", name: "新手桌", people: 1, bots: 0, watchers: 0, state: "wait" },
        { room: "WANGFRND", name: "老王和朋友", people: 2, bots: 0, watchers: 0, state: "wait" }] });
    case "quick": case "watch": case "resume_at": {
      const r = open(me, { rules: m.rules ?? "classic", time: m.time ?? 20, help: m.help ?? true, role: m.role ?? "bid", watch: m.t === "watch", strength: m.strength ?? "best" });
      ok({ room: r.code });
      r.enter(me);
      return r.begin();
    }
    case "room_new": {
      const r = open(me, { ...m, waiting: true });
      ok({ room: r.code });
      return r.enter(me);
    }
    case "room_join": {
      const r = rooms.get(m.room);
      if (!r) return fail("gone");
      me.room = r;
      ok({ room: r.code });
      return r.enter(me);
    }
    case "room_leave": room?.leave(me); me.room = null; return ok();
    case "review": ok(); return finished.get(m.game) && send({ t: "review", game: m.game, ...finished.get(m.game).review });
    default: return room ? room.command(me, m, ok, fail, send) : fail("bad_state");
  }
}

http.listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`));
