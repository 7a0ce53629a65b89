// Starts the page: settings, sprite, screens, line, engine - in this order, so that something is seen at once.
import { render } from "preact";
import "./styles/theme-light.css";
import "./styles/theme-dark.css";
import "./styles/base.css";
import "./styles/cards.css";
import "./styles/table.css";
import "./styles/pages.css";
import { readCode } from "./commands";
import { connect } from "./connection";
import { load } from "./engine";
import wasm from "engine.wasm?url";
import { putSprite } from "./icons";
import { watchTurns } from "./play";
import { Shell } from "./screens/shell";
import { apply } from "./settings";
import { get, setSettings, update } from "./store";

apply(get().settings);
putSprite();
watchTurns();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setSettings({}));
render(<Shell />, document.getElementById("app")!);
connect(location.pathname.startsWith("/r/") ? readCode(location.pathname.slice(3)) : undefined);
void load(fetch(wasm)).then((engine) => update({ engine }));
