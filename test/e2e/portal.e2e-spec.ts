import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import puppeteer, { type Browser } from 'puppeteer-core';
import { pathOf, skipped } from '../documents/languages.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';
import { Visitor } from '../support/visitor.js';

/** Would do harm as markup, turns what stands beside it, and rings a bell. */
const HOSTILE = '<img src=x onerror="document.title=\'hacked\'"> \u202egnp.exe \u0007 🙂 שלום';
const ANSWER = '<script>document.title = "hacked"</script> no room';
const DEEP = JSON.parse(`${'['.repeat(20)}1${']'.repeat(20)}`) as unknown;

const program = pathOf('chromium') ?? pathOf('chromium-browser') ?? pathOf('google-chrome');
if (program === undefined) skipped('the portal in a browser: no Chromium here');
else
  describe('the portal, by keyboard alone', () => {
    let relay: Relay;
    let partner: Client;
    let source: Client;
    let browser: Browser;
    let visitor: Visitor;
    let embedders: readonly [allowed: Server, other: Server];
    const envelope = randomUUID();
    beforeAll(async () => {
      embedders = [await anEmbedder(), await anEmbedder()];
      relay = await Relay.start({ RETRY_SCHEDULE: '1s', PORTAL_FRAMES: originOf(embedders[0]) });
      [partner, source] = [await relay.partner(), await relay.source()];
      browser = await puppeteer.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
      visitor = await aVisitor();
    });
    afterAll(async () => {
      await browser?.close();
      await relay?.close();
      for (const server of embedders ?? []) server.closeAllConnections();
      for (const server of embedders ?? []) server.close();
    });

    // A code that is not taken, and a token that has ended, are refusals that are wanted.
    const aVisitor = (): Promise<Visitor> =>
      Visitor.at(browser, relay.ingress.url, ['404 (Not Found)', '401 (Unauthorized)']);
    const linkFor = async (body: object): Promise<string> => {
      const { json } = await partner.request('POST', '/portal/links', body);
      return `portal${new URL(String(json['url'])).hash}`;
    };
    /** Every state of a page is looked at here: nothing in it is out of anybody's reach. */
    const isFine = async (name: string): Promise<void> => {
      await visitor.picture(`portal-${name}`);
      expect([name, await visitor.broken()]).toEqual([name, []]);
    };

    it('opens by a link, once', async () => {
      const link = await linkFor({ access: 'write' });
      await visitor.open(link);
      await visitor.sees('You have no webhook yet');
      expect(await visitor.page.evaluate('location.hash')).toBe('#/');
      await isFine('empty');
      const other = await aVisitor();
      await other.open(link);
      await other.sees('This link does not open');
      await other.leave();
    });

    it('adds a webhook, and shows what the endpoint answers to a test', async () => {
      await visitor.press('Add the first one');
      await visitor.sees('Address of your endpoint', 'task.created');
      await visitor.type('Address of your endpoint', 'ftp://x');
      await visitor.sees('The address begins with https://');
      await isFine('add');
      await visitor.tabTo('Address of your endpoint');
      for (let typed = 0; typed < 'ftp://x'.length; typed += 1) await visitor.page.keyboard.press('Backspace');
      await visitor.page.keyboard.type(relay.receiver.url('/hook'));
      await visitor.tabTo('task.created');
      await visitor.page.keyboard.press('Space');
      await visitor.type('API key', 'key-of-the-endpoint');
      await visitor.press('Add and test');
      await visitor.sees('Add the webhook?');
      await isFine('asked');
      await visitor.press('Add and test');
      await visitor.sees('Your endpoint answered 204');
      expect(relay.receiver.at('/hook')).toMatchObject([{ headers: { 'relay-test': 'true' } }]);
    });

    it('shows the secret when asked, and verifies a delivery with it', async () => {
      await visitor.press('task.created');
      await visitor.sees('Signing secret');
      await isFine('webhook');
      await visitor.press('Show it');
      await visitor.sees('Show the signing secret?');
      await visitor.press('Show it');
      await visitor.sees('whsec_');
      const secret = /whsec_[\w+/=]+/.exec(await visitor.text())?.[0] ?? '';
      const [test] = relay.receiver.at('/hook');
      await visitor.press('Verify');
      await visitor.sees('Copy what your endpoint received.');
      for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
        await visitor.type(name, String(test?.headers[name]));
      await visitor.type('Body, as it came', `${String(test?.body)} `);
      await visitor.type('Signing secret', secret);
      await visitor.press('Verify');
      await visitor.sees('The body was changed', 'spaces or a line break');
      await isFine('verify');
      await visitor.tabTo('Body, as it came');
      await visitor.page.keyboard.press('End');
      await visitor.page.keyboard.press('Backspace');
      await visitor.press('Verify');
      await visitor.sees('It is from the relay');
    });

    it('says why an endpoint that broke gets nothing, and shows hostile text as text', async () => {
      relay.receiver.plan('/hook', { status: 500, headers: { 'content-type': 'text/plain' }, body: ANSWER });
      const payload = { ...anEnvelope().payload, text: HOSTILE, long: 'x'.repeat(150_000), deep: DEEP };
      expect((await source.post(anEnvelope({ id: envelope, payload }))).status).toBe(202);
      await until('it is given up', async () => {
        const { json } = await partner.request('GET', '/deliveries?status=dead');
        return (json['deliveries'] ?? []).length === 1;
      });
      await visitor.press('Webhooks');
      await visitor.sees('failing', 'answered 500');
      await isFine('overview');
      await visitor.press('Deliveries');
      await visitor.sees('given up', 'answered 500', 'Why deliveries failed', envelope);
      await isFine('deliveries');
      await visitor.press(envelope);
      await visitor.sees(
        'Attempt 2',
        'every attempt of the schedule failed',
        '<img src=x onerror=',
        '⟨U+202E⟩',
        ANSWER,
      );
      expect(await visitor.page.evaluate('document.images.length')).toBe(0);
      expect(await visitor.page.title()).toBe('Delivery – Partner Relay');
      await isFine('delivery');
    });

    it('retries it when the endpoint is mended', async () => {
      relay.receiver.plan('/hook', { status: 204 });
      await visitor.press('Retry');
      await visitor.sees('Retry this delivery?');
      await visitor.press('Retry it');
      await visitor.sees('1 delivery will be attempted.');
      await until('it arrives', () => relay.receiver.delivered('/hook').includes(envelope));
      await visitor.sees('task.created delivered');
    });

    it('replays it, and shows how far the replay is', async () => {
      const before = relay.receiver.ids('/hook').filter((id) => id === envelope).length;
      await visitor.press('Replays');
      await visitor.sees('No replay yet', 'Replay deliveries');
      await visitor.tabTo('Which');
      await visitor.page.keyboard.type('All');
      await visitor.press('Count them first');
      await visitor.sees('Replay them?', '1 delivery once more');
      await visitor.press('Replay');
      await until('it arrives again', () => {
        const ids = relay.receiver.ids('/hook').filter((id) => id === envelope);
        return ids.length > before;
      });
      await visitor.sees('done', '1 of 1');
      await isFine('replays');
    });

    it('has a catalogue of events', async () => {
      await visitor.press('Events');
      await visitor.sees('tax_return.filed');
      await isFine('events');
    });

    it('goes back and forward, takes a question away with its page, and has words for a place that is none', async () => {
      await visitor.press('Webhooks');
      await visitor.press('task.created');
      await visitor.press('Send a test delivery');
      await visitor.sees('Send a test delivery?');
      await visitor.page.goBack();
      await visitor.sees('Last 24 hours');
      await visitor.seesNo('Send a test delivery?');
      await visitor.page.goForward();
      await visitor.sees('Signing secret');
      await visitor.page.evaluate("location.hash = '#/nowhere'");
      await visitor.sees('There is no such page');
    });

    it('is left for good', async () => {
      await visitor.press('Leave');
      await visitor.sees('You have left');
      await isFine('left');
      // The picture of a field for times is the browser's own.
      expect(visitor.faults.filter((fault) => !fault.startsWith('it asked data:'))).toEqual([]);
      await visitor.leave();
    });

    it('only shows, by a link to read', async () => {
      const reader = await aVisitor();
      // The clock of the reader is an hour fast.
      await reader.page.evaluateOnNewDocument('{ const now = Date.now; Date.now = () => now() + 3_600_000; }');
      await reader.open(await linkFor({ next: '/deliveries?status=delivered' }));
      await reader.sees('read only', envelope);
      expect(await reader.text()).not.toContain('Retry all');
      expect(await reader.page.evaluate('location.hash')).toBe('#/deliveries?status=delivered');
      // The token is in memory only.
      await reader.page.reload();
      await reader.sees('You need a link to come in');
      expect(reader.faults).toEqual([]);
      await reader.leave();
    });

    it('says which half is away, and shows the other', async () => {
      visitor = await aVisitor();
      await visitor.open(await linkFor({ access: 'write' }));
      await visitor.sees('task.created');
      await relay.ingress.kill();
      await visitor.press('Verify');
      await visitor.sees('Copy what your endpoint received.');
      await visitor.press('Deliveries');
      await visitor.sees('Cannot show the deliveries', 'The relay does not answer.');
      await isFine('away');
      relay.ingress.start();
      await relay.ingress.ready();
      await visitor.press('Try again');
      await visitor.sees(envelope);
      await visitor.leave();
    });

    it('is seen in a frame of a host that is named, and told when it ends; in no other', async () => {
      const page = await browser.newPage();
      const framed = async (server: Server) => {
        await page.goto(`${originOf(server)}/?${relay.ingress.url}/${await linkFor({ access: 'write' })}`);
        const frame = await page.waitForFrame((each) => each.parentFrame() !== null);
        return { frame };
      };
      const { frame } = await framed(embedders[0]);
      await frame.waitForFunction("document.body.innerText.includes('task.created')", { timeout: 60_000 });
      await frame.locator('::-p-aria(Leave)').click();
      await page.waitForFunction("document.title === 'partner-relay:ended'", { timeout: 60_000 });

      await framed(embedders[1]);
      await until('the frame stays empty', async () => page.frames()[1]?.url().startsWith('chrome-error:') ?? false);
      await page.close();
    });
  });

/** A page of somebody's application, which shows what its address names in a frame, and its title what the frame says. */
async function anEmbedder(): Promise<Server> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>app</title><iframe></iframe>
<script>
  addEventListener('message', ({ data }) => (document.title = data.type));
  document.querySelector('iframe').src = location.href.slice(location.href.indexOf('?') + 1);
</script>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
