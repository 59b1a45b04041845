import { createHash } from 'node:crypto';
import { parseJson } from '@relay/json';
import { z } from 'zod';

/** Maximum number of bytes of a logo in a `data:` URI, which belong to the first load of every visitor. */
const LOGO_BYTES = 16_384;

/** How the bytes of an image of each type begin, and the extension of its file. */
const IMAGES: Readonly<Record<string, { readonly extension: string; readonly begins: RegExp }>> = {
  'image/png': { extension: 'png', begins: /^\u0089PNG\r\n/ },
  'image/webp': { extension: 'webp', begins: /^RIFF.{4}WEBP/s },
  'image/svg+xml': { extension: 'svg', begins: /^\s*<(?:svg|\?xml|!--)/ },
};
const WRONG_LOGO = `an https URL, or a data: URI in base64 of a PNG, SVG or WebP of at most ${LOGO_BYTES} bytes, is expected`;

/** Returns the address of a logo, or the image in a `data:` URI; undefined for any other text. */
function readLogo(text: string): string | { type: string; extension: string; bytes: Buffer } | undefined {
  const [, type = '', encoded = ''] = /^data:([a-z+/]+);base64,([\w+/]+={0,2})$/.exec(text) ?? [];
  const image = IMAGES[type];
  if (image === undefined) {
    const url = URL.parse(text);
    // In a Content-Security-Policy these separate its parts, or stand for other hosts.
    const isFit =
      url?.protocol === 'https:' && url.username + url.password + url.hash === '' && !/[;,*]/.test(url.href);
    return isFit ? url.href : undefined;
  }
  const bytes = Buffer.from(encoded, 'base64');
  const isImage = bytes.length <= LOGO_BYTES && image.begins.test(bytes.toString('latin1'));
  return isImage ? { type, extension: image.extension, bytes } : undefined;
}

const Theme = z.strictObject({
  /** Printable, without characters that hide or turn the text beside them. */
  name: z
    .string()
    .trim()
    .regex(/^\P{C}{1,40}$/u, '1 to 40 printable characters are expected')
    .optional(),
  logo: z
    .string()
    .transform((text, context) => {
      const logo = readLogo(text);
      if (logo === undefined) context.addIssue({ code: 'custom', message: WRONG_LOGO });
      return logo;
    })
    .optional(),
  accent: z
    .string()
    .regex(/^#[0-9a-f]{6}$/i, 'a colour such as #1d5fbf is expected')
    .optional(),
});
/** The look of an app that its operator has chosen. */
export type Theme = z.infer<typeof Theme>;

/** Reads a theme in JSON. @throws Error that names each wrong member */
export function readTheme(text: string): Theme {
  const json = parseJson(Buffer.from(text));
  if (!json.ok) throw new Error('JSON such as {"name":"Acme"} is expected');
  const result = Theme.safeParse(json.value);
  if (result.success) return result.data;
  throw new Error(result.error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; '));
}

/** The parts that a theme adds to an app. */
export interface Dress {
  /** Files by name, such as `theme-0A1B2C3D.css`. */
  readonly files: ReadonlyMap<string, { readonly type: string; readonly bytes: Buffer }>;
  /** Elements for the end of the document's head. */
  readonly head: string;
  /** Title of the product as HTML; undefined if the theme has none. */
  readonly name: string | undefined;
  /** Source of images beside the own origin, for the Content-Security-Policy; empty if there is none. */
  readonly images: string;
}

/** @param folder path of the app's files, relative to the document */
export function dressOf({ name, logo, accent }: Theme, folder: string): Dress {
  const files = new Map<string, { type: string; bytes: Buffer }>();
  const add = (word: string, extension: string, type: string, bytes: Buffer): string => {
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase();
    files.set(`${word}-${hash}.${extension}`, { type, bytes });
    return `${folder}${word}-${hash}.${extension}`;
  };
  const head: string[] = [];
  if (name !== undefined) head.push(`<meta name="application-name" content="${escaped(name)}" />`);
  if (accent !== undefined) {
    const style = add('theme', 'css', 'text/css; charset=utf-8', Buffer.from(styleOf(accent)));
    head.push(`<link rel="stylesheet" href="${style}" />`);
  }
  if (logo !== undefined) {
    const address = typeof logo === 'string' ? logo : add('logo', logo.extension, logo.type, logo.bytes);
    head.push(`<link id="logo" rel="icon" href="${escaped(address)}" />`);
  }
  return {
    files,
    head: head.join(''),
    name: name === undefined ? undefined : escaped(name),
    // A source has no query.
    images: typeof logo === 'string' ? (logo.split('?')[0] ?? '') : '',
  };
}

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0) ?? 0};`);

/** Contrast of text by WCAG 2.2, 1.4.3. */
const AA = 4.5;
/** The backgrounds of `libs/clients/ui/base.css` with the least contrast to a text: the darkest light, the lightest dark one. */
const [LIGHT_BACK, DARK_BACK] = ['#fde8e6', '#14301f'];

/**
 * Returns a style that sets the accent. The accent becomes darker on light backgrounds, and lighter on dark ones, until text
 * in it can be read there, and the text of a button on it.
 */
const styleOf = (accent: string): string =>
  `:root{--accent:light-dark(${legible(accent, LIGHT_BACK, 0)},${legible(accent, DARK_BACK, 255)})}`;

/** @param towards channel of black or of white, with which the colour is mixed */
function legible(accent: string, back: string, towards: 0 | 255): string {
  const channels = channelsOf(accent);
  for (let percent = 0; percent <= 100; percent += 2) {
    const mixed = channels.map((channel) => Math.round(channel + ((towards - channel) * percent) / 100));
    if (contrast(mixed, channelsOf(back)) >= AA)
      return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
  }
  throw new RangeError(`no shade can be read on ${back}`);
}

const channelsOf = (colour: string): number[] => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** Returns the contrast of two colours by WCAG 2.2, from 1 to 21. */
export function contrast(one: readonly number[], other: readonly number[]): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(channels: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = channels.map((channel) => {
    const share = channel / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
