// Replays, links, records up and down, lists, statistics.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch, player, playOut, quick, Server } from "./harness.mjs";

const server = new Server();
let browser, page;
before(async () => {
  await server.start();
  browser = await launch();
  page = await player(browser, server);
  await quick(page);
  await playOut(page);
  await page.waitForSelector(".panel .note:not(.mut)");
  await page.click('.panel .btn:has-text("复盘")');
  await page.waitForSelector(".hr");
});
after(async () => {
  await browser?.close();
  await server.stop();
});

const place = async () => Number((await page.textContent(".rp .sec-h .num")).match(/(\d+) \/ \d+/)[1]);
const last = async () => Number((await page.textContent(".rp .sec-h .num")).match(/\/ (\d+)/)[1]);
const cardsShown = () => page.$$eval(".hand .card, .layer .card", (els) => new Set(els.map((e) => e.dataset.card)).size);

test("steps, ends, jump, run, speed", async () => {
  const n = await last();
  assert.equal((await page.$$(".hr")).length, n);
  assert.equal(await place(), 0);
  assert.equal(await cardsShown(), 54);
  await page.keyboard.press("ArrowRight");
  assert.equal(await place(), 1);
  await page.keyboard.press("End");
  assert.equal(await place(), n);
  await page.keyboard.press("Home");
  await page.click('.ctl [aria-label="下一手"]');
  await page.locator(".hr").nth(4).click();
  assert.equal(await place(), 5);
  await page.waitForFunction(() => location.hash === "#5"); // written after the move is drawn
  const box = await (await page.$(".curve")).boundingBox();
  await page.mouse.click(box.x + box.width - 12, box.y + 30);
  assert.ok((await place()) >= n - 1);
  await page.keyboard.press("Home");
  for (let i = 0; i < 2; i++) await page.click(".ctl .btn");
  assert.equal(await page.textContent(".ctl .btn"), "4×");
  await page.click('.ctl [aria-label="播放"]');
  await page.waitForFunction(() => Number(document.querySelector(".rp .sec-h .num").textContent.match(/(\d+) \//)[1]) >= 3);
  await page.click('.ctl [aria-label="暂停"]');
  const stopped = await place();
  await page.waitForTimeout(600);
  assert.equal(await place(), stopped);
});

test("the curve and the bot's view of each move", async () => {
  await page.waitForSelector(".hr .q:not(:empty)");
  const path = await page.getAttribute(".curve .line", "d");
  assert.ok(path.split("L").length >= 3, "the curve has points");
  await page.locator(".hr").first().click();
  assert.match(await page.textContent(".rev"), /AI 会/);
});

test("a link opens the same move for somebody else", async () => {
  await page.locator(".hr").nth(6).click();
  const other = await player(browser, server, { lang: "en", path: new URL(page.url()).pathname + "#7" });
  await other.waitForSelector(".hr.on");
  assert.match(await other.textContent(".rp .sec-h .num"), /7 \/ \d+/);
  assert.deepEqual(other.problems, []);
  await other.context().close();
});

test("a record goes down and up again", async () => {
  const [down] = await Promise.all([page.waitForEvent("download"), page.click('[aria-label="下载"]')]);
  const bytes = readFileSync(await down.path());
  assert.ok(bytes.length > 30 && bytes.length <= 512, `${bytes.length} bytes`);
  await page.click('.nav a[href="/replays"]');
  await page.setInputFiles("input[type=file]", { name: "game.ddz", mimeType: "application/octet-stream", buffer: bytes });
  await page.waitForSelector(".hr");
  await page.click('.nav a[href="/replays"]');
  const broken = Buffer.from(bytes);
  broken[broken.length >> 1] ^= 0x55;
  await page.setInputFiles("input[type=file]", { name: "game.ddz", mimeType: "application/octet-stream", buffer: broken });
  await page.waitForSelector(".toast");
});

test("play on from a position", async () => {
  await page.goBack();
  await page.waitForSelector(".hr");
  await page.locator(".hr").nth(3).click();
  await page.waitForSelector(".rev .btn");
  await page.click(".rev .btn");
  await page.waitForSelector(".table .hand .card");
  await page.waitForSelector(".row .btn[data-id=play]");
  assert.match(page.url(), /\/r\//);
});

test("lists, figures and ranking", async () => {
  await page.goto(server.url + "/me");
  await page.waitForSelector(".list tbody tr td a");
  assert.match(await page.textContent(".list tbody"), /地主/);
  await page.fill(".nameform input", "小明");
  await page.click(".nameform .btn");
  await page.waitForFunction(() => document.querySelector(".nameform .btn").disabled);
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".nameform input")?.value === "小明");
  await page.goto(server.url + "/rank");
  await page.waitForSelector(".under");
  assert.deepEqual(page.problems, []);
});
