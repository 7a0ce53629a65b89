// The ranking: people and bots, with the uncertainty of each figure.
import { useState } from "preact/hooks";
import * as api from "../api";
import { signed, t, whole } from "../i18n";
import { boardName } from "../names";
import { useApp } from "../store";
import { A, Box, Seg, useLoad, Waiting } from "../ui";

export default function Rank() {
  const [span, setSpan] = useState<"week" | "all">("week");
  const token = useApp((a) => a.net.token);
  const b = useLoad(`rank ${span} ${token}`, () => api.board(span));
  return (
    <main class="page" id="main">
      <div class="narrow">
        <Box title={t("nav.rank")} side={<Seg label={t("nav.rank")} value={span} onPick={setSpan} options={[["week", t("rank.week")], ["all", t("rank.all")]]} />}>
          {!b.data ? <Waiting of={b} /> : b.data.rows.length === 0 ? <p class="mut empty">{t("rank.none")}</p> : (
            <div class="scroll">
              <table class="list num">
                <thead><tr><th scope="col">#</th><th scope="col">{t("st.name")}</th><th scope="col" class="r">{t("st.games")}</th><th scope="col" class="r opt">{t("st.ppg")}</th><th scope="col" class="r">{t("rank.rating")}</th></tr></thead>
                <tbody>{b.data.rows.map((r) => (
                  <tr class={r.me ? "mine" : ""}>
                    <td class="mut">{r.place}</td><td><b>{boardName(r.name, r.bot)}</b>{r.bot && <span class="mut small"> AI</span>}</td><td class="r">{whole(r.games)}</td>
                    <td class="r opt">{signed(r.ppg, 2)} {r.ppg_ci !== null && <span class="mut small">± {r.ppg_ci.toFixed(2)}</span>}</td><td class="r"><b>{whole(r.rating)}</b> {r.rating_ci !== null && <span class="mut small">± {whole(r.rating_ci)}</span>}</td>
                  </tr>
                ))}</tbody>
              </table>
            </div>
          )}
          <p class="mut small under">{t("rank.need")}</p>
        </Box>
        <A class="btn" href="/me">{t("st.record")}</A>
      </div>
    </main>
  );
}
