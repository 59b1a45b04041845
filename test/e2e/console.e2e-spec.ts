import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'puppeteer-core';
import { skipped } from '../documents/languages.js';
import { App } from '../support/app.js';
import type { Login } from '../support/callers.js';
import { anEnvelope, call, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';
import { chromium, openBrowser, Visitor } from '../support/visitor.js';

/** Would do harm as markup, and turn what stands beside it. */
const HOSTILE = '<img src=x onerror="document.title=\'hacked\'"> \u202egnp.exe';

/** The browser tells every refusal of the API, which the page has words for. */
const REFUSALS = ['Failed to load resource: the server responded with a status of'];

if (chromium === undefined) skipped('the console in a browser: no Chromium here');
else
  describe('the console, by keyboard alone', () => {
    let relay: Relay;
    let folder: string;
    let operations: App<'operations'>;
    let admin: Login;
    let partner: Client;
    let webhook: string;
    let browser: Browser;
    let visitor: Visitor;
    const [delivered, dead] = [randomUUID(), randomUUID()];
    beforeAll(async () => {
      relay = await Relay.start();
      folder = mkdtempSync(join(tmpdir(), 'console-'));
      operations = await App.start('operations', { ...relay.stack.env, SEARCH_INDEX: join(folder, 'index.sqlite') });
      admin = await relay.stack.client('operator', 'night', '--role', 'admin');
      partner = await relay.partner();
      const source = await relay.source();
      const hook = { apiKey: 'key-of-an-endpoint' };
      webhook = await partner.register({ eventType: 'plan.updated', endPointUrl: relay.receiver.url('/up'), ...hook });
      await source.post(anEnvelope({ id: delivered, type: 'plan.updated', payload: { text: HOSTILE } }));
      await until('it is delivered', () => relay.receiver.at('/up').length === 1);
      relay.receiver.plan('/gone', { status: 410 });
      await partner.register({ eventType: 'task.deleted', endPointUrl: relay.receiver.url('/gone'), ...hook });
      await source.post(anEnvelope({ id: dead, type: 'task.deleted' }));
      await until('one is given up', async () => (await letters()) === 1);
      browser = await openBrowser();
      visitor = await Visitor.at(browser, operations.url, REFUSALS);
    });
    afterAll(async () => {
      await browser?.close();
      await operations?.stop();
      await relay?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const basic = ({ clientId, clientSecret }: Login): string =>
      `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    const ask = (method: string, path: string, body?: unknown) =>
      call(method, `${operations.url}${path}`, { headers: { authorization: basic(admin) }, body });
    const letters = async (): Promise<number> => Number((await ask('GET', '/dead-letters/facets')).json['matched']);
    /** Every state of a page is looked at here: nothing in it is out of anybody's reach. */
    const isFine = async (name: string): Promise<void> => {
      await visitor.picture(name);
      expect([name, await visitor.broken()]).toEqual([name, []]);
    };

    it('refuses a wrong secret in words, and lets an operator in', async () => {
      await visitor.open();
      await visitor.sees('Sign in');
      await isFine('sign-in');
      await visitor.type('Client id', admin.clientId);
      await visitor.type('Client secret', 'wrong');
      await visitor.page.keyboard.press('Enter');
      await visitor.sees('The client id or the secret is wrong.');
      await isFine('sign-in-refused');
      await visitor.enter(admin, 'Sign out', 'Webhooks in trouble');
      await visitor.sees('records not settled', 'Jobs');
      await visitor.sees('No alert fires, as far as is known here', 'alerts only Prometheus can evaluate', 'Fix');
      await visitor.tabTo('Attempts');
      await visitor.page.keyboard.press('ArrowRight');
      await visitor.page.waitForFunction(
        "/Delivered [\\d,]+\\n?Failed [\\d,]+/.test(document.querySelector('.tip')?.innerText)",
      );
      await isFine('now');
      await visitor.press('Last 24 hours');
      await visitor.page.waitForFunction(
        "document.querySelector('.plot')?.ariaValueText.endsWith(':00: Delivered 1, Failed 1')",
      );
      await visitor.open('#/runbooks/RelayConsumerLag');
      await visitor.sees('Consumer lag', 'Raise DELIVERY_CONCURRENCY if');
      await isFine('runbook');
    });

    it('lets an operator in by a link, whose code leaves the address at once and opens no other browser', async () => {
      const linked = await App.start('operations', {
        ...relay.stack.env,
        RELAY_ENV: 'development',
        CONSOLE_LINKS: 'true',
      });
      try {
        const { clientId, clientSecret } = admin;
        const headers = { authorization: basic(admin) };
        const asked = { headers, body: { clientId, clientSecret } };
        const link = `#code=${String((await call('POST', `${linked.url}/session/links`, asked)).json['code'])}`;
        const [own, other] = [
          await Visitor.at(browser, linked.url, REFUSALS),
          await Visitor.at(browser, linked.url, REFUSALS),
        ];
        await own.open(link);
        await own.sees('Sign out', 'Webhooks in trouble');
        expect([own.page.url(), own.faults]).toEqual([`${linked.url}/#/`, []]);
        await other.open(link);
        await other.sees('Sign in', 'The link was opened before');
        expect(other.page.url()).toBe(`${linked.url}/#/`);
        // The first browser still has the session that the link has opened.
        await own.goTo(link);
        await own.page.waitForFunction("location.hash === '#/'");
        await own.sees('Sign out', 'Webhooks in trouble');
        await Promise.all([own.leave(), other.leave()]);
      } finally {
        await linked.stop();
      }
    });

    it('finds an envelope and shows its story, and its text as text', async () => {
      // The search leads on to what the index knows by then.
      await until('the index has the attempt', async () => {
        const { attempts } = (await ask('GET', `/attempts?envelope=${delivered}`)).json as unknown as {
          attempts: unknown[];
        };
        return attempts.length === 1;
      });
      await visitor.type('Search: envelope, webhook, partner or host', delivered);
      await visitor.page.keyboard.press('Enter');
      await visitor.sees('1 delivery', 'delivered', '127.0.0.1');
      await visitor.press('Read the envelope');
      await visitor.sees('<img src=x', '⟨U+202E⟩gnp.exe');
      expect(await visitor.page.title()).toBe('Envelope – Partner Relay');
      await isFine('envelope');
    });

    it('replays dead letters by facet', async () => {
      await visitor.press('Dead letters');
      await visitor.sees('1 dead letter');
      await isFine('dead-letters');
      await visitor.press('the endpoint answered 410 Gone');
      await visitor.sees('Only reason gone.');
      relay.receiver.plan('/gone', { status: 204 });
      // The endpoint was gone, so that its webhook is disabled.
      await ask('POST', `/webhooks/${await goneWebhook()}/enable`);
      await visitor.press('Replay these…');
      await visitor.sees('Replay 1 dead letter?', 'will be delivered once more');
      await isFine('dead-letters-asked');
      await visitor.press('Replay');
      await visitor.sees('1 dead letter replayed.', 'There is no dead letter');
      await until('it is delivered again', () => relay.receiver.at('/gone').length === 2);
      await isFine('dead-letters-none');
    });
    const goneWebhook = async (): Promise<string> => {
      const { webhooks } = (await ask('GET', '/webhooks?eventType=task.deleted')).json as unknown as {
        webhooks: { id: string }[];
      };
      return webhooks[0]?.id ?? '';
    };

    it('orders replays of several webhooks, pauses and resumes one of them', async () => {
      await relay.worker.stop(); // a replay is under way for as long as no worker runs
      await visitor.open('#/webhooks');
      await visitor.press('Replay…');
      await visitor.sees('Replay 2 webhooks?', '2 envelopes will be delivered again', '1 of plan.updated to');
      await isFine('replay-asked');
      await visitor.press('Replay');
      await visitor.sees('2 replays ordered.', 'Progress', 'running');
      await isFine('replays');
      const statesOf = async (): Promise<unknown[]> =>
        ((await ask('GET', '/replays')).json['replays'] as unknown as { state: string }[]).map(({ state }) => state);
      await visitor.press('Pause…');
      await visitor.sees('Pause this replay?', '0 of 1 envelopes');
      await visitor.press('Pause');
      await visitor.sees('The replay is paused.');
      expect(new Set(await statesOf())).toEqual(new Set(['paused', 'running']));
      await visitor.press('Resume…');
      await visitor.press('Resume');
      await visitor.sees('The replay goes on.');
      relay.worker.start();
      await relay.worker.ready();
      await until('they are delivered again', () => relay.receiver.at('/up').length === 2);
      await until('both are', () => relay.receiver.at('/gone').length === 3);
    });

    it('disables a webhook', async () => {
      await visitor.press('Webhooks');
      await visitor.sees('2 webhooks');
      // The first of three attempts was refused.
      await visitor.sees('/up', 'Failed', '33 %', 'Oldest waiting');
      await isFine('webhooks');
      await visitor.open(`#/webhooks/${webhook}`);
      await visitor.sees('active', 'Share of failed attempts');
      await visitor.page.waitForFunction(
        "document.querySelector('.plot')?.ariaValueText.endsWith('Delivered 2, Failed 0')",
      );
      await isFine('webhook');
      await visitor.press('Disable…');
      await visitor.sees('Disable this webhook?', 'new ones will wait as well');
      await isFine('webhook-asked');
      await visitor.press('Disable');
      await visitor.sees('The webhook is disabled.', 'Enable…');
      expect((await ask('GET', `/webhooks/${webhook}`)).json['status']).toBe('disabled');
    });

    it('makes a partner, and shows its secret this once', async () => {
      await visitor.press('Clients');
      await visitor.sees('night');
      await isFine('clients');
      await visitor.press('New client');
      await isFine('new-client');
      await visitor.type('Name', 'made by keyboard');
      await visitor.press('Make it…');
      await visitor.sees('Make the partner made by keyboard?');
      await visitor.press('Make it');
      await visitor.sees('Client secret: shown this once');
      const secret = String(await visitor.page.evaluate("document.querySelector('.secret').innerText"));
      const id = String(await visitor.page.evaluate("document.querySelector('.facts code').innerText"));
      const authorization = basic({ clientId: id, clientSecret: secret });
      const token = await call('POST', `${relay.ingress.url}/auth/token`, { headers: { authorization } });
      expect(token.status).toBe(200);
      await visitor.press('I have it');
      expect(await visitor.text()).not.toContain(secret);
      await visitor.open(`#/clients/${id}`);
      await visitor.sees('New secret…');
      await visitor.press('Portal link…');
      await visitor.sees('may look for 15 minutes');
      await visitor.press('Make a link');
      await visitor.sees('Opens the portal once');
      const link = String(await visitor.page.evaluate("document.querySelector('.portal-link').innerText"));
      expect(link).toMatch(/\/portal#code=.+/);
      await isFine('client');
    });

    it('changes the role of another operator, whose open page loses what it may no longer do', async () => {
      const issued = await relay.stack.client('operator', 'falls', '--role', 'admin');
      const other = await Visitor.at(browser, operations.url, REFUSALS);
      await other.enter(issued, 'Sign out', 'Webhooks in trouble');
      await visitor.open(`#/clients/${issued.clientId}`);
      await visitor.sees('Another role');
      await visitor.tabTo('Another role');
      await visitor.page.keyboard.type('viewer');
      await visitor.press('Change the role…');
      await visitor.sees('Make falls a viewer?', 'may only look', 'Copy as curl');
      await isFine('client-role-asked');
      await visitor.press('Change the role');
      await visitor.sees('falls is a viewer.');
      await until('its session is one of a viewer', async () => {
        const session = await other.page.evaluate(
          "fetch('/session', { headers: { 'relay-console': 'watching' } }).then((answer) => answer.json())",
        );
        return (session as { role: string }).role === 'viewer';
      });
      await other.open('#/clients');
      await other.page.reload();
      await other.sees('falls', '(viewer)');
      expect(await other.text()).not.toContain('New client');
      expect(other.faults).toEqual([]);
      await other.leave();
      // Nobody changes their own role here.
      await visitor.open(`#/clients/${admin.clientId}`);
      await visitor.sees('New secret…');
      expect(await visitor.text()).not.toContain('Another role');
    });

    it('tells in the audit what was done, and lists endpoints', async () => {
      await visitor.press('Audit');
      await visitor.sees('client.created', 'client.changed', 'webhook.disabled', 'replay.paused', 'replay.ordered');
      await isFine('audit');
      await visitor.press('Endpoints');
      await visitor.sees('disabled');
      await isFine('endpoints');
      await visitor.open('#/nowhere');
      await visitor.sees('There is no such page');
      await isFine('nowhere');
    });

    it('offers a viewer nothing that only others may do', async () => {
      const viewer = await relay.stack.client('operator', 'looks', '--role', 'viewer');
      const other = await Visitor.at(browser, operations.url, REFUSALS);
      await other.enter(viewer, 'Sign out', 'Webhooks in trouble');
      const places = ['', 'dead-letters', 'replays', 'webhooks', `webhooks/${webhook}`, 'clients', 'clients/new'];
      for (const place of [...places, `clients/${admin.clientId}`, `envelopes/${delivered}`, 'audit', 'endpoints']) {
        await other.open(`#/${place}`);
        await other.page.waitForFunction("!document.body.innerText.includes('Loading')");
        const buttons = await other.page.$$eval('main button, main form', (all) => all.map((each) => each.innerText));
        const isALook = (name: string): boolean => /^(?:Copy|Close|Older|Newer|(?:[a-z]+_)?[\w-]{8}|)$/.test(name);
        expect([place, buttons.filter((name) => !isALook(name))]).toEqual([place, []]);
      }
      expect(other.faults).toEqual([]);
      await other.leave();
    });

    it('says that it could not be left while the relay is away', async () => {
      expect(visitor.faults).toEqual([]);
      await operations.kill();
      await visitor.press('Sign out');
      await visitor.sees('The relay does not answer.');
      await visitor.page.waitForSelector('.said .notice.bad');
      operations.start();
      await operations.ready();
      visitor.faults.length = 0; // that nothing answered
    });

    it('leaves, asked no other origin, and had no fault', async () => {
      await visitor.open();
      await visitor.press('Sign out');
      await visitor.sees('You are signed out.');
      await visitor.page.reload();
      await visitor.sees('Sign in');
      expect(visitor.faults).toEqual([]);
    });
  });
