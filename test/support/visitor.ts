import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { pathOf } from '../documents/languages.js';
import type { Login } from './callers.js';
import type { Client } from './client.js';

/** Where this machine has a Chromium; undefined without one. */
export const chromium = pathOf('chromium') ?? pathOf('chromium-browser') ?? pathOf('google-chrome');

export const openBrowser = (): Promise<Browser> =>
  puppeteer.launch({ executablePath: chromium ?? '', args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/** What leads a partner into the portal: the place of a link that is made for it. */
export async function portalLink(partner: Client, link: object): Promise<string> {
  const { json } = await partner.request('POST', '/portal/links', link);
  return `portal${new URL(String(json['url'])).hash}`;
}

/** A folder for what the browser shows, to be looked at. */
const SCREENSHOTS = process.env['SCREENSHOTS'];
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** A busy machine with two cores answers four times as slowly as an idle one. */
const PATIENCE_MS = 60_000;
/** More elements than any page has. */
const TABS = 400;
const USUAL = { width: 1_280, height: 900 } as const;

/** What a screen reader would call the element that has the focus. */
const FOCUSED = `(() => {
  const at = document.activeElement;
  if (at === null) return '';
  const label = at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? at.innerText ?? '';
  return label.trim();
})()`;

/** As narrow as a page is read without moving sideways (WCAG 2.2, 1.4.10), and as wide as a screen of 4k. */
const WIDTHS = [320, 3_840] as const;
/** A line with more characters is hard to come back from (WCAG 2.2, 1.4.8 says 80; that of the last word may go on). */
const LINE = 100;

/** What of the page goes beyond the window, is cut off, or is a line too long to read. Code and tables move in a frame of their own. */
const UNFIT = `(() => {
  const found = [];
  const say = (fault, at) => found.push(fault + ': ' + at.outerHTML.slice(0, 120));
  const root = document.scrollingElement;
  if (root.scrollWidth > innerWidth) found.push('the page is ' + root.scrollWidth + ' wide');
  for (const at of document.querySelectorAll('body *')) {
    const box = at.getBoundingClientRect();
    if (box.width === 0 || at.closest('.unseen, .skip, thead, svg, pre, option') !== null) continue;
    if (box.right > innerWidth + 1 || box.left < -1) say('beyond the window', at);
    const isField = /^(?:INPUT|SELECT|TEXTAREA)$/.test(at.tagName);
    if (!isField && at.scrollWidth > at.clientWidth + 1 && getComputedStyle(at).display !== 'inline') say('cut', at);
    const text = [...at.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join('').trim();
    if (text.length <= ${LINE} || at.closest('td, code') !== null) continue;
    const lines = box.height / Number.parseFloat(getComputedStyle(at).lineHeight);
    if (text.length / Math.max(1, Math.round(lines)) > ${LINE}) say('a long line', at);
  }
  return found.slice(0, 5);
})()`;

/** A person at a browser who has a keyboard only; what went wrong meanwhile is kept. */
export class Visitor {
  /** Errors of the console, uncaught ones, and requests to another origin. */
  readonly faults: string[] = [];
  /** Kinds of questions of the browser itself, such as `beforeunload`; each gets a yes. */
  readonly asked: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly origin: string,
  ) {}

  /** @param expected parts of lines of the console that are no faults, such as the status of a refusal that is wanted */
  static async at(browser: Browser, origin: string, expected: readonly string[] = []): Promise<Visitor> {
    const page = await (await browser.createBrowserContext()).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.setViewport(USUAL);
    const visitor = new Visitor(page, origin);
    page.on('pageerror', (error) => visitor.faults.push(String(error)));
    page.on('console', (line) => {
      if (line.type() !== 'error' && line.type() !== 'warn') return;
      if (!expected.some((part) => line.text().includes(part))) visitor.faults.push(line.text());
    });
    page.on('dialog', (dialog) => {
      visitor.asked.push(dialog.type());
      void dialog.accept();
    });
    page.on('request', (request) => {
      const { origin: asked, protocol } = new URL(request.url());
      // The browser's own fields have pictures of this kind.
      if (asked !== origin && protocol !== 'data:') visitor.faults.push(`it asked ${request.url()}`);
    });
    return visitor;
  }

  async open(fragment = ''): Promise<void> {
    await this.page.goto(`${this.origin}/${fragment}`, { waitUntil: 'load' });
  }

  /** Changes the place within the page. */
  async goTo(place: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(place)}`);
  }

  /** Enters the console, and waits until it shows all of these texts. */
  async enter({ clientId, clientSecret }: Login, ...texts: string[]): Promise<void> {
    await this.open();
    await this.sees('Sign in');
    await this.type('Client id', clientId);
    await this.type('Client secret', clientSecret);
    await this.page.keyboard.press('Enter');
    await this.sees(...texts);
  }

  /** Waits until the page shows all of these texts. */
  async sees(...texts: string[]): Promise<void> {
    for (const text of texts)
      try {
        await this.page.waitForFunction(`document.body.innerText.includes(${JSON.stringify(text)})`);
      } catch {
        throw new Error(`the page does not show ${text}:\n${await this.text()}`);
      }
  }

  /** Waits until the page shows this text no more. */
  async seesNo(text: string): Promise<void> {
    try {
      await this.page.waitForFunction(`!document.body.innerText.includes(${JSON.stringify(text)})`);
    } catch {
      throw new Error(`the page goes on to show ${text}:\n${await this.text()}`);
    }
  }

  async text(): Promise<string> {
    return String(await this.page.evaluate('document.body.innerText'));
  }

  /** Presses Tab until the element with this name has the focus; it must be seen to have it. */
  async tabTo(name: string): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    while (performance.now() < until) {
      for (let pressed = 0; pressed < TABS; pressed += 1) {
        await this.page.keyboard.press('Tab');
        const found = await this.page.evaluate(FOCUSED);
        if (found !== name) continue;
        const outline = await this.page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
        if (outline === 'none') throw new Error(`nobody sees that ${name} has the focus`);
        return;
      }
    }
    throw new Error(`no Tab leads to ${name}:\n${await this.text()}`);
  }

  /** Goes to an element by Tab and presses Enter there. */
  async press(name: string): Promise<void> {
    await this.tabTo(name);
    await this.page.keyboard.press('Enter');
  }

  /** Goes to a field by Tab and types there. */
  async type(name: string, text: string): Promise<void> {
    await this.tabTo(name);
    await this.page.keyboard.type(text);
  }

  /** What does not fit the narrowest and the widest window. */
  async #unfit(): Promise<string[]> {
    const found: string[] = [];
    for (const width of WIDTHS) {
      await this.page.setViewport({ width, height: width === 320 ? 640 : 2_160 });
      const faults = (await this.page.evaluate(UNFIT)) as string[];
      found.push(...faults.map((fault) => `${width} px: ${fault}`));
    }
    await this.page.setViewport(USUAL);
    return found;
  }

  /**
   * Rules of WCAG A and AA that the page breaks, light and dark, each with the first element that breaks it, and what does not fit
   * windows of 320 and of 3,840 pixels.
   */
  async broken(): Promise<string[]> {
    const found: string[] = [];
    for (const scheme of ['light', 'dark']) {
      await this.page.emulateMediaFeatures([
        { name: 'prefers-color-scheme', value: scheme },
        { name: 'prefers-reduced-motion', value: 'reduce' },
      ]);
      await this.page.evaluate(axe);
      const rules = (await this.page.evaluate(
        'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`))',
      )) as string[];
      found.push(...rules.map((rule) => `${scheme} ${rule}`));
    }
    return [...found, ...(await this.#unfit())];
  }

  /** Pictures of the page as it is, in light, dark and narrow, where somebody wants to look. */
  async picture(name: string): Promise<void> {
    if (SCREENSHOTS === undefined) return;
    mkdirSync(SCREENSHOTS, { recursive: true });
    for (const [way, scheme, width] of [
      ['light', 'light', 1_280],
      ['dark', 'dark', 1_280],
      ['narrow', 'light', 360],
    ] as const) {
      await this.page.emulateMediaFeatures([
        { name: 'prefers-color-scheme', value: scheme },
        { name: 'prefers-reduced-motion', value: 'reduce' },
      ]);
      await this.page.setViewport({ width, height: 900 });
      await this.page.screenshot({ path: join(SCREENSHOTS, `${name}-${way}.png`), fullPage: true });
    }
    await this.page.setViewport(USUAL);
  }

  async leave(): Promise<void> {
    await this.page.close();
  }
}
