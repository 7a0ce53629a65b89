// The drawn signs of the page: suits, crowns, icons. One hidden sprite; everything refers to it with <use>.

const stroke = 'fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"';
const line = (d: string): string => `<path ${stroke} d="${d}"/>`;
const fill = (d: string): string => `<path fill="currentColor" d="${d}"/>`;

const SIGNS: Record<string, string> = {
  h: fill("M12 21.4C5.3 15.5 2 11.9 2 8.1 2 5.1 4.2 3 6.9 3 9.1 3 11 4.2 12 6.2 13 4.2 14.9 3 17.1 3 19.8 3 22 5.1 22 8.1 22 11.9 18.7 15.5 12 21.4Z"),
  d: fill("M12 1.2C14.4 5.4 17.2 8.8 20.6 12 17.2 15.2 14.4 18.6 12 22.8 9.6 18.6 6.8 15.2 3.4 12 6.8 8.8 9.6 5.4 12 1.2Z"),
  s: fill("M12 1.5C14 6.2 21.4 9.6 21.4 14.6 21.4 17.5 19.3 19.4 16.9 19.4 15.2 19.4 13.8 18.6 12.9 17.3 13.1 19.8 14 21.6 15.8 22.6H8.2C10 21.6 10.9 19.8 11.1 17.3 10.2 18.6 8.8 19.4 7.1 19.4 4.7 19.4 2.6 17.5 2.6 14.6 2.6 9.6 10 6.2 12 1.5Z"),
  c: `<g fill="currentColor"><circle cx="12" cy="6.6" r="4.9"/><circle cx="6.6" cy="14" r="4.9"/><circle cx="17.4" cy="14" r="4.9"/><path d="M10 9.5h4l-.9 5c.1 3.7 1 6.7 2.9 8.1H8c1.9-1.4 2.8-4.4 2.9-8.1z"/></g>`,
  crown: fill("M3.5 18.5 1.5 7.5 7.6 11.6 12 3.5 16.4 11.6 22.5 7.5 20.5 18.5ZM3.7 20h16.6v2H3.7Z"),
  crowno: line("M4.3 17.7 2.6 9.2 8 12.8 12 5.5 16 12.8 21.4 9.2 19.7 17.7ZM4.3 21h15.4"),
  hat: line("M2.5 16.5h19M7 16.5 12 5l5 11.5M5 19.5c4 1.3 10 1.3 14 0"),
  bot: line("M5 9h14v9H5zM12 9V5M12 4.2v.1M9 13v1M15 13v1M2.5 12v3M21.5 12v3"),
  user: line("M4.5 20c.8-4.5 4-6 7.5-6s6.7 1.5 7.5 6M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z"),
  bulb: line("M9 17.5h6M10 20.5h4M8.5 15C6.5 13.6 6 12 6 10a6 6 0 0 1 12 0c0 2-.5 3.6-2.5 5z"),
  grid: line("M4 5h16v14H4zM4 12h16M9.3 5v14M14.7 5v14"),
  gear: line("M4 7h9M17 7h3M4 17h3M11 17h9M15 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM9 19a2 2 0 1 0 0-4 2 2 0 0 0 0 4z"),
  menu: line("M4 7h16M4 12h16M4 17h16"),
  sound: line("M4 10v4h3l5 4V6L7 10zM15.5 9.5q2 2.5 0 5M18 7q4 5 0 10"),
  mute: line("M4 10v4h3l5 4V6L7 10zM16 9.5l5 5M21 9.5l-5 5"),
  moon: line("M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z"),
  sun: line("M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4"),
  first: fill("M5 5h2v14H5zM19 5v14L8 12z"),
  last: fill("M17 5h2v14h-2zM5 5v14l11-7z"),
  prev: line("M14.5 6 8.5 12l6 6"),
  next: line("m9.5 6 6 6-6 6"),
  run: fill("M8 5v14l11-7z"),
  pause: fill("M7 5h3.6v14H7zM13.4 5H17v14h-3.6z"),
  close: line("M6 6l12 12M18 6 6 18"),
  share: line("M12 15V4M8 7.5 12 3.5l4 4M5 12v8h14v-8"),
  save: line("M12 4v11M8 11.5l4 4 4-4M5 20h14"),
  undo: line("M8 6 4 10l4 4M4 10h9a6 6 0 0 1 0 12h-2"),
  eye: line("M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z"),
  hand: line("M6 12V7.5a1.5 1.5 0 0 1 3 0V11 5a1.5 1.5 0 0 1 3 0v6-4.5a1.5 1.5 0 0 1 3 0V12v-2.5a1.5 1.5 0 0 1 3 0V15a6 6 0 0 1-6 6h-1c-2.5 0-4-1-5.5-3.5L3.5 14c-.6-1.4 1.2-2.4 2.2-1.2z"),
  talk: line("M4 5h16v11h-9l-4 4v-4H4z"),
  exit: line("M10 4H5v16h5M15 8l4 4-4 4M19 12H9"),
  pin: line("M12 21s-6.5-6-6.5-11a6.5 6.5 0 0 1 13 0c0 5-6.5 11-6.5 11z"),
};

export function putSprite(): void {
  const box = document.createElement("div");
  const symbols = Object.entries(SIGNS).map(([id, body]) => `<symbol id="${id}" viewBox="0 0 24 24">${body}</symbol>`).join("");
  box.innerHTML = `<svg width="0" height="0" aria-hidden="true" style="position:absolute">${symbols}</svg>`;
  document.body.prepend(box.firstElementChild!);
}

export type Icon = keyof typeof SIGNS;
export const icon = (name: string, cls = "ic"): string => `<svg class="${cls}" aria-hidden="true"><use href="#${name}"/></svg>`;
