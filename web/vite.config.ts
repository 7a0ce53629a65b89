import { defineConfig } from "vitest/config";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { constants, brotliCompressSync, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

/** Writes .gz and .br beside each text file and the engine, for the server to send as they are. */
function compress(): Plugin {
  return {
    name: "compress",
    apply: "build",
    // After all else: the files on disk are what is sent.
    writeBundle(options, bundle) {
      for (const name of [...Object.keys(bundle), "icon.svg"]) {
        if (!/\.(js|css|html|svg|wasm)$/.test(name)) continue;
        const file = join(options.dir!, name), bytes = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
      }
    },
  };
}

// The engine comes from the C build; ENGINE_WASM says where it is.
const engine = resolve(process.env.ENGINE_WASM ?? "../build/release/engine.wasm");

export default defineConfig({
  resolve: { alias: [{ find: /^engine\.wasm/, replacement: engine }] },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [compress()],
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, rolldownOptions: { checks: { pluginTimings: false } }, reportCompressedSize: false },
  server: { proxy: { "/ws": { target: "ws://127.0.0.1:8765", ws: true }, "/api": "http://127.0.0.1:8765" } },
  test: { include: ["test/**/*.test.ts"] },
});
