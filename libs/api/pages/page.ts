import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { dressOf, type Theme } from './theme.js';

/** File names that scripts/lib/pages.mjs gives: a word for the content, the hash of the content, and an extension. */
const NAME = /^[a-z]+-[A-Z0-9]{8}\.(js|css|svg)$/;

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const CACHED = 'public, max-age=31536000, immutable';
/** An SVG that somebody opens by its address is a document, so this policy lets none of its scripts run. */
const OF_THEME = {
  'cache-control': CACHED,
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
};

export interface Served {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The built files of one web app. A file with a hash in its name is read once and kept in memory, which takes some 30 kB for
 * each app. If it were read for every request, each read would leave as much memory to the garbage collector.
 */
export class Page {
  readonly #kept = new Map<string, Buffer>();
  readonly #dress;

  /**
   * @param app name of the web app, such as `portal`
   * @param frameAncestors origins whose pages may show this app in a frame; none by default
   * @param theme look of the app; its own by default
   */
  constructor(
    private readonly app: string,
    private readonly frameAncestors: readonly string[] = [],
    theme: Theme = {},
  ) {
    this.#dress = dressOf(theme, `${app}/files/`);
  }

  /** Returns the HTML document; undefined if the pages were not built. */
  async document(): Promise<Served | undefined> {
    const bytes = await this.#read('index.html');
    const { head, name, images } = this.#dress;
    const text = bytes
      ?.toString()
      .replace(/Partner Relay(?=<\/title>)/, (own) => name ?? own)
      .replace('</head>', () => `${head}</head>`);
    const headers = {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policyOf(this.frameAncestors, images),
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    };
    return text === undefined ? undefined : { bytes: Buffer.from(text), headers };
  }

  /**
   * Returns a file to which the document refers; undefined for any other name.
   * @param accepted the request's header `accept-encoding`
   */
  async file(name: string, accepted = ''): Promise<Served | undefined> {
    const own = this.#dress.files.get(name);
    if (own !== undefined) return { bytes: own.bytes, headers: { ...OF_THEME, 'content-type': own.type } };
    const type = TYPES[NAME.exec(name)?.[1] ?? ''];
    if (type === undefined) return undefined;
    const headers = {
      'content-type': type,
      'cache-control': CACHED,
      vary: 'accept-encoding',
    };
    const isPacked = /\bgzip\b/.test(accepted);
    const path = isPacked ? `${name}.gz` : name;
    const bytes = this.#kept.get(path) ?? (await this.#read(path));
    if (bytes === undefined) return undefined;
    this.#kept.set(path, bytes);
    return { bytes, headers: isPacked ? { ...headers, 'content-encoding': 'gzip' } : headers };
  }

  /** Returns undefined if there is no such file. */
  async #read(path: string): Promise<Buffer | undefined> {
    try {
      return await readFile(new URL(`${this.app}/${path}`, folder()));
    } catch {
      return undefined;
    }
  }
}

/** Returns the folder of the built pages. It is beside the built code. Specs run the sources and use the pages in `dist`. */
function folder(): URL {
  const built = new URL('../../../pages/', import.meta.url);
  return existsSync(fileURLToPath(built)) ? built : new URL('../../../dist/pages/', import.meta.url);
}

/**
 * Permits files and calls of the own origin only, images of one more source, and frames only in the listed origins. No text
 * becomes a script (Trusted Types).
 */
const policyOf = (frameAncestors: readonly string[], images: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src 'self' ${images}`.trim(),
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors.length === 0 ? "'none'" : frameAncestors.join(' ')}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
