// Whole games by clicks against a real server with a real net.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { act, chosen, hand, launch, player, playOut, quick, Server, waitTurn } from "./harness.mjs";

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

test("a game with bidding, its sum, a rematch", async () => {
  const page = await player(browser, server);
  await quick(page, { role: "bid" });
  assert.equal((await hand(page)).length, 17);
  await playOut(page);
  const points = await page.$$eval(".panel tbody tr td:last-child", (els) => els.map((e) => Number(e.textContent.replace("−", "-"))));
  assert.equal(points.length, 3);
  assert.equal(points.reduce((a, b) => a + b), 0);
  assert.equal(points.filter((p) => Math.abs(p) === Math.max(...points.map(Math.abs))).length, 1, "the landlord stands alone");
  const calc = await page.textContent(".calc");
  const factors = [...calc.matchAll(/×(\d+)|叫分 (\d+)/g)].map((m) => Number(m[1] ?? m[2]));
  const stake = Number(calc.match(/=(\d+)/)[1]);
  assert.equal(factors.reduce((a, b) => a * b, 1), stake);
  assert.equal(Math.max(...points.map(Math.abs)), 2 * stake);
  await page.waitForSelector(".panel .note:not(.mut)");
  const game = await page.evaluate(() => document.querySelectorAll(".lr").length);
  assert.ok(game > 4);
  await page.click(".panel .btn.pri");
  await page.waitForSelector(".panel", { state: "detached" });
  assert.ok((await hand(page)).length >= 17);
  await playOut(page);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("a chosen seat: the landlord has 20 cards and leads, a farmer 17", async () => {
  const page = await player(browser, server);
  await quick(page, { role: "landlord" });
  assert.equal((await hand(page)).length, 20);
  assert.equal(await waitTurn(page), "act");
  assert.equal(await page.isDisabled("[data-id=pass]"), true, "the leader may not pass");
  assert.equal(await page.textContent(".seat.me .role"), "地主");
  await page.click("[data-id=leave]");
  await page.click(".dialog .btn.pri");
  await page.waitForSelector(".hero h1");
  await quick(page, { role: "farmer" });
  assert.equal((await hand(page)).length, 17);
  assert.equal(await page.textContent(".seat.me .role"), "农民");
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("hints go through the legal plays; suggestions choose and play", async () => {
  const page = await player(browser, server);
  await quick(page);
  await waitTurn(page);
  await page.waitForSelector(".side .ai"); // suggestions come first in the hints: their coming changes the order
  const seen = new Set();
  for (let i = 0; i < 5; i++) {
    const last = (await chosen(page)).join();
    await page.click("[data-id=hint]");
    await page.waitForFunction((l) => ![l, ""].includes([...document.querySelectorAll('.hand .card[aria-selected="true"]')].map((e) => e.dataset.card).join()), last);
    const cards = await chosen(page);
    assert.equal(await page.getAttribute("[data-id=play]", "aria-disabled"), null, "a hint is legal");
    seen.add(cards.join());
  }
  assert.equal(seen.size, 5, "each hint is another play");
  await page.keyboard.press("Shift+H");
  assert.ok(seen.has((await chosen(page)).join()));
  const rows = await page.$$(".side .ai");
  assert.equal(rows.length, 3);
  const wins = await page.$$eval(".side .ai .v", (els) => els.map((e) => parseFloat(e.textContent)));
  assert.deepEqual(wins, [...wins].sort((a, b) => b - a), "best first");
  await page.keyboard.press("Escape"); // so that the first press chooses, and does not play
  assert.deepEqual(await chosen(page), []);
  await rows[0].click();
  const best = await chosen(page);
  assert.ok(best.length > 0);
  await (await page.$$(".side .ai"))[0].click();
  await page.waitForFunction((n) => document.querySelectorAll(".hand .card").length === n, 20 - best.length);
  await page.context().close();
});

test("an illegal choice says what is missing and is not sent", async () => {
  const page = await player(browser, server, { smart: false });
  await quick(page);
  await waitTurn(page);
  const cards = await hand(page), rank = (c) => (c < 52 ? c >> 2 : c - 39);
  const low = cards.at(-1), other = cards.find((c) => rank(c) > rank(low) + 1 && rank(c) < 12);
  for (const c of [low, other]) await page.locator(`.hand .card[data-card="${c}"]`).click({ position: { x: 8, y: 20 } });
  await page.waitForSelector(".combo.bad");
  assert.deepEqual((await chosen(page)).sort(), [low, other].sort());
  assert.equal(await page.getAttribute("[data-id=play]", "aria-disabled"), "true");
  await page.click("[data-id=play]", { force: true });
  assert.equal((await hand(page)).length, 20);
  await page.keyboard.press("Escape");
  await page.waitForSelector(".combo.bad", { state: "detached" });
  assert.deepEqual(await chosen(page), []);
  await page.context().close();
});

test("undo, the bots' open hands, hosting", async () => {
  const page = await player(browser, server);
  await quick(page);
  await waitTurn(page);
  const start = await hand(page);
  await act(page, "act");
  if ((await waitTurn(page)) === "act") {
    const moves = await page.$$eval(".lr", (els) => els.length);
    await page.click(".tools .btn >> nth=1");
    await page.waitForFunction((n) => document.querySelectorAll(".lr").length < n, moves);
    assert.deepEqual(await hand(page), start, "the cards are back");
  }
  await page.click(".tools .btn >> nth=0");
  await page.waitForFunction(() => document.querySelectorAll(".layer .card").length >= 34);
  await page.click("[data-id=host]");
  // Bots that think 0 ms may be through before the veil is seen.
  await page.waitForFunction(() => document.querySelector(".veil.on") || document.querySelector(".panel h2"));
  await page.waitForFunction(() => document.querySelectorAll(".hand .card").length < 20 || document.querySelector(".panel h2"), null);
  if (!(await page.$(".panel h2"))) await page.click(".veil", { timeout: 3000 }).catch(() => undefined);
  await page.waitForSelector(".veil.on", { state: "detached" }).catch(() => undefined);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("time out: the server plays for the seat", async () => {
  const page = await player(browser, server, { help: false, autopass: false });
  await quick(page, { time: 10 });
  await waitTurn(page);
  assert.equal((await hand(page)).length, 20);
  const shown = Number(await page.textContent(".tm b"));
  assert.ok(shown >= 3 && shown <= 10, `the clock shows ${shown}`);
  await page.waitForFunction(() => document.querySelectorAll(".hand .card").length < 20);
  await page.context().close();
});
