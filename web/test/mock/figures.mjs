// Invented answers of /api.

let seed = 7;
const rnd = () => ((seed = (seed * 16807) % 2147483647) / 2147483647) - 0.5;
const grow = (a, b, k, noise, n = 60) => Array.from({ length: n }, (_, i) => a + (b - a) * (1 - Math.exp((-k * i) / n)) + rnd() * noise);
const steps = Array.from({ length: 60 }, (_, i) => 1e4 + i * 137000);

function train() {
  const now = Date.now(), time = Array.from({ length: 60 }, (_, i) => now - (59 - i) * 60000);
  const band = (y, w) => ({ x: steps, y, lo: y.map((v) => v - w), hi: y.map((v) => v + w) });
  return {
    run: "default", state: "running", age_ms: 900, started: now - 24060000, frames: 8.21e6 * 40, games: 8.21e6, checkpoint: 42, command: "./run", baseline: "rule",
    series: { wp: band(grow(0.3, 0.585, 3.2, 0.012), 0.012), wp_landlord: band(grow(0.22, 0.52, 2.8, 0.02), 0.02), wp_farmers: band(grow(0.36, 0.648, 3.4, 0.02), 0.02), adp: band(grow(-0.9, 0.41, 3.4, 0.05), 0.06),
      loss_landlord: { x: steps, y: grow(1.4, 0.62, 4, 0.04) }, loss_down: { x: steps, y: grow(1.3, 0.55, 4, 0.04) }, loss_up: { x: steps, y: grow(1.2, 0.5, 4, 0.04) },
      fps: { x: time, y: grow(26e3, 27.9e3, 9, 1200) }, sps: { x: time, y: grow(35e3, 39e3, 9, 1600) } },
    nodes: [["learner-0", "learner", 0.92], ["actor-0", "actor", 0.97], ["actor-1", "actor", 0.96], ["actor-2", "actor", 0.61]].map(([name, kind, load]) => ({ name, kind, load, state: "up" })),
  };
}

export function api(url, res, finished) {
  const json = (v, status = 200) => {
    res.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
    res.end(JSON.stringify(v));
  };
  const path = url.pathname.slice(5);
  if (path === "stats") return json({ games: 128, ppg: 0.12, roles: { landlord: { games: 46, won: 21, ppg: 0.3, loss: 0.021 }, up: { games: 41, won: 24, ppg: 0.1, loss: 0.018 }, down: { games: 41, won: 23, ppg: -0.1, loss: 0.024 } }, bids: [60, 22, 14, 32], bombs: 31, springs: 4, points: Array.from({ length: 100 }, (_, i) => Math.round(4 * Math.sin(i * 1.3) + (i % 5 === 0 ? 3 : -1))) });
  if (path === "board") return json({ rows: [["DouNet-42", true, 4210, 1712, 0.41], ["青山", false, 182, 1588, 0.22], ["阿梅", false, 97, 1561, 0.15], ["DouNet-12", true, 3980, 1544, 0.08], ["老王", false, 64, 1502, -0.02]].map(([name, bot, games, rating, ppg], i) => ({ place: i + 1, name, bot, games, ppg, ppg_ci: 3 / Math.sqrt(games), rating, rating_ci: 400 / Math.sqrt(games), me: name === "青山" })) });
  if (path === "train") return json(train());
  if (path === "runs") return json({ runs: [{ run: "default", at: Date.now(), state: "running" }] });
  const rows = [...finished.values()].reverse().map(({ record: r }) => ({ game: r.game, at: r.at, rules: r.rules, role: r.me === null || r.landlord === r.me ? "landlord" : (r.landlord + 1) % 3 === r.me ? "down" : "up", won: r.end.points[r.me ?? r.landlord] > 0, points: r.end.points[r.me ?? r.landlord], names: r.names, seat: r.me ?? r.landlord, plies: r.plays.length, rated: true }));
  if (path === "games" || path === "games/recent") return json({ games: rows, more: false });
  const id = path.match(/^games\/(\w+)$/)?.[1];
  if (id && finished.has(id)) return json(finished.get(id).record);
  return json({ error: "gone" }, 404);
}
