// The one state of the page and who listens to it.
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { Card } from "./cards";
import type { Engine } from "./engine";
import { setLanguage } from "./i18n";
import * as settings from "./settings";
import { initial, type State } from "./state";

export interface Choice {
  chosen: ReadonlySet<Card>;
  /** Place in the list of hints; -1: none shown. */
  hint: number;
  /** Completing is off for this turn: a completed card was put back. */
  own: boolean;
  /** Cards that completing or snapping added. */
  added: ReadonlySet<Card>;
}
export const NO_CHOICE: Choice = { chosen: new Set(), hint: -1, own: false, added: new Set() };

export type Dialog = null | "settings" | "keys" | "leave" | "invite" | "panel";

export interface App {
  net: State;
  choice: Choice;
  settings: settings.Settings;
  path: string;
  dialog: Dialog;
  engine: Engine | null;
  /** Counts wrong presses of Play, so that the chip shakes once for each. */
  wrong: number;
  /** When nothing beats the table: the moment of the automatic pass. */
  autopass: number | null;
  toast: string | null;
}

let app: App = {
  net: initial, choice: NO_CHOICE, settings: settings.read(), path: location.pathname, dialog: null, engine: null, wrong: 0, autopass: null, toast: null,
};
setLanguage(app.settings.lang);

type Listener = (now: App, before: App) => void;
const listeners = new Set<Listener>();

export const get = (): App => app;

export function update(change: Partial<App>): void {
  const before = app;
  app = { ...app, ...change };
  for (const l of [...listeners]) l(app, before);
}

export function listen(l: Listener): () => void {
  listeners.add(l);
  return () => listeners.delete(l);
}

export function setSettings(change: Partial<settings.Settings>): void {
  const next = { ...app.settings, ...change };
  setLanguage(next.lang);
  settings.write(next);
  settings.apply(next);
  update({ settings: next });
}

/** Redraws a component when the chosen part is no longer what it drew. */
export function useApp<T>(part: (a: App) => T): T {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const drawn = useRef({ part, value: part(app) });
  drawn.current = { part, value: part(app) };
  useLayoutEffect(() => {
    const look = () => drawn.current.part(app) !== drawn.current.value && redraw(0);
    look(); // what came between drawing and listening
    return listen(look);
  }, []);
  return drawn.current.value;
}

export function go(path: string, replace = false): void {
  if (path === location.pathname + location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  update({ path: location.pathname });
}
addEventListener("popstate", () => update({ path: location.pathname }));
