// Settings, the list of keys, and the two other dialogs.
import { leaveRoom, tell } from "../commands";
import { language, t, type Key } from "../i18n";
import { cue } from "../sound";
import { setSettings, update, useApp } from "../store";
import { Dialog, Seg } from "../ui";
import { Invitation } from "./room";

const close = () => update({ dialog: null });

export function Dialogs() {
  const dialog = useApp((a) => a.dialog);
  useApp((a) => a.settings);
  return dialog === "settings" ? <Settings /> : dialog === "keys" ? <Keys /> : dialog === "leave" ? <Leave /> : dialog === "invite" ? <Talk /> : null;
}

function Switch(p: { label: string; on: boolean; set: (on: boolean) => void }) {
  return <label class="switch"><span>{p.label}</span><input type="checkbox" role="switch" checked={p.on} onChange={(e) => p.set(e.currentTarget.checked)} /></label>;
}

function Settings() {
  const s = useApp((a) => a.settings);
  return (
    <Dialog title={t("nav.set")} onClose={close}>
      <div class="opts plain set">
        <span>{t("set.lang")}</span><div><Seg label={t("set.lang")} value={s.lang} onPick={(lang) => setSettings({ lang })} options={[["zh", "中文"], ["en", "English"]]} /></div>
        <span>{t("set.themes")}</span><div><Seg label={t("set.themes")} value={s.theme} onPick={(theme) => setSettings({ theme })} options={[["auto", t("set.auto")], ["light", t("set.light")], ["dark", t("set.dark")]]} /></div>
        <span>{t("set.motions")}</span><div><Seg label={t("set.motions")} value={s.motion} onPick={(motion) => setSettings({ motion })} options={[["normal", t("set.normal")], ["fast", t("set.fast")], ["none", t("set.none")]]} /></div>
        <span>{t("set.think")}</span><div><Seg label={t("set.think")} value={s.think} onPick={(think) => setSettings({ think })} options={[[0, t("set.atonce")], [800, t("set.normal")], [1500, t("set.slow")]]} /></div>
        <span>{t("set.sort")}</span><div><Seg label={t("set.sort")} value={s.sort} onPick={(sort) => setSettings({ sort })} options={[["rank", t("set.byrank")], ["kind", t("set.bykind")]]} /></div>
      </div>
      <Switch label={t("set.sound")} on={s.sound} set={(sound) => { setSettings({ sound }); cue("turn"); }} />
      <Switch label={t("set.four")} on={s.four} set={(four) => setSettings({ four })} />
      <Switch label={t("set.smart")} on={s.smart} set={(smart) => setSettings({ smart })} />
      <Switch label={t("set.autopass")} on={s.autopass} set={(autopass) => setSettings({ autopass })} />
      <Switch label={t("set.help")} on={s.help} set={(help) => setSettings({ help })} />
      <Switch label={t("set.counter")} on={s.counter} set={(counter) => setSettings({ counter })} />
      <Switch label={t("set.ranksonly")} on={s.ranksOnly} set={(ranksOnly) => setSettings({ ranksOnly })} />
      <div class="brow right"><button class="btn sm" onClick={() => update({ dialog: "keys" })}>{t("set.keys")}</button></div>
    </Dialog>
  );
}

const KEYS: [string, Key][] = [
  ["← →", "key.move"], ["↑ Space", "key.choose"], ["3–9 T J Q K A 2", "key.rank"], ["X D", "key.joker"], ["Enter", "act.play"], ["P", "act.pass"], ["H", "act.hint"],
  ["⇧ H", "act.prevhint"], ["Esc", "act.clear"], ["0 1 2 3", "key.bid"], ["G", "act.host"], ["C I", "key.panel"], ["M", "key.mute"], ["F", "key.full"], ["← → Home End", "key.ends"],
  ["Space", "key.run"], ["B N", "key.diff"], ["?", "key.help"],
];

function Keys() {
  return <Dialog title={t("set.keys")} onClose={close}><table class="keys"><tbody>{KEYS.map(([k, what]) => <tr key={k + what}><th scope="row"><kbd>{k}</kbd></th><td>{t(what)}</td></tr>)}</tbody></table></Dialog>;
}

function Leave() {
  return (
    <Dialog title={t("room.leave")} onClose={close}>
      <p>{t("leave.ask")}</p>
      <div class="brow right"><button class="btn sm" onClick={close}>{t("leave.no")}</button><button class="btn sm pri" onClick={() => { close(); void leaveRoom(); }}>{t("leave.yes")}</button></div>
    </Dialog>
  );
}

/** Phrases to say, and the link for friends. */
function Talk() {
  const room = useApp((a) => a.net.room);
  language();
  return (
    <Dialog title={t("phr.title")} onClose={close}>
      <div class="phrases">{[1, 2, 3, 4, 5, 6, 7, 8].map((n) => <button class="btn sm" onClick={() => { close(); void tell({ t: "phrase", n }); }}>{t(`phr.${n}` as Key)}</button>)}</div>
      {room && <Invitation code={room.room} />}
    </Dialog>
  );
}
