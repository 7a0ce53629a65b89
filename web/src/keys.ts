// Keys at the table: every thing that drag or hover does has one.
import { rankOfKey } from "./cards";
import * as act from "./play";
import { myTurn } from "./state";
import { get, setSettings, update } from "./store";
import type { TableView } from "./table/table";

export function fullScreen(): void {
  if (document.fullscreenElement) void document.exitFullscreen();
  else void document.documentElement.requestFullscreen?.();
}

const typing = (e: KeyboardEvent): boolean => e.target instanceof Element && e.target.closest("input,textarea,select,[role=dialog],[role=radiogroup]") !== null;

export function keysAtTable(table: TableView): () => void {
  const onKey = (e: KeyboardEvent): void => {
    if (typing(e) || e.ctrlKey || e.metaKey || e.altKey || get().dialog === "leave") return;
    if (act.hosted(get().net.game) && e.key !== "Tab" && e.key !== "g" && e.key !== "G") return act.host(false);
    if (handle(e, table)) e.preventDefault();
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

function handle(e: KeyboardEvent, table: TableView): boolean {
  const g = get().net.game, onButton = e.target instanceof Element && e.target.closest("button,a") !== null;
  const bidding = myTurn(g) && g.phase === "bid";
  switch (e.key) {
    case "ArrowLeft": table.moveFocus(-1); return true;
    case "ArrowRight": table.moveFocus(1); return true;
    case "ArrowUp": case " ": {
      const card = table.focused();
      if (card === null) return false;
      act.toggle(card);
      return true;
    }
    case "Enter": if (onButton) return false; act.play(); return true;
    case "Escape": case "Backspace":
      if (get().dialog === "panel") update({ dialog: null });
      else act.clear();
      return true;
    case "p": case "P": act.pass(); return true;
    case "h": act.hint(1); return true;
    case "H": act.hint(e.shiftKey ? -1 : 1); return true;
    case "g": case "G": if (g && g.me !== null) act.host(!act.hosted(g)); return true;
    case "c": case "C": setSettings({ counter: !get().settings.counter }); return true;
    case "i": case "I": toggleHelp(); return true;
    case "m": case "M": setSettings({ sound: !get().settings.sound }); return true;
    case "f": case "F": fullScreen(); return true;
    case "?": update({ dialog: "keys" }); return true;
  }
  if (bidding && "0123".includes(e.key)) {
    act.bid(Number(e.key));
    return true;
  }
  // With Shift the key of a digit gives another character; its code still names it.
  const rank = rankOfKey(e.shiftKey && e.code.startsWith("Digit") ? e.code.slice(5) : e.key);
  if (rank < 0) return false;
  act.chooseRank(rank, e.shiftKey);
  return true;
}

function toggleHelp(): void {
  const a = get();
  if (matchMedia("(max-width: 1023px)").matches) return update({ dialog: a.dialog === "panel" ? null : "panel" });
  setSettings({ help: !a.settings.help });
  act.askAdvice();
}
