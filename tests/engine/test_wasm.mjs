// engine.wasm against the native program on the golden positions, under every ruleset; and records
// replayed step by step.  node test_wasm.mjs ENGINE_WASM DIZHU SOURCE_DIR
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const [wasmPath, dizhu, source] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(wasmPath));
const wasm = instance.exports;
const RULESETS = ["douzero", "rlcard", "botzone", "botzone1", "classic"];
const RANKS = "3456789TJQKA2BR";
const PHASE_PLAY = 1, PHASE_OVER = 2, PHASE_VOID = 3;

const handOf = (text) => [...text].reduce((h, c) => h + (1n << BigInt(4 * RANKS.indexOf(c))), 0n);
const textOf = (hand) => [...RANKS].map((c, r) => c.repeat(Number((hand >> BigInt(4 * r)) & 15n))).join("") || "pass";
const list = (n) => [...new BigUint64Array(wasm.memory.buffer, wasm.dz_moves_buffer(), n)].map(textOf);
const unsigned = (hand) => BigInt.asUintN(64, hand);

function positions() {
  const lines = gunzipSync(readFileSync(`${source}/tests/golden/legal_positions.jsonl.gz`)).toString().trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

// The native program's answers.
function native(rules, questions) {
  const input = questions.map((q) => `${q.hand} ${q.last}`).join("\n") + "\n";
  const r = spawnSync(dizhu, ["moves", "--rules", rules, "--stdin", "--json"], { input, maxBuffer: 1 << 28 });
  assert.equal(r.status, 0, `dizhu moves: ${r.error ?? r.stderr}`);
  return r.stdout.toString().trim().split("\n").map((line) => JSON.parse(line));
}

function movesAgree() {
  const all = positions();
  assert.equal(all.length, 4000);
  let compared = 0;
  RULESETS.forEach((rules, id) => {
    // Under `douzero` the native program also answers plays of other rulesets; a page never has to.
    const known = all.filter((q) => q.last === "" || (wasm.dz_classify(id, handOf(q.last)) & 255) !== 0);
    const want = native(rules, known);
    assert.equal(want.length, known.length);
    known.forEach((q, i) => {
      const n = wasm.dz_moves(id, handOf(q.hand), handOf(q.last));
      const got = list(n).concat(q.last ? ["pass"] : []).sort();
      assert.deepEqual(got, want[i], `${rules}: hand ${q.hand} last ${q.last}`);
      compared++;
    });
  });
  assert.ok(compared > 18000, `only ${compared} compared`);
  return compared;
}

function badArguments() {
  assert.equal(wasm.dz_moves(9, handOf("3"), 0n), -1);
  assert.equal(wasm.dz_moves(-1, handOf("3"), 0n), -1);
  assert.equal(wasm.dz_moves(0, handOf("33333"), 0n), -1);
  assert.equal(wasm.dz_moves(0, 0x0114444444444444n, 0n), -1);
  assert.equal(wasm.dz_moves(2, handOf("3"), handOf("34")), -1);
  assert.equal(wasm.dz_classify(0, handOf("34")) & 255, 0);
  assert.equal(wasm.dz_classify(0, -1n) & 255, 0);
  assert.equal(wasm.dz_classify(7, handOf("3")), 0);
}

function open(bytes) {
  new Uint8Array(wasm.memory.buffer, wasm.dz_record_buffer(), 512).set(bytes.subarray(0, 512));
  return wasm.dz_record_open(bytes.length);
}

// Walks an open record: every move must be among the legal ones, the hands must shrink by it.
function walk() {
  const n = wasm.dz_record_moves(), moves = [];
  for (let i = 0; i < n; i++) {
    assert.equal(wasm.dz_record_goto(i), 0);
    assert.equal(wasm.dz_game_phase(), PHASE_PLAY);
    const seat = wasm.dz_game_turn(), move = unsigned(wasm.dz_record_move(i));
    const before = unsigned(wasm.dz_game_hand(seat));
    assert.ok(list(wasm.dz_game_legal()).includes(textOf(move)));
    assert.equal(wasm.dz_record_goto(i + 1), 0);
    assert.equal(unsigned(wasm.dz_game_hand(seat)), before - move);
    moves.push(textOf(move));
  }
  assert.ok(wasm.dz_game_phase() === (n ? PHASE_OVER : PHASE_VOID));
  assert.equal(wasm.dz_record_goto(n + 1), -1);
  return moves;
}

function records() {
  const page = readFileSync(`${source}/docs/record.md`, "utf8");
  const hex = page.split("```hex")[1].split("```")[0].replace(/#.*/g, "").match(/[0-9a-f]{2}/g);
  const example = Uint8Array.from(hex.map((b) => parseInt(b, 16)));
  assert.equal(open(example), 0);
  assert.equal(wasm.dz_game_landlord(), 1);
  assert.equal(wasm.dz_game_bid(), 3);
  assert.equal(textOf(unsigned(wasm.dz_game_bottom())), "567");
  assert.deepEqual(walk(), ["77KKK", "pass", "AA222", "pass", "pass", "3456789", "pass", "pass", "TTTJJ"]);
  assert.deepEqual([0, 1, 2].map((s) => wasm.dz_game_score(s)), [6, -12, 6]);
  assert.equal(wasm.dz_game_doublings(), 1);
  assert.equal(wasm.dz_game_legal(), 0);
  assert.deepEqual([...Array(9).keys()].filter((i) => wasm.dz_record_explored(i)), [3, 4, 7]);
  assert.deepEqual([0, 1, 2, 3, 54].map((c) => wasm.dz_record_card(c)), [2, 1, 0, 2, -1]);
  assert.equal(open(example.subarray(0, example.length - 1)), -1);
  const illegal = example.slice();
  illegal[4] ^= 0x80;
  assert.ok(open(illegal) < 0);
  assert.equal(wasm.dz_record_moves(), 9, "a failed open changes nothing");
  const corpus = `${source}/tests/fuzz/corpus/record`;
  let walked = 0;
  for (const name of readdirSync(corpus).filter((f) => /-\d$|^void$/.test(f))) {
    if (open(readFileSync(`${corpus}/${name}`)) !== 0) continue;
    walk();
    walked++;
  }
  assert.ok(walked >= 8, `only ${walked} records`);
  return walked;
}

badArguments();
console.log(`engine.wasm: ${movesAgree()} lists of moves and ${records()} records agree`);
