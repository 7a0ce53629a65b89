// What the player chose on this device, kept in local storage.
import type { SortMode } from "./cards";
import type { Lang, Role, Rules, Strength } from "./protocol";

export interface Settings {
  lang: Lang;
  theme: "auto" | "light" | "dark";
  four: boolean;
  sound: boolean;
  motion: "normal" | "fast" | "none";
  smart: boolean;
  autopass: boolean;
  sort: SortMode;
  help: boolean;
  counter: boolean;
  ranksOnly: boolean;
  /** Milliseconds that bots seem to think in my games. */
  think: number;
  /** The last choices of the lobby. */
  quick: { strength: Strength; role: Role; time: number; rules: Rules };
  sawRules: boolean;
  tips: number;
  muted: string[];
}

const KEY = "ddz.settings";

function defaults(): Settings {
  return {
    lang: navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en", theme: "auto", four: false, sound: true, motion: "normal", smart: true,
    autopass: true, sort: "rank", help: true, counter: true, ranksOnly: false, think: 800, quick: { strength: "best", role: "bid", time: 20, rules: "classic" },
    sawRules: false, tips: 0, muted: [],
  };
}

export function read(): Settings {
  const base = defaults();
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    if (typeof kept !== "object" || kept === null) return base;
    // A kept value of another type (an older version, a hand edit) gives way to the default.
    for (const [k, v] of Object.entries(kept))
      if (k in base && typeof v === typeof base[k as keyof Settings]) Object.assign(base, { [k]: v });
  } catch { /* no storage, or not JSON: the defaults do */ }
  return base;
}

export function write(s: Settings): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(s));
  } catch { /* private mode: they last as long as the page */ }
}

/** Puts the settings that are looks onto the document. */
export function apply(s: Settings): void {
  const root = document.documentElement;
  const dark = s.theme === "dark" || (s.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "dark" : "light";
  root.dataset.four = s.four ? "1" : "0";
  root.dataset.motion = still(s) ? "none" : s.motion;
  root.lang = s.lang === "zh" ? "zh-CN" : "en";
  document.querySelector('meta[name="theme-color"]')?.setAttribute("content", dark ? "#181e1b" : "#ffffff");
}

/** No motion at all, pauses included. */
export const still = (s: Settings): boolean => s.motion === "none" || matchMedia("(prefers-reduced-motion: reduce)").matches;
/** What every duration is multiplied by. */
export const pace = (s: Settings): number => (still(s) || document.hidden ? 0 : s.motion === "fast" ? 0.5 : 1);
