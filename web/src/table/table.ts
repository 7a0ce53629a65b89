// The card table: a module that owns its DOM. It is given a TableModel and shows it; presses go out as events.
import type { Card } from "../cards";
import { icon } from "../icons";
import { Countdown, ringMarkup } from "./clock";
import { attr, esc, flag, html, make, text } from "./dom";
import { bindHand, type HandEvents } from "./hand";
import { CardLayer, type Geometry } from "./layer";
import { shapeOf } from "./layout";
import { NO_LIE, type Button, type Lie, type Place, type SeatView, type TableModel } from "./model";
import { flip, ring, settle, shake, word } from "./motion";
import { cardClass, cardNode } from "./cardnode";

export interface TableEvents extends HandEvents {
  press(button: string): void;
  clear(): void;
  hint(): void;
  seat(place: Place): void;
  second(left: number): void;
}

interface SeatDom { root: HTMLElement; av: HTMLElement; icon: HTMLElement; sec: HTMLElement; count: HTMLElement; n: HTMLElement; name: HTMLElement; role: HTMLElement; sub: HTMLElement; bubble: HTMLElement; clock: Countdown }

const PLACES: Place[] = ["left", "right", "me"];

export class TableView {
  readonly root: HTMLElement;
  private readonly seats: Record<Place, SeatDom>;
  private readonly kitty: HTMLElement;
  private readonly meta: HTMLElement;
  private readonly strip: HTMLElement;
  private readonly felt: HTMLElement;
  private readonly words: Record<Place, HTMLElement>;
  private readonly centre: HTMLElement;
  private readonly chip: HTMLButtonElement;
  private readonly buttons: HTMLElement;
  private readonly tools: HTMLElement;
  private readonly mine: Countdown;
  private readonly hand: HTMLElement;
  private readonly veil: HTMLButtonElement;
  private readonly shrink: HTMLElement;
  private readonly layer: CardLayer;
  private geometry: Geometry | null = null;
  private model: TableModel | null = null;
  private frame = 0;
  private nextPace = 1;
  private nextJump = false;
  private focusAt = 0;
  private readonly watch: ResizeObserver;
  private readonly timer: ReturnType<typeof setInterval>;

  constructor(host: Element, private readonly on: TableEvents) {
    const root = (this.root = make("div", "table", host));
    this.seats = { left: this.makeSeat("left", root), right: this.makeSeat("right", root), me: this.makeSeat("me", root) };
    const top = make("div", "kitty", root);
    this.kitty = make("div", "kitty-cards", top);
    this.meta = make("div", "meta num", top);
    this.strip = make("div", "strip", root);
    this.felt = make("div", "felt", root);
    this.centre = make("div", "centre", root);
    const layerEl = make("div", "layer", root);
    this.words = { left: make("div", "lie l", root), right: make("div", "lie r", root), me: make("div", "lie m", root) };
    const act = make("div", "act", root);
    act.append(this.seats.me.root);
    this.chip = make("button", "combo", act);
    this.shrink = make("i", "shrink", act);
    const row = make("div", "btns", act);
    const clock = make("span", "tm num", row);
    clock.innerHTML = `${ringMarkup}<b></b>`;
    attr(clock, "role", "timer");
    attr(clock, "aria-live", "off");
    this.mine = new Countdown(clock, clock.querySelector("b")!);
    this.buttons = make("div", "row", row);
    this.tools = make("div", "tmenu", root);
    this.hand = make("div", "hand", root);
    for (const [k, v] of Object.entries({ role: "listbox", "aria-multiselectable": "true", "aria-orientation": "horizontal" })) attr(this.hand, k, v);
    attr(layerEl, "aria-hidden", "true");
    this.veil = make("button", "veil", root);
    this.layer = new CardLayer(this.hand, layerEl);
    this.listen();
    this.watch = new ResizeObserver(() => this.measure());
    this.watch.observe(root);
    this.timer = setInterval(() => this.tick(), 200);
  }

  destroy(): void {
    this.watch.disconnect();
    clearInterval(this.timer);
    cancelAnimationFrame(this.frame);
    this.root.remove();
  }

  /** Draws once in the next frame. `jump`: without motion (replay seeking, first sight). */
  render(model: TableModel, pace: number, jump = false): void {
    const first = this.model === null;
    this.nextJump = (this.frame ? this.nextJump : true) && (jump || first);
    this.model = model;
    this.nextPace = pace;
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  private last: TableModel | null = null;

  private draw(): void {
    this.frame = 0;
    const m = this.model!, before = this.last;
    this.last = m;
    if (!this.geometry) this.measure(false);
    this.drawFrame(m);
    this.fit(m);
    this.layer.render(m, this.geometry!, this.nextPace, this.nextJump || before?.replay !== m.replay);
    for (const p of PLACES) this.drawLie(p, m.lies[p] ?? NO_LIE);
    this.drawKitty(m, before);
    this.roving();
    if (before && before.effect.key !== m.effect.key && !this.nextJump) this.effect(m);
    if (before && before.wrong !== m.wrong) shake(this.chip, 240 * this.nextPace, [0, -5, 5, -3, 3, 0]);
  }

  /** Texts, buttons, clocks. */
  private drawFrame(m: TableModel): void {
    for (const p of PLACES) this.drawSeat(p, m.seats[p]);
    html(this.meta, m.meta.label ? `<span>${m.meta.label}</span>` : `<span>${metaWord(m, "base")}</span><span>${metaWord(m, "mult")}</span>`);
    flag(this.root, "over", m.over);
    flag(this.root, "replaying", m.replay);
    flag(this.root, "opened", m.open.left.length + m.open.right.length > 0);
    text(this.centre, m.centre);
    this.drawStrip(m);
    this.drawChip(m);
    this.drawButtons(m.buttons);
    html(this.tools, m.tools.map((b) => `<button class="ib" data-id="${b.id}" aria-label="${esc(b.label)}" title="${esc(b.label)}${b.shortcut && ` (${b.shortcut})`}"${b.shortcut && ` aria-keyshortcuts="${b.shortcut}"`}>${icon(b.icon)}</button>`).join(""));
    this.mine.set(m.clock);
    attr(this.hand, "aria-label", m.handLabel);
    flag(this.hand, "live", m.live);
    flag(this.hand, "veiled", m.veil !== "");
    flag(this.veil, "on", m.veil !== "");
    text(this.veil, m.veil);
  }

  private makeSeat(place: Place, parent: Element): SeatDom {
    const root = make("div", `seat ${place}`, parent);
    const av = make("button", "av", root);
    const ic = make("span", "avi", av);
    av.insertAdjacentHTML("beforeend", ringMarkup);
    const sec = make("span", "sec num", av);
    const count = make("div", "cnt", root);
    count.append(cardNode(null));
    const n = make("span", "n num", count);
    const who = make("div", "who", root);
    const line = make("div", "line", who);
    const name = make("b", "", line), role = make("span", "role", line);
    const sub = make("div", "sub num", who);
    const bubble = make("div", "bubble", root);
    return { root, av, icon: ic, sec, count, n, name, role, sub, bubble, clock: new Countdown(av, sec) };
  }

  private drawSeat(place: Place, v: SeatView | null): void {
    const d = this.seats[place];
    flag(d.root, "none", v === null);
    if (!v) return;
    html(d.icon, icon(v.icon));
    attr(d.av, "aria-label", v.name);
    text(d.name, v.name);
    d.role.className = `role ${v.role}`;
    text(d.role, v.roleText);
    text(d.sub, v.sub);
    text(d.n, v.count === null ? "" : String(v.count));
    flag(d.root, "low", v.low);
    flag(d.root, "gone", v.gone);
    flag(d.root, "turn", v.turn !== null);
    text(d.bubble, v.phrase);
    d.clock.set(v.turn);
  }

  private drawStrip(m: TableModel): void {
    flag(this.root, "counted", m.strip !== null);
    html(this.strip, m.strip ? counterMarkup(m.strip) : "");
  }

  private drawChip(m: TableModel): void {
    const c = m.chip;
    this.chip.hidden = c === null;
    if (!c) return void (this.shrink.style.animation = "none");
    flag(this.chip, "bad", c.bad);
    html(this.chip, c.parts.map((p) => (p.as === "b" ? `<b>${esc(p.text)}</b>` : `<span class="${p.as}">${esc(p.text)}</span>`)).join(""));
    this.chip.dataset.press = c.press;
    this.chip.tabIndex = c.press ? 0 : -1;
    const ms = c.shrink ? c.shrink - Date.now() : 0;
    if (ms > 0 && this.shrink.dataset.till !== String(c.shrink)) this.shrink.style.animation = `shrink ${ms}ms linear`;
    if (ms <= 0) this.shrink.style.animation = "none";
    this.shrink.dataset.till = String(c.shrink ?? "");
  }

  private drawButtons(buttons: readonly Button[]): void {
    const key = buttons.map((b) => b.id).join();
    if (this.buttons.dataset.key !== key) {
      this.buttons.dataset.key = key;
      this.buttons.replaceChildren(...buttons.map((b) => {
        const box = make("div", "bbox");
        const el = make("button", "btn", box);
        el.dataset.id = b.id;
        el.innerHTML = `<span></span>${b.key ? `<kbd>${b.key}</kbd>` : ""}`;
        attr(el, "aria-keyshortcuts", b.shortcut);
        make("span", "bsub num", box);
        return box;
      }));
    }
    buttons.forEach((b, i) => {
      const box = this.buttons.children[i]!, el = box.firstElementChild as HTMLButtonElement;
      text(el.firstElementChild!, b.label);
      flag(el, "pri", b.primary);
      flag(el, "soft", b.soft);
      if (el.disabled !== b.off) el.disabled = b.off;
      attr(el, "aria-disabled", b.soft ? "true" : null);
      text(box.lastElementChild!, b.sub);
      flag(box, "gold", b.gold);
    });
  }

  private drawLie(place: Place, lie: Lie): void {
    const el = this.words[place], at = this.layer.foot[place];
    const w = lie.word ? `<span class="${lie.chip ? "bub" : "pass"}">${esc(lie.word)}</span>` : "";
    const c = lie.caption ? `<span class="pcap">${esc(lie.caption)}${lie.loss ? ` · <b class="num">${esc(lie.loss)}</b>` : ""}</span>` : "";
    html(el, w + c);
    el.style.transform = `translate(${place === "right" ? at.x + at.w : place === "me" ? at.x + at.w / 2 : at.x}px,${at.y}px)`;
  }

  private drawKitty(m: TableModel, before: TableModel | null): void {
    const shown = m.kitty.join();
    if (this.kitty.dataset.shown === shown) return;
    const flipped = before !== null && before.game === m.game && before.kitty[0] === null && m.kitty[0] !== null;
    this.kitty.dataset.shown = shown;
    this.kitty.replaceChildren(...m.kitty.map((c) => {
      const el = cardNode(c);
      el.className = cardClass(c);
      if (flipped) flip(el, 240 * this.nextPace);
      return el;
    }));
    attr(this.kitty, "role", "img");
    attr(this.kitty, "aria-label", m.kitty.map((c) => (c === null ? "?" : m.names(c))).join(" "));
  }

  private effect(m: TableModel): void {
    const e = m.effect, pace = this.nextPace, c = this.layer.center(e.at);
    if (e.name === "bomb") {
      shake(this.root, 420 * pace, [0, 3, -3, 2, 0]);
      ring(this.root, c.x, c.y, 240, 420 * pace);
    } else if (e.name === "rocket") {
      shake(this.root, 420 * pace, [0, 3, -3, 2, 0]);
      ring(this.root, c.x, c.y, 480, 600 * pace);
    }
    if (e.word) word(this.root, e.word, 700 * pace);
  }

  // ---- sizes: read when the window or the number of rows changes, never in the loop of the hand

  private measure(again = true): void {
    const box = this.root.getBoundingClientRect();
    const rel = (el: Element): { x: number; y: number; w: number; h: number } => {
      const r = el.getBoundingClientRect();
      return { x: r.left - box.left, y: r.top - box.top, w: r.width, h: r.height };
    };
    const mid = (el: Element): { x: number; y: number } => {
      const r = rel(el);
      return { x: r.x + r.w / 2, y: r.y + r.h / 2 };
    };
    this.geometry = {
      shape: shapeOf(innerWidth, innerHeight), felt: rel(this.felt), hand: rel(this.hand), vh: innerHeight,
      origin: { left: mid(this.seats.left.av), right: mid(this.seats.right.av), me: mid(this.hand), kitty: mid(this.kitty) },
    };
    if (again && this.model && !this.frame) {
      this.nextJump = true;
      this.frame = requestAnimationFrame(() => this.draw());
    }
  }

  private fit(m: TableModel): void {
    this.layer.layoutHand(m, this.geometry!);
    const h = `${this.layer.hand.height}px`;
    if (this.hand.style.height !== h) this.hand.style.height = h;
    // Rows above the hand may have moved with it, or with the strip and the side panel.
    const mark = [h, this.root.className, m.buttons.some((b) => b.sub)].join();
    if (this.mark !== mark) {
      this.mark = mark;
      this.measure(false);
      this.layer.layoutHand(m, this.geometry!);
    }
  }
  private mark = "";

  // ---- input

  private listen(): void {
    bindHand(this.hand, this.root, () => {
      const m = this.model, g = this.geometry;
      return m && g ? { cards: m.hand, layout: this.layer.hand, chosen: m.chosen, live: m.live, x: g.hand.x, y: g.hand.y } : null;
    }, { ...this.on, focus: (i) => this.focusCard(i, false) });
    this.root.addEventListener("pointerdown", (e) => {
      if (e.button === 0 && e.target instanceof Element && !e.target.closest("button,.hand,.seat")) this.on.clear();
    });
    this.root.addEventListener("contextmenu", (e) => {
      e.preventDefault();
      this.on.hint();
    });
    for (const row of [this.buttons, this.tools]) row.addEventListener("click", (e) => {
      const id = (e.target as Element).closest<HTMLElement>("button")?.dataset.id;
      if (id) this.on.press(id);
    });
    this.chip.addEventListener("click", () => this.chip.dataset.press && this.on.press(this.chip.dataset.press));
    this.veil.addEventListener("click", () => this.on.press("unhost"));
    for (const p of ["left", "right"] as const) this.seats[p].av.addEventListener("click", () => this.on.seat(p));
  }

  /** Roving focus: one card of the hand is in the tab order. */
  focusCard(i: number, take: boolean): void {
    this.focusAt = Math.max(0, Math.min(this.hand.children.length - 1, i));
    this.roving();
    if (take) (this.hand.children[this.focusAt] as HTMLElement | undefined)?.focus();
  }
  moveFocus(step: number): void {
    this.focusCard(this.hand.contains(document.activeElement) ? this.focusAt + step : this.focusAt, true);
  }
  focused(): Card | null {
    const el = document.activeElement;
    return el instanceof HTMLElement && this.hand.contains(el) && el.dataset.card ? Number(el.dataset.card) : null;
  }
  private roving(): void {
    const n = this.hand.children.length;
    if (this.focusAt >= n) this.focusAt = Math.max(0, n - 1);
    [...this.hand.children].forEach((el, i) => attr(el, "tabindex", i === this.focusAt ? "0" : "-1"));
  }

  private lastSecond = -1;
  private tick(): void {
    for (const p of PLACES) this.seats[p].clock.tick();
    const s = this.mine.tick();
    if (s !== null && s !== this.lastSecond) this.on.second(s);
    this.lastSecond = s ?? -1;
  }

  /** Ends all motion at once. */
  finish(): void {
    this.layer.finish();
    settle(this.root);
  }
}

/** The card counter's cells, with the ranks as column heads. */
export function counterMarkup(cells: NonNullable<TableModel["strip"]>): string {
  const heads = cells.map((c) => `<th scope="col">${c.head}</th>`).join("");
  const figures = cells.map((c) => `<td class="${c.n ? "" : "z"}${c.four ? " f" : ""}${c.dot ? " dot" : ""}">${c.n}</td>`).join("");
  return `<table class="counter num"><thead><tr>${heads}</tr></thead><tbody><tr>${figures}</tr></tbody></table>`;
}

const metaWord = (m: TableModel, k: "base" | "mult"): string => (m.meta[k] ? `${m.metaWords[k]} <b>${m.meta[k]}</b>` : "");
