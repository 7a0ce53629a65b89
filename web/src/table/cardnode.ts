// One card as a DOM node: a large rank, a small suit, nothing inside the part that another card covers.
import { rankOf, rankText, suitOf, type Card } from "../cards";
import { icon } from "../icons";

/** The inside of a face; the same for every size, for it is drawn in multiples of --cw. */
function face(card: Card): string {
  const suit = suitOf(card);
  if (!suit) {
    const crown = icon(card === 53 ? "crown" : "crowno", "s");
    const letters = [..."JOKER"].map((l) => `<i data-l="${l}"></i>`).join("");
    return `<span class="ix">${crown}${letters}</span>${icon(card === 53 ? "crown" : "crowno", "pip")}`;
  }
  const rank = rankText(rankOf(card));
  return `<span class="ix"><b${rank === "10" ? ' class="ten"' : ""}>${rank}</b>${icon(suit, "s")}</span>${icon(suit, "pip")}`;
}

export function cardClass(card: Card | null): string {
  if (card === null) return "card back";
  return `card ${suitOf(card) ?? (card === 53 ? "jk jr" : "jk jb")}`;
}

export function cardNode(card: Card | null): HTMLElement {
  const el = document.createElement("div");
  el.className = cardClass(card);
  if (card !== null) el.innerHTML = face(card);
  return el;
}

/** A still fan as markup, for pages that only picture cards. */
export function fanMarkup(cards: readonly Card[], k = 0.4): string {
  const n = cards.length;
  const inner = cards.map((c, i) => `<div class="${cardClass(c)}${i < n - 1 ? " cov" : ""}" style="left:calc(var(--cw)*${(k * i).toFixed(3)})">${face(c)}</div>`).join("");
  return `<div class="fan" style="width:calc(var(--cw)*${1 + k * (n - 1)})">${inner}</div>`;
}
