// QR codes (ISO/IEC 18004), byte mode, error correction M, versions 1 to 6: enough for a room's link.

// Per version: data codewords, error-correction codewords a block, blocks, place of the alignment pattern.
const VERSIONS = [[16, 10, 1, 0], [28, 16, 1, 18], [44, 26, 1, 22], [64, 18, 2, 26], [86, 24, 2, 30], [108, 16, 4, 34]] as const;

const EXP = new Uint8Array(512), LOG = new Uint8Array(256);
for (let i = 0, x = 1; i < 255; i++) {
  EXP[i] = EXP[i + 255] = x;
  LOG[x] = i;
  x = (x << 1) ^ (x & 128 ? 0x11d : 0);
}
const mul = (a: number, b: number): number => (a && b ? EXP[LOG[a]! + LOG[b]!]! : 0);

/** Reed-Solomon remainder of `data`. */
function remainder(data: number[], n: number): number[] {
  let gen = [1];
  for (let i = 0; i < n; i++) {
    const next = [...gen, 0];
    gen.forEach((g, j) => (next[j + 1]! ^= mul(g, EXP[i]!)));
    gen = next;
  }
  const r = [...data, ...new Array<number>(n).fill(0)];
  for (let i = 0; i < data.length; i++) {
    const f = r[i]!;
    if (f) gen.forEach((g, j) => (r[i + j]! ^= mul(g, f)));
  }
  return r.slice(data.length);
}

function codewords(text: string): { version: number; words: number[] } | null {
  const bytes = [...new TextEncoder().encode(text)];
  const version = VERSIONS.findIndex(([cap]) => bytes.length + 2 <= cap);
  if (version < 0) return null;
  const [cap, ec, blocks] = VERSIONS[version]!;
  const bits: number[] = [];
  const put = (v: number, n: number): void => {
    for (let i = n - 1; i >= 0; i--) bits.push((v >> i) & 1);
  };
  put(4, 4);
  put(bytes.length, 8);
  bytes.forEach((b) => put(b, 8));
  put(0, Math.min(4, cap * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  const data: number[] = [];
  for (let i = 0; i < bits.length; i += 8) data.push(bits.slice(i, i + 8).reduce((v, b) => 2 * v + b, 0));
  for (let pad = 0xec; data.length < cap; pad ^= 0xfd) data.push(pad);
  const each = cap / blocks;
  const parts = Array.from({ length: blocks }, (_, i) => data.slice(i * each, (i + 1) * each));
  const checks = parts.map((p) => remainder(p, ec));
  const words: number[] = [];
  for (let i = 0; i < each; i++) parts.forEach((p) => words.push(p[i]!));
  for (let i = 0; i < ec; i++) checks.forEach((c) => words.push(c[i]!));
  return { version: version + 1, words };
}

type Grid = (boolean | null)[][];

function frame(version: number): Grid {
  const size = 17 + 4 * version;
  const g: Grid = Array.from({ length: size }, () => new Array<boolean | null>(size).fill(null));
  const square = (cx: number, cy: number, rings: number[], reach: number): void => {
    for (let dy = -reach; dy <= reach; dy++) for (let dx = -reach; dx <= reach; dx++) {
      const row = g[cy + dy];
      if (row && row[cx + dx] !== undefined) row[cx + dx] = rings.includes(Math.max(Math.abs(dx), Math.abs(dy)));
    }
  };
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]] as const) square(x, y, [0, 1, 3], 4);
  const at = VERSIONS[version - 1]![3];
  if (at) square(at, at, [0, 2], 2);
  for (let i = 8; i < size - 8; i++) g[6]![i] = g[i]![6] = i % 2 === 0;
  return g;
}

/** The places of the 15 format bits, both copies; filled for error correction M and mask 0. */
function format(g: Grid): void {
  const size = g.length, data = 0b00000;
  let rem = data;
  for (let i = 0; i < 10; i++) rem = (rem << 1) ^ ((rem >> 9) * 0x537);
  const bits = ((data << 10) | rem) ^ 0x5412;
  const bit = (i: number): boolean => ((bits >> i) & 1) === 1;
  for (let i = 0; i < 8; i++) {
    g[i < 6 ? i : i + 1]![8] = bit(i);
    g[8]![size - 1 - i] = bit(i);
  }
  g[8]![7] = bit(8);
  for (let i = 9; i < 15; i++) g[8]![14 - i] = bit(i);
  for (let i = 8; i < 15; i++) g[size - 15 + i]![8] = bit(i);
  g[size - 8]![8] = true;
}

/** Dark modules as an SVG path of unit squares. */
export function qrPath(text: string): { size: number; path: string } {
  const code = codewords(text);
  if (!code) return { size: 1, path: "" };
  const g = frame(code.version), size = g.length;
  format(g);
  const bits = code.words.flatMap((w) => Array.from({ length: 8 }, (_, i) => (w >> (7 - i)) & 1));
  let k = 0;
  for (let right = size - 1, up = true; right > 0; right -= 2, up = !up) {
    if (right === 6) right = 5;
    for (let v = 0; v < size; v++) for (const x of [right, right - 1]) {
      const y = up ? size - 1 - v : v;
      if (g[y]![x] === null) g[y]![x] = ((bits[k++] ?? 0) === 1) !== ((x + y) % 2 === 0);
    }
  }
  let path = "";
  g.forEach((row, y) => row.forEach((dark, x) => dark && (path += `M${x} ${y}h1v1h-1z`)));
  return { size, path };
}
