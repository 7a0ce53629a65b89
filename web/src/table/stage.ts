// Which part of the felt belongs to whom, for plays, bids and open hands. Pure.
import type { Align, Box, Shape } from "./layout";
import type { Place } from "./model";

export interface Spotlight { box: Box; align: Align; /** Content hangs from the top, is centred, or stands at the bottom. */ v: "top" | "middle" | "bottom" }
export interface Stage { cw: number; openCw: number; at: Record<Place, Spotlight> }

const INSET: Record<Shape, number> = { big: 110, wide: 76, tablet: 40, upright: 4, sideways: 52 };

/** The free felt between seats and buttons, divided among the three players. */
export function stageOf(shape: Shape, felt: Box, opened: boolean, over: boolean, vh: number): Stage {
  const low = shape === "upright" && vh < 720;
  const cw = shape === "big" ? 84 : shape === "upright" ? (opened || over ? (low ? 34 : 44) : low ? 44 : 56) : shape === "sideways" ? (opened ? 36 : 42) : 66;
  const openCw = shape === "big" ? 52 : shape === "upright" ? (low ? 26 : 30) : shape === "sideways" ? 28 : 40;
  if (over) return { cw, openCw, at: ended(shape, felt, cw) };
  if (shape === "upright") return { cw, openCw, at: opened ? sides(felt, 2) : rows(felt, cw) };
  return { cw, openCw, at: columns(felt, opened ? Math.min(20, INSET[shape]) : INSET[shape], opened) };
}

function columns(f: Box, inset: number, opened: boolean): Stage["at"] {
  const gap = 8, unit = (f.w - 2 * gap) / 3.3;
  const v = opened ? "top" : "middle";
  const side = opened ? unit * 1.25 : unit;
  return {
    left: { box: { x: f.x + inset, y: f.y, w: side - inset, h: f.h }, align: "left", v },
    right: { box: { x: f.x + f.w - side, y: f.y, w: side - inset, h: f.h }, align: "right", v },
    me: { box: { x: f.x + side + gap, y: f.y, w: f.w - 2 * side - 2 * gap, h: f.h }, align: "middle", v: opened ? "bottom" : "middle" },
  };
}

/** Upright: the left play on its own line, the right one on the next, mine under them. */
function rows(f: Box, cw: number): Stage["at"] {
  const line = Math.min(Math.max(1.4 * cw + 32, f.h * 0.34), f.h / 3 + 12);
  const row = (i: number, h: number): Box => ({ x: f.x + 4, y: f.y + i * line, w: f.w - 8, h });
  return {
    left: { box: row(0, line), align: "left", v: "top" },
    right: { box: row(1, line), align: "right", v: "top" },
    me: { box: row(2, f.h - 2 * line), align: "middle", v: "middle" },
  };
}

/** After the end the sheet covers the lower felt: left-over cards hang high. */
function ended(shape: Shape, f: Box, cw: number): Stage["at"] {
  const at = shape === "upright" ? sides(f, 2) : columns(f, shape === "sideways" ? 0 : INSET[shape], shape !== "sideways");
  if (shape === "upright") at.me.box = { ...at.me.box, y: f.y + 2.2 * cw + 36 };
  for (const place of ["left", "right", "me"] as const) at[place].v = "top";
  return at;
}

/** Upright with open hands: left half, right half, mine low in the middle. */
function sides(f: Box, inset: number): Stage["at"] {
  const w = f.w / 2 - inset - 6;
  return {
    left: { box: { x: f.x + inset, y: f.y, w, h: f.h }, align: "left", v: "top" },
    right: { box: { x: f.x + f.w - inset - w, y: f.y, w, h: f.h }, align: "right", v: "top" },
    me: { box: { x: f.x + 4, y: f.y, w: f.w - 8, h: f.h }, align: "middle", v: "bottom" },
  };
}
