import type { Browser, Page } from 'puppeteer-core';
import { skipped } from '../documents/languages.js';
import { App } from '../support/app.js';
import type { Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { chromium, openBrowser, portalLink, Visitor } from '../support/visitor.js';

const REFUSALS = ['401 (Unauthorized)', '404 (Not Found)'];
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="96" height="96"><script>document.title = 'hacked'</script><circle cx="48" cy="48" r="48" fill="#e11d48"/></svg>`;
const THEME = {
  name: 'Acme & <b>Söhne</b>',
  logo: `data:image/svg+xml;base64,${Buffer.from(LOGO).toString('base64')}`,
  accent: '#e11d48',
};
/** Of the page, as a script in it reads it. */
const HANDLE = "sessionStorage.getItem('handle')";

if (chromium === undefined) skipped('the sessions of the portal in a browser: no Chromium here');
else
  describe('a session of the portal', () => {
    let relay: Relay;
    let second: App<'ingress'>;
    let partner: Client;
    let browser: Browser;
    let visitor: Visitor;
    beforeAll(async () => {
      relay = await Relay.start({ PORTAL_THEME: JSON.stringify(THEME) });
      second = await App.start('ingress', { ...relay.stack.env, PORTAL_KEEP_SESSION: 'false' });
      partner = await relay.partner();
      await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'k' });
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await second?.stop();
      await relay?.close();
    });
    beforeEach(async () => {
      visitor = await Visitor.at(browser, relay.ingress.url, REFUSALS);
    });
    afterEach(() => visitor.leave());

    const enter = async (as = visitor, of = partner): Promise<void> => {
      await as.open(await portalLink(of, { access: 'write' }));
      await as.sees('Sign out');
    };
    const handleIn = async (page: Page): Promise<string> => String(await page.evaluate(HANDLE));
    /** Lets this many seconds pass since the handle was last renewed. */
    const pass = async (handle: string, seconds: number): Promise<void> => {
      await relay.stack.redis.hincrby(`{relay:0}:portal:session:${handle.split('.')[0]}`, 'at', -seconds * 1_000);
    };
    /** Opens a copy of the tab, with a copy of its storage, as the browser's "Duplicate" does. */
    const copyOf = async (page: Page): Promise<Page> => {
      const opened = new Promise<Page | null>((resolve) => page.once('popup', resolve));
      await page.evaluate('void open(location.href)');
      const copy = await opened;
      if (copy === null) throw new Error('no copy was opened');
      await shows(copy, 'Sign out');
      return copy;
    };
    const shows = async (page: Page, text: string): Promise<void> => {
      // A tab behind another one draws no frame, which is when a page is looked at otherwise.
      const often = { polling: 100, timeout: 60_000 };
      await page.waitForFunction(`document.body?.innerText.includes(${JSON.stringify(text)})`, often);
    };

    it('has the name, the logo and the colour of the theme, light and dark, and nothing else of it', async () => {
      await enter();
      await visitor.sees('task.created');
      await visitor.picture('portal-theme');
      expect(await visitor.page.evaluate("document.querySelector('.brand').innerText")).toBe(THEME.name);
      expect(await visitor.page.title()).toBe(`Webhooks – ${THEME.name}`);
      expect(await visitor.page.evaluate("document.querySelector('.brand img').naturalWidth")).toBe(96);
      expect(await visitor.page.evaluate("document.querySelector('.brand b')")).toBeNull();
      const accent = "getComputedStyle(document.querySelector('[aria-current]')).color";
      expect(await visitor.page.evaluate(accent)).not.toBe('rgb(29, 95, 191)');
      expect(await visitor.broken()).toEqual([]);
      expect(visitor.faults).toEqual([]);
      await visitor.open(String(await visitor.page.evaluate("document.querySelector('#logo').getAttribute('href')")));
      expect(await visitor.page.title()).toBe('');
    });

    it('is shared by copies of a tab, however often and late each is loaded again, until one leaves', async () => {
      await enter();
      const copy = await copyOf(visitor.page);
      for (const page of [visitor.page, copy, visitor.page, copy]) {
        await pass(await handleIn(page), 60);
        await page.reload();
        await shows(page, 'task.created');
      }
      await Promise.all([visitor.page.reload(), copy.reload()]);
      await Promise.all([shows(visitor.page, 'task.created'), shows(copy, 'task.created')]);
      const handle = await handleIn(copy);
      await visitor.page.bringToFront();
      await visitor.press('Sign out');
      await Promise.all([shows(copy, 'You are signed out'), shows(visitor.page, 'You are signed out')]);
      expect([await copy.evaluate(HANDLE), await visitor.page.evaluate(HANDLE)]).toEqual([null, null]);
      await copy.evaluate(`sessionStorage.setItem('handle', '${handle}')`);
      await copy.reload();
      await shows(copy, 'Your access has ended');
    });

    it('ends when a thief presents an old handle, and tells the person', async () => {
      await enter();
      const stolen = await handleIn(visitor.page);
      await visitor.page.reload();
      await visitor.sees('task.created');
      await pass(stolen, 31);
      const body = JSON.stringify({ handle: stolen });
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
      expect((await fetch(`${relay.ingress.url}/portal/tokens/renew`, init)).status).toBe(404);
      await visitor.sees('Your access has ended'); // at the page's next request
      await visitor.page.reload();
      await visitor.sees('You need a link to come in');
      const logged = relay.ingress.log.join('\n');
      expect(logged).toContain('portal.reused');
      expect(logged).not.toContain(stolen.split('.').at(-1));
    });

    it('is replaced by that of another link, and stands in no address', async () => {
      const other = await relay.partner('other');
      await enter();
      const before = await handleIn(visitor.page);
      await visitor.page.evaluate(`location.hash = '${(await portalLink(other, {})).replace('portal', '')}'`);
      await visitor.sees('read only');
      const after = await handleIn(visitor.page);
      expect(after.split('.')[0]).not.toBe(before.split('.')[0]);
      const asked: string[] = [];
      visitor.page.on('request', (request) => asked.push(request.url()));
      await visitor.page.reload();
      await visitor.sees('read only', 'You have no webhook yet');
      expect(asked.length).toBeGreaterThan(3);
      expect([...asked, visitor.page.url()].filter((url) => url.includes(after.split('.')[0] ?? ''))).toEqual([]);
      await visitor.open(`portal#code=${'A'.repeat(43)}`);
      await visitor.sees('This link does not open');
      await visitor.page.reload();
      await visitor.sees('You need a link to come in');
    });

    it.each(['a browser without storage', 'PORTAL_KEEP_SESSION=false'])(
      'lasts until a reload with %s',
      async (name) => {
        if (name.startsWith('a browser'))
          await visitor.page.evaluateOnNewDocument(`
          const denied = () => { throw new DOMException('denied', 'SecurityError'); };
          Object.defineProperty(globalThis, 'sessionStorage', { get: denied });
          globalThis.BroadcastChannel = denied;`);
        const at = name.startsWith('a browser') ? visitor : await Visitor.at(browser, second.url, REFUSALS);
        await enter(at);
        await at.sees('task.created');
        await at.page.reload();
        await at.sees('You need a link to come in');
        expect(at.faults).toEqual([]);
      },
    );
  });
