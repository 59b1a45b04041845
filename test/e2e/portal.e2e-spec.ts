import { randomUUID } from 'node:crypto';
import type { Browser } from 'puppeteer-core';
import { skipped } from '../documents/languages.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';
import { chromium, openBrowser, portalLink, Visitor } from '../support/visitor.js';

/** Would do harm as markup, turns what stands beside it, and rings a bell. */
const HOSTILE = '<img src=x onerror="document.title=\'hacked\'"> \u202egnp.exe \u0007 🙂 שלום';
const ANSWER = '<script>document.title = "hacked"</script> no room';
const DEEP = JSON.parse(`${'['.repeat(20)}1${']'.repeat(20)}`) as unknown;

if (chromium === undefined) skipped('the portal in a browser: no Chromium here');
else
  describe('the portal, by keyboard alone', () => {
    let relay: Relay;
    let partner: Client;
    let source: Client;
    let browser: Browser;
    let visitor: Visitor;
    const envelope = randomUUID();
    const short = envelope.slice(0, 8);
    const hook = (): string => relay.receiver.url('/hook');
    beforeAll(async () => {
      relay = await Relay.start({ RETRY_SCHEDULE: '1s' });
      [partner, source] = [await relay.partner(), await relay.source()];
      browser = await openBrowser();
      visitor = await aVisitor();
    });
    afterAll(async () => {
      await browser?.close();
      await relay?.close();
    });

    // A code that is not taken, and a token that has ended, are refusals that are wanted.
    const aVisitor = (): Promise<Visitor> =>
      Visitor.at(browser, relay.ingress.url, ['404 (Not Found)', '401 (Unauthorized)']);
    const linkFor = (body: object): Promise<string> => portalLink(partner, body);
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

    it('tests an endpoint before anything is saved, and verifies what it got', async () => {
      await visitor.press('Add a webhook');
      await visitor.sees('Endpoint URL', 'task.created');
      await visitor.type('Endpoint URL', 'ftp://x');
      await visitor.sees('The URL must begin with https://');
      await isFine('add');
      await visitor.tabTo('Endpoint URL');
      for (let typed = 0; typed < 'ftp://x'.length; typed += 1) await visitor.page.keyboard.press('Backspace');
      await visitor.page.keyboard.type(relay.receiver.url('/hook'));
      await visitor.press('Test');
      await visitor.sees('Choose at least one event type.');
      await visitor.tabTo('task.created');
      await visitor.page.keyboard.press('Space');
      await visitor.tabTo('plan.updated');
      await visitor.page.keyboard.press('Space');
      await visitor.type('API key', 'key-of-the-endpoint');
      relay.receiver.plan('/hook', { status: 401, headers: { 'content-type': 'text/plain' }, body: ANSWER });
      await test();
      await visitor.sees('Your endpoint answered 401', ANSWER, 'The test delivery did not arrive.');
      await isFine('add-refused');
      relay.receiver.plan('/hook', { status: 204 });
      await test();
      await visitor.sees('Your endpoint answered 204', 'Nothing is saved yet.');
      await isFine('add-tested');
      expect((await partner.request('GET', '/webhooks')).json).toEqual([]);
      const secret = await secretShown();
      await visitor.press('Verify what your endpoint got');
      await verify(secret, '');
      await visitor.sees('The signature is valid');
    });
    const test = async (): Promise<void> => {
      await visitor.press('Test');
      await visitor.sees('Test the endpoint?', 'No webhook is saved.');
      await visitor.press('Send test');
    };
    const secretShown = async (): Promise<string> => {
      await visitor.sees('whsec_');
      return /whsec_[\w+/=]+/.exec(await visitor.text())?.[0] ?? '';
    };
    /** Copies the test delivery that came last, with something behind its body, and asks whether it is genuine. */
    const verify = async (secret: string, more: string): Promise<void> => {
      await visitor.sees('Copy what your endpoint received.');
      const last = relay.receiver.at('/hook').at(-1);
      expect(last?.headers['relay-test']).toBe('true');
      for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
        await visitor.type(name, String(last?.headers[name]));
      await visitor.type('Body, as it came', `${String(last?.body)}${more}`);
      await visitor.type('Signing secret', secret);
      await visitor.press('Verify');
    };

    it('saves what was typed before, for each of its event types', async () => {
      await visitor.press('Webhooks');
      await visitor.press('Add a webhook');
      await visitor.sees('Your endpoint answered 204');
      await visitor.press('Save');
      await visitor.sees('Save 2 webhooks?');
      await isFine('asked');
      await visitor.press('Save');
      await visitor.sees('Saved 2 webhooks of 2.', 'task.created is saved.', 'plan.updated is saved.');
      await visitor.seesNo('Your endpoint answered 204');
      await isFine('saved');
      const { webhooks } = (await partner.request('GET', '/webhooks/status')).json as unknown as {
        webhooks: { eventType: string }[];
      };
      expect(new Set(webhooks.map(({ eventType }) => eventType))).toEqual(new Set(['task.created', 'plan.updated']));
    });

    it('tests the saved webhook, shows its secret when asked, and verifies the test with it', async () => {
      await visitor.press('task.created');
      await visitor.sees(hook(), 'No attempt failed in the last 24 hours.', 'Newest deliveries');
      await isFine('webhook');
      await visitor.press('Settings');
      await visitor.sees('Signing secret');
      await isFine('webhook-settings');
      await visitor.press('Send a test delivery');
      await visitor.sees('Send a test delivery?');
      await visitor.press('Send test');
      await visitor.sees('Your endpoint answered 204');
      await visitor.press('Show secret');
      await visitor.sees('Show the signing secret?');
      await visitor.press('Show secret');
      const secret = await secretShown();
      await visitor.press('Verify');
      await verify(secret, ' ');
      await visitor.sees('The body was changed', 'spaces or a line break');
      await isFine('verify');
      await visitor.tabTo('Body, as it came');
      await visitor.page.keyboard.press('End');
      await visitor.page.keyboard.press('Backspace');
      await visitor.press('Verify');
      await visitor.sees('The signature is valid');
    });

    it('says why an endpoint that broke gets nothing, and shows hostile text as text', async () => {
      relay.receiver.plan('/hook', { status: 500, headers: { 'content-type': 'text/plain' }, body: ANSWER });
      const payload = { ...anEnvelope().payload, text: HOSTILE, long: 'x'.repeat(150_000), deep: DEEP };
      expect((await source.post(anEnvelope({ id: envelope, payload }))).status).toBe(202);
      await until('it is a dead letter', async () => {
        const { json } = await partner.request('GET', '/deliveries?status=dead');
        return (json['deliveries'] ?? []).length === 1;
      });
      await visitor.press('Webhooks');
      await visitor.sees('failing', 'answered 500');
      await isFine('overview');
      await visitor.press(`${hook()}, task.created`);
      await visitor.sees('failing', '0 %', 'Last failure: answered 500', ANSWER, 'See 1 dead letter', short);
      await isFine('webhook-failing');
      await visitor.page.goBack();
      await visitor.press('Deliveries');
      await visitor.sees('dead letter', 'answered 500', 'Why deliveries failed', short);
      await isFine('deliveries');
      await visitor.press(`task.created, ${short}`);
      await visitor.sees(
        'Attempt 2',
        'every attempt of the schedule failed',
        '<img src=x onerror=',
        '⟨U+202E⟩',
        `webhook-id: ${envelope}`,
        'relay-attempt: 2',
        ANSWER,
      );
      expect(await visitor.page.evaluate('document.images.length')).toBe(0);
      expect(await visitor.page.title()).toBe('Delivery – Partner Relay');
      await isFine('delivery');
    });

    it('keeps the focus in the drawer, and closes it by Escape, the button and Back, each once', async () => {
      const isOpen = (): Promise<unknown> => visitor.page.evaluate("document.querySelector('dialog.drawer') !== null");
      const focused = async (): Promise<void> =>
        void (await visitor.page.waitForFunction(
          `document.activeElement.getAttribute('aria-label') === 'task.created, ${short}'`,
        ));
      for (let pressed = 0; pressed < 40; pressed += 1) {
        await visitor.page.keyboard.press('Tab');
        const at = "document.activeElement.closest('.drawer, body')?.className";
        expect(['drawer', '']).toContain(await visitor.page.evaluate(at));
        expect(
          await visitor.page.evaluate("document.activeElement.closest('main > :not(.drawer), header')"),
        ).toBeNull();
      }
      await visitor.press('Retry');
      await visitor.sees('Retry this delivery?');
      await visitor.page.keyboard.press('Escape');
      await visitor.seesNo('Retry this delivery?');
      expect(await isOpen()).toBe(true);
      await visitor.page.keyboard.press('Escape');
      await visitor.page.waitForFunction(
        "location.hash === '#/deliveries' && !document.querySelector('dialog.drawer')",
      );
      await focused();
      await visitor.page.keyboard.press('Enter');
      await visitor.sees('Attempt 2');
      await visitor.press('Close');
      await focused();
      await visitor.page.keyboard.press('Enter');
      await visitor.sees('Attempt 2');
      await visitor.page.goBack();
      await focused();
      await visitor.page.goBack();
      await visitor.sees('Attempts by the hour');
      expect(await visitor.page.title()).toBe('Webhooks – Partner Relay');
    });

    it('opens the drawer by its own address, and closes it onto the list', async () => {
      const other = await aVisitor();
      await other.open(await linkFor({ access: 'write', next: `/deliveries/${envelope}?status=dead` }));
      await other.sees('Attempt 2', 'every attempt of the schedule failed');
      await other.page.keyboard.press('Escape');
      await other.seesNo('Attempt 2');
      await other.page.waitForFunction("location.hash === '#/deliveries?status=dead'");
      await other.page.waitForFunction("document.activeElement.matches('h1')");
      await other.leave();
    });

    it('retries it when the endpoint is mended', async () => {
      relay.receiver.plan('/hook', { status: 204 });
      await visitor.press('Deliveries');
      await visitor.press(`task.created, ${short}`);
      await visitor.press('Retry');
      await visitor.sees('Retry this delivery?');
      await visitor.press('Retry now');
      await visitor.sees('1 delivery will be attempted.');
      await until('it arrives', () => relay.receiver.delivered('/hook').includes(envelope));
      await visitor.sees('task.created delivered');
      // The button that had the focus is gone.
      await visitor.page.keyboard.press('Escape');
      await visitor.seesNo('Attempt 1');
    });

    it('replays it, and shows how far the replay is', async () => {
      const before = relay.receiver.ids('/hook').filter((id) => id === envelope).length;
      await visitor.press('Replays');
      await visitor.sees('No replay yet', 'Replay deliveries');
      await visitor.tabTo('Which');
      await visitor.page.keyboard.type('All');
      await visitor.press('Count deliveries');
      await visitor.sees('Replay deliveries?', '1 delivery once more');
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
      await visitor.press(`${hook()}, task.created`);
      await visitor.press('Send a test delivery');
      await visitor.sees('Send a test delivery?');
      await visitor.page.goBack();
      await visitor.sees('Last 24 hours');
      await visitor.seesNo('Send a test delivery?');
      await visitor.page.goForward();
      await visitor.sees('Newest deliveries');
      await visitor.page.evaluate("location.hash = '#/nowhere'");
      await visitor.sees('There is no such page');
    });

    it('is left for good', async () => {
      await visitor.press('Sign out');
      await visitor.sees('You are signed out');
      await isFine('left');
      // The picture of a field for times is the browser's own.
      expect(visitor.faults.filter((fault) => !fault.startsWith('it asked data:'))).toEqual([]);
      await visitor.leave();
    });

    it('only shows, by a link to read', async () => {
      const reader = await aVisitor();
      // The clock of the reader is an hour fast.
      await reader.page.evaluateOnNewDocument('{ const now = Date.now; Date.now = () => now() + 3_600_000; }');
      await reader.open((await linkFor({ next: '/deliveries?status=delivered' })).replace('#', '/#'));
      await reader.sees('read only', short);
      expect(await reader.text()).not.toContain('Retry all');
      expect(await reader.page.evaluate('location.href')).toMatch(/\/portal#\/deliveries\?status=delivered$/);
      await reader.open('portal#/add');
      await reader.sees('This link cannot add webhooks');
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
      await visitor.sees(short);
      await visitor.leave();
    });
  });
