// Sounds, made at run time; nothing is loaded. Silent until the first press, as browsers want it.
import { get } from "./store";

export type Cue = "card" | "choose" | "clear" | "play" | "pass" | "turn" | "tick" | "wrong" | "bid1" | "bid2" | "bid3" | "bomb" | "rocket" | "win" | "lose" | "low";

let audio: AudioContext | null = null;
let out: AudioNode | null = null;
let noise: AudioBuffer | null = null;

function open(): void {
  if (audio) return void (audio.state === "suspended" && audio.resume());
  audio = new AudioContext();
  const squeeze = audio.createDynamicsCompressor(), gain = audio.createGain();
  gain.gain.value = 0.5;
  squeeze.connect(gain).connect(audio.destination);
  out = squeeze;
  noise = audio.createBuffer(1, audio.sampleRate, audio.sampleRate);
  const wave = noise.getChannelData(0);
  for (let i = 0; i < wave.length; i++) wave[i] = Math.random() * 2 - 1;
}
for (const e of ["pointerdown", "keydown"]) addEventListener(e, open, { once: false, passive: true });

interface Voice { at?: number; attack: number; decay: number; gain: number; filter?: BiquadFilterType; cut?: number; cutTo?: number; q?: number }

/** Attack and decay in ms; `at` ms from now. */
function shape(v: Voice, node: AudioScheduledSourceNode): void {
  const ctx = audio!, t0 = ctx.currentTime + (v.at ?? 0) / 1000, t1 = t0 + v.attack / 1000, t2 = t1 + v.decay / 1000;
  const env = ctx.createGain();
  env.gain.setValueAtTime(0, t0);
  env.gain.linearRampToValueAtTime(v.gain, t1);
  env.gain.exponentialRampToValueAtTime(0.0001, t2);
  let last: AudioNode = node;
  if (v.filter) {
    const f = ctx.createBiquadFilter();
    f.type = v.filter;
    f.Q.value = v.q ?? 0.7;
    f.frequency.setValueAtTime(v.cut!, t0);
    if (v.cutTo) f.frequency.exponentialRampToValueAtTime(v.cutTo, t2);
    last.connect(f);
    last = f;
  }
  last.connect(env).connect(out!);
  node.start(t0);
  node.stop(t2 + 0.02);
}

function tone(type: OscillatorType, from: number, v: Voice, to = from): void {
  const o = audio!.createOscillator(), t0 = audio!.currentTime + (v.at ?? 0) / 1000;
  o.type = type;
  o.frequency.setValueAtTime(from, t0);
  if (to !== from) o.frequency.exponentialRampToValueAtTime(to, t0 + (v.attack + v.decay) / 1000);
  shape(v, o);
}

function hiss(v: Voice, rate = 1): void {
  const n = audio!.createBufferSource();
  n.buffer = noise;
  n.playbackRate.value = rate;
  shape(v, n);
}

const notes = (hz: number[], gap: number, attack: number, decay: number, gain: number): void =>
  hz.forEach((f, i) => tone("triangle", f, { at: i * gap, attack, decay, gain }));

function bomb(at = 0): void {
  hiss({ at, attack: 1, decay: 350, gain: 0.5, filter: "lowpass", cut: 800, cutTo: 100 });
  tone("sine", 70, { at, attack: 2, decay: 400, gain: 0.5 }, 35);
}

const CUES: Record<Cue, () => void> = {
  card: () => hiss({ attack: 1, decay: 35, gain: 0.15, filter: "bandpass", cut: 2400, q: 1 }, 0.95 + Math.random() * 0.1),
  choose: () => tone("sine", 880, { attack: 1, decay: 40, gain: 0.06 }),
  clear: () => tone("sine", 660, { attack: 1, decay: 40, gain: 0.06 }),
  play: () => {
    hiss({ attack: 1, decay: 60, gain: 0.3, filter: "lowpass", cut: 1200 });
    tone("sine", 140, { attack: 2, decay: 70, gain: 0.25 }, 90);
  },
  pass: () => [0, 110].forEach((at) => tone("sine", 220, { at, attack: 2, decay: 90, gain: 0.12 })),
  turn: () => notes([659, 880], 120, 4, 120, 0.18),
  low: () => notes([880, 880], 140, 4, 100, 0.14),
  tick: () => tone("square", 1000, { attack: 1, decay: 25, gain: 0.08, filter: "lowpass", cut: 2000 }),
  wrong: () => tone("sine", 180, { attack: 5, decay: 120, gain: 0.2 }, 150),
  bid1: () => notes([392], 0, 4, 140, 0.2),
  bid2: () => notes([494], 0, 4, 140, 0.2),
  bid3: () => notes([587], 0, 4, 140, 0.2),
  bomb: () => bomb(),
  rocket: () => {
    tone("sawtooth", 200, { attack: 5, decay: 350, gain: 0.12, filter: "lowpass", cut: 3000 }, 1600);
    bomb(300);
  },
  win: () => notes([523, 659, 784, 1047], 90, 5, 200, 0.18),
  lose: () => notes([392, 330, 262], 120, 5, 240, 0.15),
};

export function cue(c: Cue): void {
  if (!get().settings.sound || !audio || audio.state !== "running" || document.hidden) return;
  CUES[c]();
}

export function buzz(pattern: number | number[]): void {
  if (get().settings.sound && matchMedia("(pointer: coarse)").matches) navigator.vibrate?.(pattern);
}
