import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Names that scripts/lib/pages.mjs gives: what the file is of, and the hash of its content. */
const NAME = /^[a-z]+-[A-Z0-9]{8}\.(js|css|svg)$/;

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

export interface Served {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The built files of one app of pages. A file with a hash in its name is read once and kept, some 30 kB of an app: every further
 * read leaves as much garbage to collect.
 */
export class Page {
  readonly #kept = new Map<string, Buffer>();

  /**
   * @param app its name, such as `portal`
   * @param frameAncestors origins whose pages may show it in a frame; none unless given
   */
  constructor(
    private readonly app: string,
    private readonly frameAncestors: readonly string[] = [],
  ) {}

  /** Undefined when the pages were not built. */
  async document(): Promise<Served | undefined> {
    const bytes = await this.#read('index.html');
    const headers = {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policyOf(this.frameAncestors),
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    };
    return bytes && { bytes, headers };
  }

  /** A file that the document names; undefined for any other. @param accepted the header `accept-encoding` of the request */
  async file(name: string, accepted = ''): Promise<Served | undefined> {
    const type = TYPES[NAME.exec(name)?.[1] ?? ''];
    if (type === undefined) return undefined;
    const headers = {
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    };
    const isPacked = /\bgzip\b/.test(accepted);
    const path = isPacked ? `${name}.gz` : name;
    const bytes = this.#kept.get(path) ?? (await this.#read(path));
    if (bytes === undefined) return undefined;
    this.#kept.set(path, bytes);
    return { bytes, headers: isPacked ? { ...headers, 'content-encoding': 'gzip' } : headers };
  }

  /** Undefined when there is no such file. */
  async #read(path: string): Promise<Buffer | undefined> {
    try {
      return await readFile(new URL(`${this.app}/${path}`, folder()));
    } catch {
      return undefined;
    }
  }
}

/** Beside the built code; specs run the sources and use what was built of them. */
function folder(): URL {
  const built = new URL('../../../pages/', import.meta.url);
  return existsSync(fileURLToPath(built)) ? built : new URL('../../../dist/pages/', import.meta.url);
}

/** Files and calls of the own origin only; no text becomes script (Trusted Types), and nobody frames it who is not named. */
const policyOf = (frameAncestors: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors.length === 0 ? "'none'" : frameAncestors.join(' ')}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
