// Motion only decorates: the state is already there. Transforms and opacity alone; all of it can be 0 ms.

const EASE = "cubic-bezier(.2,.8,.2,1)";
export interface At { x: number; y: number; scale?: number; opacity?: number }
const css = (p: At): Keyframe => ({ transform: `translate(${p.x}px,${p.y}px)${p.scale !== undefined && p.scale !== 1 ? ` scale(${p.scale})` : ""}`, opacity: p.opacity ?? 1 });

/** Ends what is running on a node, so that a new event starts from the true places. */
export function settle(el: Element): void {
  for (const a of el.getAnimations()) a.cancel();
}

export function slide(el: HTMLElement, from: At, to: At, ms: number, delay = 0): void {
  settle(el);
  if (ms > 0) el.animate([css(from), css(to)], { duration: ms, delay, easing: EASE, fill: "backwards" });
}

/** Fades out after a pause, then calls `gone`. */
export function fade(el: HTMLElement, pause: number, ms: number, gone: () => void): void {
  if (ms + pause === 0) return gone();
  const a = el.animate([{ opacity: 1 }, { opacity: 0 }], { duration: ms, delay: pause, easing: "ease-out", fill: "forwards" });
  a.onfinish = a.oncancel = gone;
}

export function flip(el: HTMLElement, ms: number): void {
  settle(el);
  if (ms > 0) el.animate([{ transform: "rotateY(90deg)" }, { transform: "rotateY(0)" }], { duration: ms, easing: EASE });
}

export function shake(el: HTMLElement, ms: number, steps: number[]): void {
  if (ms > 0) el.animate(steps.map((x) => ({ transform: `translateX(${x}px)` })), { duration: ms, easing: "ease-out" });
}

/** A ring that grows from a point and fades. */
export function ring(host: HTMLElement, x: number, y: number, size: number, ms: number): void {
  if (ms === 0) return;
  const el = document.createElement("div");
  el.className = "ring-fx";
  el.style.cssText = `left:${x - size / 2}px;top:${y - size / 2}px;width:${size}px;height:${size}px`;
  host.append(el);
  el.animate([{ transform: "scale(.1)", opacity: 1 }, { transform: "scale(1)", opacity: 0 }], { duration: ms, easing: EASE, fill: "forwards" }).onfinish = () => el.remove();
}

/** A large word that fades up over the table. */
export function word(host: HTMLElement, text: string, ms: number): void {
  if (ms === 0) return;
  const el = document.createElement("div");
  el.className = "word-fx";
  el.textContent = text;
  host.append(el);
  el.animate(
    [{ opacity: 0, transform: "translate(-50%,-20%)" }, { opacity: 1, transform: "translate(-50%,-50%)", offset: 0.3 }, { opacity: 1, transform: "translate(-50%,-50%)", offset: 0.75 }, { opacity: 0, transform: "translate(-50%,-70%)" }],
    { duration: ms * 2, easing: "ease-out", fill: "forwards" },
  ).onfinish = () => el.remove();
}
