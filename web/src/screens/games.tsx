// Finished games: one's own and everybody's; a record can be uploaded.
import { useState } from "preact/hooks";
import * as api from "../api";
import { toast } from "../commands";
import { language, signed, t, type Key } from "../i18n";
import { recordName } from "../names";
import { go, useApp } from "../store";
import { A, Box, Seg, useLoad, Waiting } from "../ui";

export default function Games() {
  const [whose, setWhose] = useState<"mine" | "all">("mine");
  const token = useApp((a) => a.net.token);
  const first = useLoad(`${whose} ${token}`, () => (whose === "mine" ? api.games() : api.recent(40)), token !== null);
  return (
    <main class="page" id="main">
      <div class="narrow">
        <h1 class="vh">{t("nav.replay")}</h1>
        <Box title={<Seg label={t("nav.replay")} value={whose} onPick={setWhose} options={[["mine", t("rev.mine")], ["all", t("rev.recent")]]} />} side={<Upload />}>
          {!first.data ? <Waiting of={first} /> : <GameTable key={whose + token} first={first.data} />}
        </Box>
      </div>
    </main>
  );
}

function Upload() {
  const put = async (file: File | undefined) => {
    if (!file) return;
    try {
      go(`/g/${await api.upload(file)}`);
    } catch {
      toast(t("rev.badrecord"));
    }
  };
  return <label class="btn sm">{t("rev.upload")}<input type="file" class="vh" accept=".ddz,application/octet-stream" onChange={(e) => void put(e.currentTarget.files?.[0])} /></label>;
}

const ROLE: Record<api.GameRow["role"], Key> = { landlord: "role.landlord", up: "st.up", down: "st.down" };

export function GameTable({ first }: { first: api.GameList }) {
  const [list, setList] = useState(first);
  const more = async () => {
    const next = await api.games(list.games.at(-1)?.game);
    setList({ games: [...list.games, ...next.games], more: next.more });
  };
  if (list.games.length === 0) return <p class="mut empty">{t("rev.none")}</p>;
  const when = new Intl.DateTimeFormat(language() === "zh" ? "zh-CN" : "en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  return (
    <>
      <div class="scroll">
        <table class="list">
          <thead><tr><th scope="col">{t("rev.title")}</th><th scope="col">{t("end.role")}</th><th scope="col" class="opt">{t("end.player")}</th><th scope="col" class="r">{t("end.points")}</th></tr></thead>
          <tbody>{list.games.map((g) => (
            <tr>
              <td><A href={`/g/${g.game}`} class="num">{when.format(g.at)}</A></td><td class="mut">{t(ROLE[g.role])}</td><td class="mut opt">{([0, 1, 2] as const).map((s) => recordName(g.names, s)).join(" · ")}</td>
              <td class={`r num ${g.won ? "pos" : "neg"}`}>{t(g.won ? "rev.won" : "rev.lost")} {signed(g.points, 0)}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      {list.more && <div class="brow right"><button class="btn sm" onClick={() => void more()}>{t("rev.more")}</button></div>}
    </>
  );
}
