import { randomUUID } from 'node:crypto';
import type { Browser } from 'puppeteer-core';
import { skipped } from '../documents/languages.js';
import { App } from '../support/app.js';
import type { Login } from '../support/callers.js';
import { anEnvelope, call, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';
import { chromium, openBrowser, portalLink, Visitor } from '../support/visitor.js';

const REFUSALS = ['Failed to load resource: the server responded with a status of', 'net::ERR_'];

if (chromium === undefined) skipped('what pages say and do: no Chromium here');
else
  describe('a page', () => {
    let relay: Relay;
    let operations: App<'operations'>;
    let partner: Client;
    let source: Client;
    let admin: Login;
    let webhook: string;
    let browser: Browser;
    let portal: Visitor;
    let desk: Visitor;
    const envelope = randomUUID();
    const short = envelope.slice(0, 8);
    beforeAll(async () => {
      relay = await Relay.start({ RETRY_SCHEDULE: '1h' });
      operations = await App.start('operations', relay.stack.env);
      [partner, source] = [await relay.partner(), await relay.source()];
      admin = (await relay.stack.relay('operators', 'create', 'alice', '--role', 'admin')) as Login;
      relay.receiver.plan('/late', { status: 500 });
      const endPointUrl = relay.receiver.url('/late');
      webhook = await partner.register({ eventType: 'task.created', endPointUrl, apiKey: 'key' });
      await source.post(anEnvelope({ id: envelope }));
      await until('it waits', async () => (await listed('waiting')) === 1);
      browser = await openBrowser();
      portal = await Visitor.at(browser, relay.ingress.url, REFUSALS);
      await portal.open(await portalLink(partner, { access: 'write' }));
      await portal.sees('Last 24 hours');
      desk = await Visitor.at(browser, operations.url, REFUSALS);
      await desk.enter(admin, 'Sign out', 'Webhooks in trouble');
    });
    afterAll(async () => {
      await browser?.close();
      await operations?.stop();
      await relay?.close();
    });

    const listed = async (status: string): Promise<number> =>
      (await partner.request('GET', `/deliveries?status=${status}`)).json['deliveries']?.length ?? 0;
    /** What the field with this label shows. */
    const shown = (as: Visitor, label: string) =>
      as.page.evaluate(
        `[...document.querySelectorAll('label')].find((each) => each.innerText === ${JSON.stringify(label)}).control.value`,
      );
    const patch = (body: object) => partner.request('PATCH', `/webhooks/${webhook}`, body);

    it('keeps what was typed when the webhook changes elsewhere, and says what is different', async () => {
      await portal.goTo(`#/webhooks/${webhook}/settings`);
      await portal.sees('Signing secret');
      await portal.type('Name', 'typed');
      await portal.press('Overview');
      await portal.sees('Newest deliveries');
      await portal.press('Settings');
      await patch({ endPointName: 'named elsewhere' });
      await portal.sees('The webhook was changed while you typed', 'Name is now: named elsewhere');
      expect(await shown(portal, 'Name')).toBe('typed');
      await portal.press('Save');
      await portal.press('Save changes');
      await portal.sees('It was not done');
      await portal.press('Cancel');
      await portal.press('Discard what I typed');
      await portal.seesNo('while you typed');
      expect(await shown(portal, 'Name')).toBe('named elsewhere');
      // A form in which nothing is typed follows; what was saved is not told as a change of somebody else.
      await patch({ endPointName: 'a' });
      await portal.page.waitForFunction("[...document.querySelectorAll('input')].some(({ value }) => value === 'a')");
      await portal.type('Name', 'b');
      await portal.press('Save');
      await portal.press('Save changes');
      await portal.sees('The webhook is changed.');
      await portal.seesNo('while you typed');
    });

    it('says of a button to copy what became of the text beside it', async () => {
      await portal.page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async () => {} }, configurable: true })",
      );
      const rotate = async (): Promise<void> => {
        await portal.press('Show secret');
        await portal.press('Show secret');
        await portal.sees('whsec_');
      };
      await rotate();
      await portal.press('Copy: signing secret');
      await portal.sees('Copied');
      await portal.press('Rotate secret');
      await portal.press('Rotate secret');
      await portal.sees('The new secret is shown below.');
      await portal.seesNo('Copied');
      await portal.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
      await portal.press('Copy: signing secret');
      await portal.sees('Select and copy it yourself');
    });

    it('tells the fault of a question that Escape was pressed in twice, and asks the next', async () => {
      await portal.press('Send a test delivery');
      await portal.sees('Send a test delivery?');
      await portal.page.setRequestInterception(true);
      let refuse = (): void => undefined;
      const held = new Promise<void>((done) => {
        portal.page.on('request', (request) => {
          if (request.method() !== 'POST') void request.continue();
          else {
            refuse = () => void request.abort();
            done();
          }
        });
      });
      await portal.press('Send test');
      await held;
      for (const _ of [1, 2, 3]) await portal.page.keyboard.press('Escape');
      refuse();
      await portal.sees('It was not done', 'The relay does not answer.');
      portal.page.removeAllListeners('request');
      await portal.page.setRequestInterception(false);
      await portal.press('Cancel');
      await portal.press('Disable');
      await portal.sees('Disable the webhook?');
      await portal.press('Cancel');
    });

    it.each(['#/webhooks/..', '#/webhooks/%2e', '#/webhooks/../settings', '#/webhooks/1/nowhere', '#/deliveries/..'])(
      'has words for %s in the portal, and the next page is shown',
      async (place) => {
        await portal.goTo(place);
        await portal.sees('There is no such page');
        await portal.press('Events');
        await portal.sees('tax_return.filed');
      },
    );

    it.each(['#/webhooks/..', '#/envelopes/..', '#/dead-letters/.', '#/replays/..', '#/clients/..'])(
      'has words for %s in the console, and the next page is shown',
      async (place) => {
        await desk.goTo(place);
        await desk.sees(place.startsWith('#/clients') ? 'client' : 'There is no such page');
        await desk.press('Clients');
        await desk.sees('alice');
      },
    );

    it('leads Back out of a search that had one answer', async () => {
      await desk.goTo('#/audit');
      await desk.sees('client.created');
      await desk.goTo('#/search?q=alice');
      await desk.sees('New secret');
      await desk.page.goBack();
      await desk.sees('client.created');
    });

    it('takes its filters from the address alone', async () => {
      for (const [place, label, name, other, none] of [
        ['webhooks', 'Status', 'status', 'parked', 'No webhook is like that'],
        ['clients', 'Kind', 'kind', 'source', 'source'],
        ['audit', 'Webhook', 'webhook', randomUUID(), 'No such record'],
      ] as const) {
        await desk.goTo(`#/${place}?${name}=${other}`);
        await desk.sees(none);
        expect([place, await shown(desk, label)]).toEqual([place, other]);
        await desk.goTo(`#/${place}`);
        await desk.sees(place === 'webhooks' ? '1 webhook' : place === 'clients' ? 'alice' : 'client.created');
        expect([place, await shown(desk, label)]).toEqual([place, '']);
        await desk.page.goBack();
        await desk.sees(none);
        expect([place, await shown(desk, label)]).toEqual([place, other]);
      }
      await desk.goTo('#/webhooks?status=nonsense');
      await desk.page.waitForFunction("document.querySelector('select').value === 'nonsense'");
    });

    it('shows what it had when it is refused for now', async () => {
      await portal.goTo('#/deliveries');
      await portal.sees(short);
      await portal.press('Events');
      await portal.sees('tax_return.filed');
      await portal.page.setRequestInterception(true);
      portal.page.on('request', (request) => {
        const headers = { 'retry-after': '53', 'access-control-allow-origin': '*' };
        const body = JSON.stringify({ title: 'Too many requests', status: 429 });
        void (request.url().includes('/deliveries?')
          ? request.respond({ status: 429, headers, contentType: 'application/problem+json', body })
          : request.continue());
      });
      await portal.press('Deliveries');
      await portal.sees('Cannot refresh the deliveries', short, 'It shows the state of');
      const words = await portal.text();
      const [, hours, minutes, seconds] = /asks again at (\d\d):(\d\d):(\d\d)\./.exec(words) ?? [];
      const next = new Date().setHours(Number(hours), Number(minutes), Number(seconds));
      expect(next - Date.now()).toBeGreaterThan(0);
      expect(next - Date.now()).toBeLessThan(54_000);
      portal.page.removeAllListeners('request');
      await portal.page.setRequestInterception(false);
      await portal.press('Try again');
      await portal.seesNo('Cannot refresh');
    });

    it('shows in the console what it had when it is refused for now, and says when it asks again', async () => {
      await desk.goTo('#/');
      await desk.sees('The workers have settled all of');
      await desk.page.setRequestInterception(true);
      desk.page.on('request', (request) => {
        const refusal = { status: 503, headers: { 'retry-after': '53' }, body: '{"title":"Unavailable"}' };
        void (request.url().endsWith('/lag') ? request.respond(refusal) : request.continue());
      });
      await desk.sees('Cannot refresh lag', 'This page asks again at', 'The workers have settled all of');
      desk.page.removeAllListeners('request');
      await desk.page.setRequestInterception(false);
      await desk.press('Try again');
      await desk.seesNo('Cannot refresh');
    });

    it('follows the state of the rows that it shows', async () => {
      await portal.goTo('#/deliveries');
      await portal.sees(short, 'retrying');
      relay.receiver.plan('/late', { status: 204 });
      await partner.request('POST', '/deliveries/retry', { status: 'waiting' });
      await portal.page.waitForFunction("document.querySelector('tbody').innerText.includes('delivered')");
    });

    it('copies a whole id by its first characters, or shows it whole', async () => {
      await portal.page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { copied = text; } }, configurable: true })",
      );
      await portal.press(`${short}: Copy id`);
      await portal.page.waitForFunction("document.activeElement.ariaLabel.endsWith(': Copied id')");
      expect(await portal.page.evaluate('copied')).toBe(envelope);
      await portal.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
      await portal.page.keyboard.press('Enter');
      await portal.sees(envelope);
    });

    it('shows rows that say the same as one line, which stays open while one of them changes', async () => {
      relay.receiver.plan('/late', { status: 500 });
      const ids = Array.from({ length: 5 }, () => randomUUID());
      for (const id of ids) await source.post(anEnvelope({ id }));
      await until('they wait', async () => (await listed('waiting')) === 5);
      await portal.goTo('#/deliveries?status=waiting');
      await portal.sees('5 retrying, first');
      const isShown = async (id = ''): Promise<boolean> => (await portal.text()).includes(id.slice(0, 8));
      expect(await isShown(ids[0])).toBe(false);
      await portal.page.evaluate("document.querySelector('[aria-expanded]').click()");
      for (const id of ids) await portal.sees(id.slice(0, 8));
      relay.receiver.plan('/late', { status: 204 });
      await partner.request('POST', `/deliveries/${ids[0]}/retry`);
      await portal.sees('no longer in this list');
      for (const id of ids) await portal.sees(id.slice(0, 8));
    });

    it('purges what was counted, and nothing that died since', async () => {
      relay.receiver.plan('/gone', { status: 410 });
      const endPointUrl = relay.receiver.url('/gone');
      const hook = { eventType: 'task.deleted', endPointUrl, apiKey: 'key' };
      const gone = await partner.register(hook);
      const authorization = `Basic ${Buffer.from(`${admin.clientId}:${admin.clientSecret}`).toString('base64')}`;
      const matched = async () =>
        (await call('GET', `${operations.url}/dead-letters/facets`, { headers: { authorization } })).json['matched'];
      const die = async (count: number): Promise<void> => {
        await partner.request('POST', `/webhooks/${gone}/enable`);
        await source.post(anEnvelope({ type: 'task.deleted' }));
        await until(`${count} are dead`, async () => Number(await matched()) === count);
      };
      await die(1);
      await desk.goTo('#/dead-letters');
      await desk.sees('1 dead letter');
      await desk.press('Purge these…');
      await desk.sees('Purge 1 dead letter?');
      await die(2);
      await desk.press('Purge');
      await desk.sees('1 dead letter purged.');
      expect(await matched()).toBe(1);
      await die(2);
      await die(3);
      await desk.press('3 dead letters');
      await desk.sees('Only type task.deleted, reason gone');
      await desk.page.waitForFunction("document.querySelectorAll('tbody tr').length === 3");
    });

    it('acts as nobody else than it says', async () => {
      const bob = (await relay.stack.relay('operators', 'create', 'bob', '--role', 'admin')) as Login;
      await desk.press('Now');
      await desk.sees('alice');
      // As another tab of this browser would.
      await desk.page.evaluate(
        `fetch('/session', { method: 'POST', headers: { 'content-type': 'application/json', 'relay-console': 'acting' }, body: ${JSON.stringify(JSON.stringify(bob))} })`,
      );
      await desk.sees('somebody else signed in', 'Sign in');
      await desk.page.reload();
      await desk.sees('bob', 'Webhooks in trouble');
      expect(desk.faults).toEqual([]);
    });
  });
