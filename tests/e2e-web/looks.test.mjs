// Sizes, languages, themes, input by touch and mouse, and what axe says of every screen.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { act, chosen, hand, launch, player, playOut, quick, Server, SIZES, waitTurn } from "./harness.mjs";

const axe = readFileSync(new URL("../../web/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const server = new Server();
let browser;
before(async () => {
  await server.start();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server.stop();
});

async function clean(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const r = await globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] });
    return r.violations.map((v) => `${v.id} (${v.impact}): ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(" | ")}`);
  });
  assert.deepEqual(found, [], where);
}

/** The choice is drawn with the next frame. */
async function shown(page, cards, what) {
  const want = cards.join();
  await page.waitForFunction((w) => [...document.querySelectorAll('.hand .card[aria-selected="true"]')].map((e) => e.dataset.card).join() === w, want, { timeout: 30_000 }).catch(() => undefined);
  assert.deepEqual(await chosen(page), cards, what);
}

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

for (const theme of ["light", "dark"])
  test(`axe finds nothing, ${theme}`, async () => {
    const page = await player(browser, server, { theme, lang: theme === "light" ? "zh" : "en" });
    await page.waitForTimeout(500);
    await clean(page, "lobby");
    await page.click('[aria-label="设置"], [aria-label="Settings"]');
    await clean(page, "settings");
    await page.keyboard.press("Escape");
    for (const path of ["/rules", "/replays", "/rank", "/me", "/train"]) {
      await page.goto(server.url + path);
      await page.waitForTimeout(600);
      await clean(page, path);
    }
    await page.goto(server.url + "/");
    await page.waitForSelector(".hero .btn.pri:not(:disabled)");
    await quick(page, { role: "bid" });
    await clean(page, "bidding");
    while ((await waitTurn(page)) === "bid") await act(page, "bid");
    await clean(page, "playing");
    await playOut(page);
    await clean(page, "end");
    await page.click('.panel .btn:has-text("复盘"), .panel .btn:has-text("Review")');
    await page.waitForSelector(".hr");
    await clean(page, "replay");
    await page.goto(server.url + "/");
    await page.waitForSelector(".hero .btn.pri:not(:disabled)");
    await page.click(".bh .btn");
    await page.waitForSelector(".seatcard");
    await clean(page, "room");
    assert.deepEqual(page.problems, []);
    await page.context().close();
  });

test("axe finds nothing on a phone", async () => {
  for (const size of ["upright", "sideways"]) {
    const page = await player(browser, server, { size, lang: "en" });
    await clean(page, `lobby ${size}`);
    await quick(page);
    await waitTurn(page);
    await clean(page, `playing ${size}`);
    await page.click("header .only-small.keep");
    await page.waitForTimeout(300);
    await clean(page, `panel ${size}`);
    await page.context().close();
  }
});

for (const size of Object.keys(SIZES))
  test(`a press on each card's stripe chooses that card, ${size}`, async () => {
    const page = await player(browser, server, { size, smart: false });
    await quick(page);
    await waitTurn(page);
    assert.ok((await overflow(page)) <= 0, "no horizontal overflow");
    const cards = await hand(page);
    assert.equal(cards.length, 20);
    const boxes = await page.$$eval(".hand .card", (els) => els.map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.top]));
    for (let i = 0; i < 20; i++) {
      const [x, y] = boxes[i];
      if (size === "desktop") await page.mouse.click(x + 9, y + 12);
      else await page.touchscreen.tap(x + 9, y + 12);
      await shown(page, [cards[i]], `card ${i}`);
      await page.keyboard.press("Escape");
      await shown(page, [], "cleared");
    }
    await page.context().close();
  });

test("a drag chooses a run of cards, and back again undoes", async () => {
  const page = await player(browser, server, { smart: false });
  await quick(page);
  await waitTurn(page);
  const cards = await hand(page);
  const boxes = await page.$$eval(".hand .card", (els) => els.map((e) => e.getBoundingClientRect()).map((b) => [b.left + 10, b.top + 40]));
  await page.mouse.move(...boxes[4]);
  await page.mouse.down();
  await page.mouse.move(...boxes[9], { steps: 8 });
  await shown(page, cards.slice(4, 10));
  await page.mouse.move(...boxes[6], { steps: 4 });
  await page.mouse.up();
  await shown(page, cards.slice(4, 7));
  await page.mouse.click(300, 300);
  await shown(page, [], "a press on the felt clears");
  await page.context().close();
});

test("the keyboard alone plays", async () => {
  const page = await player(browser, server, { lang: "en" });
  await quick(page);
  await waitTurn(page);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => document.querySelectorAll('.hand .card[aria-selected="true"]').length === 1);
  await page.keyboard.press("Escape");
  await shown(page, [], "Escape clears");
  await page.keyboard.press("h");
  await page.waitForSelector('.hand .card[aria-selected="true"]');
  const n = (await chosen(page)).length;
  assert.ok(n > 0);
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("Enter");
  await page.waitForFunction((k) => document.querySelectorAll(".hand .card").length === k, 20 - n);
  await page.keyboard.press("?");
  await page.waitForSelector(".keys");
  await page.context().close();
});

test("languages: chosen by the browser, switched, kept", async () => {
  const page = await player(browser, server, { lang: "en" });
  assert.equal(await page.textContent("h1"), "Play DouDizhu against a strong bot");
  assert.equal(await page.getAttribute("html", "lang"), "en");
  await page.click('[aria-label="Settings"]');
  await page.click("text=中文");
  await page.keyboard.press("Escape");
  assert.equal(await page.textContent("h1"), "和强手下一局斗地主");
  await page.reload();
  await page.waitForSelector("h1");
  assert.equal(await page.textContent("h1"), "和强手下一局斗地主");
  assert.equal(await page.getAttribute("html", "lang"), "zh-CN");
  await page.context().close();
});

test("no screen is wider than a phone", async () => {
  for (const size of ["upright", "sideways", "small"]) {
    const page = await player(browser, server, { size, lang: "en" });
    for (const path of ["/", "/rules", "/replays", "/rank", "/me", "/train"]) {
      await page.goto(server.url + path);
      await page.waitForTimeout(300);
      assert.ok((await overflow(page)) <= 0, `${path} at ${size}`);
    }
    await page.context().close();
  }
});

test("the dashboard draws a run, and says when one is stale or lost", async () => {
  const page = await player(browser, server);
  const x = Array.from({ length: 30 }, (_, i) => 1e5 * (i + 1)), y = x.map((_, i) => 0.3 + i / 100);
  const run = (more) => ({ run: "r", state: "running", age_ms: 500, started: Date.now() - 3.6e6, frames: 3e6, games: 5e4, checkpoint: 3, command: "dizhu train", baseline: "rule", nodes: [{ name: "learner", kind: "learner", load: 0.5, state: "up" }, { name: "actor 1", kind: "actor", load: 0, state: "lost" }], series: { wp: { x, y, lo: y.map((v) => v - 0.02), hi: y.map((v) => v + 0.02) }, loss_landlord: { x, y: y.map((v) => 1 / v) } }, ...more });
  let answer = run({});
  await page.route("**/api/train*", (r) => r.fulfill({ json: answer }));
  await page.route("**/api/runs", (r) => r.fulfill({ json: { runs: [] } }));
  await page.click('.nav a[href="/train"]');
  await page.waitForSelector(".plot canvas");
  assert.equal(await page.textContent(".stat b"), "50,000");
  assert.match(await page.textContent("tr.lost"), /掉线/);
  await clean(page, "dashboard");
  answer = run({ age_ms: 400_000, state: "stale", series: { loss_landlord: { x, y: [...y.slice(1), "nan"] } } });
  await page.waitForSelector(".bar.red[role=alert]");
  assert.equal((await page.$$(".bar.red")).length, 2);
  await page.click('.tbar button:has-text("数据表")');
  await page.waitForSelector("tbody th");
  await clean(page, "dashboard's table, alarms");
  assert.deepEqual(page.problems, []);
  await page.context().close();
});
