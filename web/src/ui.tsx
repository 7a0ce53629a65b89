// Small parts that several screens use.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "./i18n";
import { go } from "./store";

export const Icon = ({ name, cls = "ic" }: { name: string; cls?: string }) => <svg class={cls} aria-hidden="true"><use href={`#${name}`} /></svg>;

/** A choice of a few values in a row. */
export function Seg<T extends string | number | boolean>(p: { label: string; value: T; options: [T, string][]; onPick: (v: T) => void }) {
  const move = (e: KeyboardEvent, i: number) => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const at = (i + step + p.options.length) % p.options.length;
    p.onPick(p.options[at]![0]);
    ((e.currentTarget as Element).parentElement!.children[at] as HTMLElement).focus();
  };
  return (
    <div class="seg" role="radiogroup" aria-label={p.label}>
      {p.options.map(([v, text], i) => (
        <button role="radio" aria-checked={v === p.value} tabIndex={v === p.value ? 0 : -1} onClick={() => p.onPick(v)} onKeyDown={(e) => move(e, i)}>{text}</button>
      ))}
    </div>
  );
}

export function Box(p: { title?: ComponentChildren; side?: ComponentChildren; cls?: string; children: ComponentChildren }) {
  return (
    <section class={`box ${p.cls ?? ""}`}>
      {p.title && <h2 class="bh"><span>{p.title}</span>{p.side}</h2>}
      {p.children}
    </section>
  );
}

/** A link inside the page. */
export function A({ href, ...rest }: JSX.AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  return <a href={href} {...rest} onClick={(e) => {
    if (e.metaKey || e.ctrlKey || e.shiftKey || e.button) return;
    e.preventDefault();
    go(href);
  }} />;
}

/** A modal dialog: traps the focus, Escape closes. */
export function Dialog(p: { title: string; onClose: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current?.querySelector<HTMLElement>("button,input")?.focus();
    return () => before?.focus();
  }, []);
  const key = (e: KeyboardEvent) => {
    e.stopPropagation();
    if (e.key === "Escape") return p.onClose();
    if (e.key !== "Tab") return;
    const all = [...ref.current!.querySelectorAll<HTMLElement>("button:not(:disabled),input,select,a[href]")].filter((el) => el.tabIndex >= 0);
    const edge = e.shiftKey ? all[0] : all.at(-1);
    if (document.activeElement === edge) {
      e.preventDefault();
      (e.shiftKey ? all.at(-1) : all[0])?.focus();
    }
  };
  return (
    <div class="scrim" onPointerDown={(e) => e.target === e.currentTarget && p.onClose()} onKeyDown={key}>
      <div class="dialog" role="dialog" aria-modal="true" aria-label={p.title} ref={ref}>
        <h2>{p.title}<button class="ib" aria-label={t("set.close")} onClick={p.onClose}><Icon name="close" /></button></h2>
        {p.children}
      </div>
    </div>
  );
}

export type Loaded<T> = { data: T | null; failed: boolean; again: () => void };
/** Loads once for each key, not before `when`. */
export function useLoad<T>(key: string, load: () => Promise<T>, when = true): Loaded<T> {
  const [n, again] = useState(0);
  const [s, set] = useState<{ key: string; data: T | null; failed: boolean }>({ key: "", data: null, failed: false });
  useEffect(() => {
    let live = true;
    if (when) load().then((data) => live && set({ key, data, failed: false }), () => live && set({ key, data: null, failed: true }));
    return () => {
      live = false;
    };
  }, [key, n, when]);
  return { data: s.key === key ? s.data : null, failed: s.key === key && s.failed, again: () => again((k) => k + 1) };
}

export function Waiting({ of }: { of: Loaded<unknown> }) {
  return of.failed
    ? <p class="mut">{t("err.fetch")} <button class="btn sm" onClick={of.again}>{t("net.retry")}</button></p>
    : <p class="mut">{t("load")}</p>;
}
