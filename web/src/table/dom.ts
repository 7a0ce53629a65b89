// Small helpers that touch the DOM only when something changed.

export function make<K extends keyof HTMLElementTagNameMap>(tag: K, cls: string, parent?: Element): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  el.className = cls;
  parent?.append(el);
  return el;
}

export function text(el: Element, value: string): void {
  if (el.textContent !== value) el.textContent = value;
}

const markup = new WeakMap<Element, string>();
export function html(el: Element, value: string): void {
  if (markup.get(el) === value) return;
  markup.set(el, value);
  el.innerHTML = value;
}

export function attr(el: Element, name: string, value: string | null): void {
  if (value === null) el.removeAttribute(name);
  else if (el.getAttribute(name) !== value) el.setAttribute(name, value);
}

export function flag(el: Element, cls: string, on: boolean): void {
  if (el.classList.contains(cls) !== on) el.classList.toggle(cls, on);
}

/** Text that goes into markup: names are other people's. */
export const esc = (s: string): string => s.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);
