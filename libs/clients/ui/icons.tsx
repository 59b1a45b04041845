/** Strokes of each icon, in a box of 16 by 16. */
const ICONS = {
  plus: 'M8 3v10M3 8h10',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  clock: 'M8 4.5V8l2.5 1.5M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Z',
  copy: 'M5.5 5.5h8v8h-8zM2.5 10.5v-8h8',
  retry: 'M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2.5V6H9.5',
  send: 'M14 2 7 9M14 2 9.5 14 7 9 2 6.5Z',
} as const;

export type IconName = keyof typeof ICONS;

/** A small picture beside a text that says the same, or in a control that has a name of its own. */
export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={ICONS[name]} />
  </svg>
);
