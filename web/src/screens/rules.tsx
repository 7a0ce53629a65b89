// The rules on one screen; shown once before the first game.
import { quick } from "../commands";
import { t, type Key } from "../i18n";
import { setSettings, useApp } from "../store";
import { fanMarkup } from "../table/cardnode";

// Cards of the pictures: rank * 4 + suit (heart, diamond, spade, club).
const COMBOS: [Key, string, number[]][] = [
  ["kind.single", "", [20]], ["kind.pair", "", [18, 17]], ["kind.triple", "", [24, 26, 27]], ["kind.t1", "", [24, 26, 27, 5]], ["kind.t2", "", [24, 26, 27, 5, 6]],
  ["kind.straight", " ≥5", [28, 26, 23, 17, 14]], ["kind.pairs", " ≥3", [14, 12, 10, 9, 7, 4]], ["kind.plane", "", [22, 20, 21, 18, 16, 19]], ["rule.wings", "", [22, 20, 21, 18, 16, 19, 41, 2]],
  ["kind.q2", "", [14, 12, 13, 15, 34, 1]], ["kind.bomb", " ×2", [42, 40, 41, 43]], ["kind.rocket", " ×2", [53, 52]],
];

export default function Rules() {
  const saw = useApp((a) => a.settings.sawRules), online = useApp((a) => a.net.link === "online");
  useApp((a) => a.settings.lang);
  const start = () => {
    setSettings({ sawRules: true });
    void quick();
  };
  return (
    <main class="page" id="main">
      <section class="box rules">
        <h1>{t("rule.title")}</h1>
        <ol class="how">{([1, 2, 3, 4] as const).map((n) => <li><b>{t(`rule.t${n}`)}</b>{t(`rule.l${n}`)}</li>)}</ol>
        <div class="cg">{COMBOS.map(([key, more, cards]) => <div class="cb"><div aria-hidden="true" dangerouslySetInnerHTML={{ __html: fanMarkup(cards) }} /><span>{t(key)}{more}</span></div>)}</div>
        {!saw && <div class="brow right"><button class="btn pri" disabled={!online} onClick={start}>{t("rule.go")}</button></div>}
      </section>
    </main>
  );
}
