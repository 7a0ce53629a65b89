// Countdown rings. They run by themselves from a deadline, without the state changing each second.
import { attr, flag, text } from "./dom";
import type { Clock } from "./model";

const R = 20, LENGTH = 2 * Math.PI * R;
export const ringMarkup = `<svg class="ring" viewBox="0 0 44 44" aria-hidden="true"><circle cx="22" cy="22" r="${R}"/><circle class="a" cx="22" cy="22" r="${R}"/></svg>`;

export class Countdown {
  private clock: Clock | null = null;
  private readonly arc: Element;

  constructor(private readonly root: HTMLElement, private readonly figure: HTMLElement) {
    this.arc = root.querySelector(".a")!;
  }

  set(clock: Clock | null): void {
    this.clock = clock;
    flag(this.root, "on", clock !== null);
    this.tick();
  }

  /** Returns the whole seconds left, or null without a limit. */
  tick(): number | null {
    const c = this.clock;
    if (!c) return null;
    if (c.deadline === null || !c.total) {
      flag(this.root, "free", true);
      text(this.figure, "");
      return null;
    }
    flag(this.root, "free", false);
    const left = Math.max(0, c.deadline - Date.now());
    const s = Math.ceil(left / 1000);
    text(this.figure, String(s));
    attr(this.arc, "stroke-dasharray", `${((LENGTH * Math.min(1, left / c.total))).toFixed(1)} ${LENGTH.toFixed(1)}`);
    flag(this.root, "hot", s <= 5);
    return s;
  }
}
