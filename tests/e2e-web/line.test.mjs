// Lost lines, killed servers, several people at one table.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { act, hand, launch, player, playOut, quick, Server, waitTurn } from "./harness.mjs";

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

const moves = (page) => page.$$eval(".log .lr .m", (els) => els.map((e) => e.textContent));

test("kill -9 in the middle of a game loses no move", async () => {
  const page = await player(browser, server);
  await quick(page);
  for (let i = 0; i < 3; i++) {
    const what = await waitTurn(page);
    if (what === "end") break;
    await act(page, what);
  }
  const what = await waitTurn(page);
  if (what !== "end") {
    const before = { cards: await hand(page), moves: await moves(page), url: page.url() };
    await server.kill9();
    await page.waitForSelector(".banner[role=status]");
    assert.equal((await hand(page)).length, before.cards.length, "the hand stays visible");
    await server.start();
    await page.waitForSelector(".banner", { state: "detached" });
    assert.deepEqual(await hand(page), before.cards);
    assert.deepEqual(await moves(page), before.moves);
    assert.equal(page.url(), before.url);
    await waitTurn(page);
    await playOut(page);
  }
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("what the server says before the first frame is drawn is not lost", async () => {
  const page = await player(browser, server);
  await page.addInitScript(() => { // frames come late, as on a busy phone
    const frame = requestAnimationFrame;
    window.requestAnimationFrame = (f) => setTimeout(() => frame(f), 500);
  });
  await page.reload();
  await page.waitForSelector(".hero .btn.pri:not(:disabled)");
  await page.waitForSelector(".dot:not(.amber):not(.off)", { state: "attached" });
  await page.context().close();
});

test("a reload comes back to the same game", async () => {
  const page = await player(browser, server);
  await quick(page);
  await waitTurn(page);
  const cards = await hand(page);
  await page.reload();
  await page.waitForSelector(".hand .card");
  assert.deepEqual(await hand(page), cards);
  assert.equal(await waitTurn(page), "act");
  await page.context().close();
});

test("the same session elsewhere: the first tab says so and can take it back", async () => {
  const page = await player(browser, server);
  await quick(page);
  await waitTurn(page);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.waitForSelector(".hand .card");
  await page.waitForSelector(".banner .btn.pri");
  await page.click(".banner .btn.pri");
  await page.waitForSelector(".banner", { state: "detached" });
  await other.waitForSelector(".banner .btn.pri");
  await page.context().close();
});

test("a room by link: two people and a bot, a watcher, phrases", async () => {
  const host = await player(browser, server, { help: false });
  await host.click(".bh .btn");
  await host.waitForSelector(".seatcard");
  const link = await host.inputValue(".share input");
  const path = new URL(link).pathname;
  const friend = await player(browser, server, { lang: "en", path });
  await friend.waitForSelector(".seatcard.mine");
  await friend.click(".hero .btn.pri");
  await host.locator(".seatcard .acts .btn").first().click();
  await host.waitForSelector(".hero .btn.pri:not(:disabled)");
  await host.click(".hero .btn.pri");
  await Promise.all([host, friend].map((p) => p.waitForSelector(".hand .card")));
  const watcher = await player(browser, server, { path });
  await watcher.waitForSelector(".hand .card.back");
  const mine = new Set(await hand(host)), theirs = await hand(friend);
  assert.ok(theirs.every((c) => !mine.has(c)), "no card is in two hands");
  // The bot may have ended the bidding already, and led: its play and the three cards all may see.
  const seen = await watcher.$$eval(".layer .card:not(.back), .hand .card:not(.back)", (els) => els.map((e) => Number(e.dataset.card)));
  assert.deepEqual(seen.filter((c) => mine.has(c) || theirs.includes(c)), [], "a watcher sees no card of a hand");
  await host.click("[data-id=talk]");
  await host.click(".phrases .btn >> nth=1");
  await friend.waitForFunction(() => [...document.querySelectorAll(".bubble")].some((b) => b.textContent === "Well played"));
  for (let done = false; !done; ) {
    for (const p of [host, friend]) {
      const what = await p.evaluate(() => (document.querySelector(".panel h2") ? "end" : document.querySelector(".row .btn[data-id=bid3]") ? "bid" : document.querySelector(".row .btn[data-id=hint]") ? "act" : null));
      if (what === "end") done = true;
      else if (what) await act(p, what);
    }
    await host.waitForTimeout(20);
  }
  await Promise.all([friend, watcher].map((p) => p.waitForSelector(".panel h2")));
  for (const p of [host, friend, watcher]) {
    assert.deepEqual(p.problems, []);
    await p.context().close();
  }
});

test("a room that is not there", async () => {
  const page = await player(browser, server, { path: "/r/ZZZZ-ZZZZ" });
  await page.waitForSelector(".sorry h1");
  await page.click(".sorry .btn");
  await page.waitForSelector(".hero h1");
  await page.context().close();
});
