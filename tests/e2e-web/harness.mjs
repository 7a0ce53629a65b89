// A real server with a real net, and a real browser. The server's folder, port and database last for one
// test file; `kill9` and `start` let a test end and restart it.
import { spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync, writeSync, closeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const BUILD = resolve(process.env.DIZHU_BUILD ?? "build/release");
export const SIZES = { desktop: [1280, 800], upright: [390, 844], sideways: [844, 390], small: [320, 568] };
/** For anything that must come in the end, however slow the machine is. */
export const WAIT_MS = 180_000;
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Random weights of a whole net: three seats, fp32 (docs/weights.md). */
function writeNet(path) {
  const tensors = [];
  for (const [seat, inputs] of [["landlord", 501], ["landlord_down", 612], ["landlord_up", 612]]) {
    const add = (name, ...shape) => tensors.push([`${seat}.${name}`, shape]);
    add("lstm.weight_ih_l0", 512, 162);
    add("lstm.weight_hh_l0", 512, 128);
    add("lstm.bias_ih_l0", 512);
    add("lstm.bias_hh_l0", 512);
    for (let i = 1; i <= 6; i++) {
      add(`dense${i}.weight`, i === 6 ? 1 : 512, i === 1 ? inputs : 512);
      add(`dense${i}.bias`, i === 6 ? 1 : 512);
    }
  }
  const head = {};
  let at = 0;
  for (const [name, shape] of tensors) {
    const n = 4 * shape.reduce((a, b) => a * b, 1);
    head[name] = { dtype: "F32", shape, data_offsets: [at, at + n] };
    at += n;
  }
  let text = JSON.stringify(head);
  text += " ".repeat((8 - (text.length % 8)) % 8);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  let seed = 12345;
  const random = () => ((seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff - 0.5);
  const file = openSync(path, "w");
  writeSync(file, length);
  writeSync(file, text);
  for (const [, shape] of tensors) {
    const scale = 2 / Math.sqrt(shape[1] ?? 512);
    writeSync(file, Buffer.from(Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => scale * random()).buffer));
  }
  closeSync(file);
}

export class Server {
  constructor() {
    this.dir = mkdtempSync(join(tmpdir(), "dizhu-e2e-"));
    this.model = process.env.DIZHU_MODEL ?? join(this.dir, "net.safetensors");
    if (!process.env.DIZHU_MODEL) writeNet(this.model);
    this.port = 0;
  }

  async start() {
    const args = ["--port", String(this.port), "--db", join(this.dir, "games.sqlite"), "--model", this.model, "--web", process.env.DIZHU_PAGE ?? join(BUILD, "page"), "--think", "0"];
    this.child = spawn(join(BUILD, "dizhu-serve"), args, { stdio: ["ignore", "pipe", openSync(join(this.dir, "log.txt"), "a")] });
    this.url = await new Promise((done, fail) => {
      let text = "";
      this.child.stdout.on("data", (d) => {
        text += d;
        const m = text.match(/http:\/\/[^\s/]+:(\d+)/);
        if (m) {
          this.port = Number(m[1]);
          done(m[0]);
        }
      });
      this.child.on("exit", (code) => fail(new Error(`the server ended with ${code}: ${readFileSync(join(this.dir, "log.txt"), "utf8").slice(-2000)}`)));
    });
  }

  async end(signal) {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((done) => this.child.once("exit", done));
    this.child.removeAllListeners("exit");
    this.child.once("exit", () => undefined);
    const ended = new Promise((done) => this.child.once("close", done));
    this.child.kill(signal);
    await Promise.race([gone, ended]);
  }
  kill9() { return this.end("SIGKILL"); }
  async stop() {
    await this.end("SIGTERM");
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });

/** A new player with an empty browser. Errors of the page fail the test through `problems`. */
export async function player(browser, server, { size = "desktop", lang = "zh", theme = "light", path = "/", ...settings } = {}) {
  const [width, height] = SIZES[size], touch = size !== "desktop";
  const context = await browser.newContext({ viewport: { width, height }, hasTouch: touch, isMobile: touch, locale: lang === "zh" ? "zh-CN" : "en-US", acceptDownloads: true });
  await context.addInitScript((s) => {
    if (!localStorage.getItem("ddz.settings")) localStorage.setItem("ddz.settings", JSON.stringify(s));
  }, { sawRules: true, tips: 3, motion: "none", sound: false, think: 0, theme, ...settings });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (e) => page.problems.push(e.message));
  page.on("console", (m) => {
    if (m.type() === "error" && !/WebSocket|Failed to load resource/.test(m.text())) page.problems.push(m.text());
  });
  await page.goto(server.url + path);
  await page.waitForSelector(".dot:not(.amber):not(.off)", { state: "attached" });
  return page;
}

/** What the page waits for: "bid", "act" (my turn to play), "end"; or "lost" when another became landlord while bidding. */
export const waitTurn = (page, timeout = WAIT_MS) => page.waitForFunction(() => {
  const on = (s) => document.querySelector(s);
  return on(".panel h2") ? "end" : on(".row .btn[data-id=bid3]") ? "bid" : on(".row .btn[data-id=hint]") ? "act" : null;
}, null, { timeout }).then((h) => h.jsonValue());

/** My next action by clicks: bids the highest that is allowed, takes the first hint, passes if nothing beats. */
export async function act(page, what) {
  const before = await page.evaluate(() => document.querySelectorAll(".lr").length);
  if (what === "bid") {
    const bids = await page.$$(".row .btn:not(:disabled)");
    await bids.at(-1).click();
  } else {
    const hint = await page.$(".row .btn[data-id=hint]:not(:disabled)");
    if (hint) {
      await hint.click();
      await page.waitForFunction(() => document.querySelector(".row .btn[data-id=play]:not([aria-disabled]):not(:disabled)") || !document.querySelector(".row .btn[data-id=hint]"));
      const play = await page.$(".row .btn[data-id=play]:not([aria-disabled])");
      if (play) await play.click({ timeout: 30_000 }).catch(() => undefined);
    } else await page.click(".row .btn[data-id=pass]", { timeout: 3000 }).catch(() => undefined); // the automatic pass may be first
  }
  await page.waitForFunction((n) => document.querySelectorAll(".lr").length > n || document.querySelector(".panel h2"), before);
}

/** Plays to the end; gives the number of own actions. */
export async function playOut(page) {
  for (let n = 0; n < 120; n++) {
    const what = await waitTurn(page);
    if (what === "end") return n;
    await act(page, what);
  }
  throw new Error("the game does not end");
}

export async function quick(page, { role = "landlord", time = 0 } = {}) {
  const label = { bid: ["叫分", "Bid"], landlord: ["地主", "Landlord"], farmer: ["农民", "Farmer"] }[role];
  await page.locator(".hero .seg").nth(1).locator("button").filter({ hasText: new RegExp(`^(${label.join("|")})$`) }).click();
  await page.locator(".hero .seg").nth(3).locator("button").nth([10, 20, 40, 0].indexOf(time)).click();
  await page.click(".hero .btn.pri");
  await page.waitForSelector(".hand .card");
}

// The table draws in the next frame; what is read before it is what was there before the last press.
const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done())));
const cards = async (page, selector) => {
  await drawn(page);
  return page.$$eval(selector, (els) => els.map((e) => Number(e.dataset.card)));
};
export const hand = (page) => cards(page, ".hand .card");
export const chosen = (page) => cards(page, '.hand .card[aria-selected="true"]');
