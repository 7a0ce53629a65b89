// Records, statistics and training figures over HTTP (docs/protocol.md, section 5).
import type { End, Kind, Rules, Seat, Why } from "./protocol";

type Role = "landlord" | "up" | "down";
type Three<T> = [T, T, T];

export interface GameRow { game: string; at: number; rules: Rules; role: Role; won: boolean; points: number; names: Three<string>; seat: Seat; plies: number; rated: boolean }
export interface GameList { games: GameRow[]; more: boolean }
export interface GameRecord {
  game: string; at: number; rules: Rules; names: Three<string>; kinds: Three<"human" | "bot">; me: Seat | null; first: Seat; landlord: Seat; base: number;
  deal: Three<number[]>; kitty: Three<number>; bids: [Seat, number][]; plays: [Seat, number[], Kind, number, Why][]; end: End;
}
export interface RoleStats { games: number; won: number; ppg: number; loss: number | null }
export interface Stats { games: number; ppg: number; roles: Record<Role, RoleStats>; bids: number[]; bombs: number; springs: number; points: number[] }
export interface BoardRow { place: number; name: string; bot: boolean; games: number; ppg: number; ppg_ci: number | null; rating: number; rating_ci: number | null; me: boolean }
export interface Series { x: number[]; y: (number | null | "nan")[]; lo?: (number | null)[]; hi?: (number | null)[] }
export interface Train {
  run: string | null; state: "running" | "stale" | "done" | "none"; age_ms: number; started: number; frames: number; games: number; checkpoint: number | string | null;
  command: string; baseline?: string; series: Record<string, Series>; nodes: { name: string; kind: string; load: number; state: "up" | "lost" }[];
}
export interface Runs { runs: { run: string; at: number; state: string }[] }

function headers(): HeadersInit {
  try {
    const token = localStorage.getItem("ddz.token");
    return token ? { Authorization: `Bearer ${token}` } : {};
  } catch {
    return {};
  }
}

export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string) {
    super(code);
  }
}

async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const r = await fetch(`/api/${path}`, { ...init, headers: headers() });
  if (r.ok) return r;
  const body = (await r.json().catch(() => ({}))) as { error?: string };
  throw new ApiError(r.status, body.error ?? String(r.status));
}
const json = async <T>(path: string): Promise<T> => (await ask(path)).json() as Promise<T>;

export const games = (before?: string, n = 20): Promise<GameList> => json(`games?n=${n}${before ? `&before=${encodeURIComponent(before)}` : ""}`);
export const recent = (n = 20): Promise<GameList> => json(`games/recent?n=${n}`);
export const game = (id: string): Promise<GameRecord> => json(`games/${encodeURIComponent(id)}`);
export const stats = (last: number): Promise<Stats> => json(`stats?last=${last}`);
export const board = (span: "week" | "all"): Promise<{ rows: BoardRow[] }> => json(`board?span=${span}`);
export const train = (run?: string, since?: number): Promise<Train> => json(`train?${new URLSearchParams({ ...(run ? { run } : {}), ...(since ? { since: String(since) } : {}) })}`);
export const runs = (): Promise<Runs> => json("runs");

export async function download(id: string): Promise<void> {
  const blob = await (await ask(`games/${encodeURIComponent(id)}/record`)).blob();
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = `${id}.ddz`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

/** Gives the id of the game. */
export async function upload(file: Blob): Promise<string> {
  return ((await (await ask("records", { method: "POST", body: file })).json()) as { game: string }).game;
}
