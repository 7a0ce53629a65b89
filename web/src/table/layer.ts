// The cards on the felt: a node for each, keyed by card, moved by transforms. Compares what should lie
// where with what lies there, and animates the difference.
import type { Card } from "../cards";
import { cardNode } from "./cardnode";
import { attr, flag } from "./dom";
import { fanLayout, handLayout, type Box, type HandLayout, type Shape } from "./layout";
import { NO_LIE, type Place, type TableModel } from "./model";
import { fade, settle, slide, type At } from "./motion";
import { stageOf, type Stage } from "./stage";

interface Target { card: Card | null; x: number; y: number; cw: number; zone: "hand" | "lie" | "open"; place: Place; covered: boolean; chosen: boolean; fresh: boolean; i: number }
interface Node { el: HTMLElement; t: Target }
export interface Geometry { shape: Shape; felt: Box; hand: Box; origin: Record<Place | "kitty", { x: number; y: number }>; vh: number }

const MS = { deal: 180, dealGap: 35, choose: 120, play: 200, close: 160, pause: 400, fade: 160, chainGap: 20 };

export class CardLayer {
  private nodes = new Map<string, Node>();
  private going = new Set<HTMLElement>();
  hand: HandLayout = { cw: 0, lift: 0, height: 0, spots: [], rows: [] };
  stage: Stage | null = null;
  /** Where captions and words go: under the cards of a place. */
  foot: Record<Place, { x: number; y: number; w: number }> = { left: { x: 0, y: 0, w: 0 }, right: { x: 0, y: 0, w: 0 }, me: { x: 0, y: 0, w: 0 } };

  constructor(private readonly handEl: HTMLElement, private readonly layerEl: HTMLElement) {}

  layoutHand(m: TableModel, g: Geometry): void {
    const cards = m.backs ? Array.from({ length: m.backs }, () => 0) : m.hand;
    this.hand = handLayout(cards, g.hand.w, g.vh, g.shape, m.replay && g.shape === "upright" && g.vh < 720);
  }

  render(m: TableModel, g: Geometry, pace: number, jump: boolean): void {
    const targets = new Map<string, Target>();
    this.stage = stageOf(g.shape, g.felt, m.open.left.length + m.open.right.length > 0 || m.replay, m.over, g.vh);
    this.handTargets(m, g, targets);
    for (const place of ["left", "right", "me"] as const) this.placeTargets(m, place, targets);
    for (const [key, node] of this.nodes) if (!targets.has(key)) this.remove(key, node, m, jump ? 0 : pace);
    let arriving = 0;
    for (const [key, t] of targets) {
      const node = this.nodes.get(key);
      if (node) this.move(node, t, m, jump ? 0 : pace);
      else this.add(key, t, m, g, jump ? 0 : pace, arriving++);
    }
    this.order(targets);
  }

  private handTargets(m: TableModel, g: Geometry, out: Map<string, Target>): void {
    const rise = m.prepared ? this.hand.lift / 2 : this.hand.lift;
    this.hand.spots.forEach((s, i) => {
      const card = m.backs ? null : m.hand[i]!;
      const chosen = card !== null && m.chosen.has(card);
      out.set(card === null ? `b${i}` : `c${card}`, { card, x: g.hand.x + s.x, y: g.hand.y + s.y - (chosen ? rise : 0), cw: this.hand.cw, zone: "hand", place: "me",
        covered: s.covered, chosen: chosen && !m.prepared, fresh: card !== null && m.fresh.has(card), i });
    });
  }

  /** An open hand, and the play under it, hung in their part of the felt. */
  private placeTargets(m: TableModel, place: Place, out: Map<string, Target>): void {
    const { cw, openCw, at } = this.stage!;
    const { box, align, v } = at[place];
    const lie = m.lies[place] ?? NO_LIE;
    const opened = place === "me" ? [] : m.open[place];
    const fan = fanLayout(lie.cards.length, cw, box, align);
    const hand = fanLayout(opened.length, openCw, box, align, 0.4, 13);
    const playH = lie.cards.length ? fan.h : 28, capH = lie.caption ? 26 : 0;
    const total = (opened.length ? hand.h + 14 : 0) + playH + capH;
    const y = v === "top" ? box.y + 10 : v === "bottom" ? box.y + box.h - total - 12 : box.y + Math.max(0, (box.h - total) / 2);
    const dy = y - box.y;
    opened.forEach((card, i) => {
      const s = hand.spots[i]!;
      out.set(`c${card}`, { card, x: s.x, y: s.y + dy, cw: openCw, zone: "open", place, covered: s.covered, chosen: false, fresh: false, i });
    });
    const py = dy + (opened.length ? hand.h + 14 : 0);
    lie.cards.forEach((card, i) => {
      const s = fan.spots[i]!;
      out.set(`c${card}`, { card, x: s.x, y: s.y + py, cw, zone: "lie", place, covered: s.covered, chosen: false, fresh: false, i });
    });
    const w = Math.max(lie.cards.length ? fan.w : 0, 40);
    const x = align === "left" ? box.x : align === "right" ? box.x + box.w - w : box.x + (box.w - w) / 2;
    this.foot[place] = { x, y: box.y + py + (lie.cards.length ? fan.h + 6 : 0), w };
  }

  private add(key: string, t: Target, m: TableModel, g: Geometry, pace: number, n: number): void {
    const el = cardNode(t.card);
    const node = { el, t };
    this.nodes.set(key, node);
    this.dress(node, t, m);
    (t.zone === "hand" ? this.handEl : this.layerEl).append(el);
    const o = t.zone === "hand" ? g.origin.kitty : g.origin[t.place];
    const from: At = { x: o.x - t.cw / 2, y: o.y - t.cw * 0.7, scale: 0.6, opacity: t.zone === "hand" ? 0 : 1 };
    const dealt = t.zone === "hand" && n >= 0 && this.dealing(m);
    const chain = m.effect.name === "straight" || m.effect.name === "plane";
    const delay = dealt ? t.i * MS.dealGap : chain && t.zone === "lie" ? t.i * MS.chainGap : 0;
    slide(el, from, t, (t.zone === "hand" ? MS.deal : MS.play) * pace, delay * pace);
  }

  private dealing = (m: TableModel): boolean => m.effect.key.endsWith(" 0");

  private move(node: Node, t: Target, m: TableModel, pace: number): void {
    const was = node.t;
    const same = was.x === t.x && was.y === t.y && was.cw === t.cw && was.zone === t.zone;
    this.dress(node, t, m);
    if (same) return;
    const host = t.zone === "hand" ? this.handEl : this.layerEl;
    if (node.el.parentElement !== host) host.append(node.el);
    const lifted = was.zone === "hand" && t.zone === "hand" && was.x === t.x;
    const ms = lifted ? MS.choose : t.zone !== was.zone ? MS.play : MS.close;
    slide(node.el, { x: was.x, y: was.y, scale: was.cw / t.cw }, t, ms * pace);
  }

  /** Looks and attributes of a card where it now is. */
  private dress(node: Node, t: Target, m: TableModel): void {
    node.t = t;
    const { el } = node;
    el.style.transform = `translate(${t.x}px,${t.y}px)`;
    el.style.setProperty("--cw", `${t.cw}px`);
    flag(el, "cov", t.covered);
    flag(el, "sel", t.chosen);
    flag(el, "new", t.fresh && t.zone === "hand");
    const option = t.zone === "hand" && t.card !== null;
    attr(el, "role", option ? "option" : null);
    attr(el, "aria-selected", option ? String(m.chosen.has(t.card!)) : null);
    attr(el, "aria-label", option ? m.names(t.card!) : null);
    if (!option) attr(el, "tabindex", null);
    el.dataset.card = t.card === null ? "" : String(t.card);
  }

  private remove(key: string, node: Node, m: TableModel, pace: number): void {
    this.nodes.delete(key);
    const { el, t } = node;
    // A trick that ends can be read for a moment; cards of an older game go at once.
    const pause = t.zone === "lie" && !m.replay ? MS.pause : 0;
    this.going.add(el);
    fade(el, pause * pace, MS.fade * pace, () => {
      this.going.delete(el);
      el.remove();
    });
  }

  /** The order of nodes is the order of overlap and of reading. */
  private order(targets: Map<string, Target>): void {
    let i = 0;
    for (const [key, t] of targets) {
      if (t.zone !== "hand") continue;
      const el = this.nodes.get(key)!.el;
      if (this.handEl.children[i] !== el) this.handEl.insertBefore(el, this.handEl.children[i] ?? null);
      i++;
    }
    for (const [key, t] of targets) if (t.zone !== "hand") {
      const el = this.nodes.get(key)!.el;
      el.style.zIndex = String(t.zone === "open" ? t.i : 30 + t.i);
    } else this.nodes.get(key)!.el.style.zIndex = "";
  }

  /** Where a card is, for effects. */
  nodeOf(card: Card): HTMLElement | null {
    return this.nodes.get(`c${card}`)?.el ?? null;
  }
  center(place: Place): { x: number; y: number } {
    const f = this.foot[place];
    return { x: f.x + f.w / 2, y: f.y - (this.stage?.cw ?? 0) * 0.7 };
  }
  finish(): void {
    for (const n of this.nodes.values()) settle(n.el);
  }
}
