// Who sits where, by name. Bots have no name of their own on the server: the page gives one in its language.
import { t, type Key } from "./i18n";
import type { RoomSeat, Seat } from "./protocol";

export const botName = (seat: Seat): string => t(`bot.${seat}`);
/** Names of a record, where bots go by their strength. */
export const recordName = (names: readonly string[], seat: Seat): string => (["", "easy", "mid", "best"].includes(names[seat] ?? "") ? botName(seat) : names[seat]!);
/** A row of the ranking: bots are told apart by strength. */
export const boardName = (name: string, bot: boolean): string => (bot && ["easy", "mid", "best"].includes(name) ? t(`str.${name}` as Key) : name);
export const nameOf = (seats: readonly RoomSeat[] | undefined, seat: Seat): string => {
  const s = seats?.[seat];
  return s?.kind === "bot" && !s.name ? botName(seat) : (s?.name ?? "");
};
