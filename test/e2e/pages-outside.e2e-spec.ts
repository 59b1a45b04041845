import { randomUUID } from 'node:crypto';
import type { Browser, HTTPRequest } from 'puppeteer-core';
import { skipped } from '../documents/languages.js';
import { App } from '../support/app.js';
import type { Login } from '../support/callers.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';
import { chromium, openBrowser, portalLink, Visitor } from '../support/visitor.js';

const REFUSALS = ['Failed to load resource: the server responded with a status of', 'net::ERR_'];
const HOUR_MS = 3_600_000;
/** Of every field that hides what is typed: what a password manager is told to do with it. */
const HIDDEN = "[...document.querySelectorAll('input[type=password]')].map((field) => field.autocomplete)";

if (chromium === undefined) skipped('what pages make of the world around them: no Chromium here');
else
  describe('a page beside', () => {
    let relay: Relay;
    let operations: App<'operations'>;
    let partner: Client;
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
      partner = await relay.partner();
      const source = await relay.source();
      admin = (await relay.stack.relay('operators', 'create', 'alice', '--role', 'admin')) as Login;
      relay.receiver.plan('/late', { status: 500 });
      const endPointUrl = relay.receiver.url('/late');
      webhook = await partner.register({ eventType: 'task.created', endPointUrl, apiKey: 'key' });
      await source.post(anEnvelope({ id: envelope }));
      await until('it waits', async () => {
        const { json } = await partner.request('GET', '/deliveries?status=waiting');
        return json['deliveries']?.length === 1;
      });
      browser = await openBrowser();
      portal = await Visitor.at(browser, relay.ingress.url, REFUSALS);
      await open(portal);
      await portal.sees('Last 24 hours');
      desk = await Visitor.at(browser, operations.url, REFUSALS);
    });
    afterAll(async () => {
      await browser?.close();
      await operations?.stop();
      await relay?.close();
    });

    const open = async (as: Visitor): Promise<void> => as.open(await portalLink(partner, { access: 'write' }));
    /** Answers requests of this kind by `answer` until the returned function is called. */
    const between = async (as: Visitor, answer: (request: HTTPRequest) => boolean): Promise<() => Promise<void>> => {
      await as.page.setRequestInterception(true);
      as.page.on('request', (request) => {
        if (!answer(request)) void request.continue();
      });
      return async () => {
        as.page.removeAllListeners('request');
        await as.page.setRequestInterception(false);
      };
    };

    it('a password manager says which secrets are those of the reader', async () => {
      await desk.open();
      await desk.sees('Sign in');
      expect(await desk.page.evaluate("document.querySelector('input').autocomplete")).toBe('username');
      expect(await desk.page.evaluate(HIDDEN)).toEqual(['current-password']);
      for (const place of ['#/add', '#/verify']) {
        await portal.goTo(place);
        await portal.page.waitForFunction("document.querySelector('input[type=password]') !== null");
        expect([place, await portal.page.evaluate(HIDDEN)]).toEqual([place, ['new-password']]);
      }
    });

    it('an impatient reader signs in once', async () => {
      let asked = 0;
      const held: HTTPRequest[] = [];
      const stop = await between(desk, (request) => {
        if (request.method() !== 'POST') return false;
        asked += 1;
        held.push(request);
        return true;
      });
      await desk.type('Client id', admin.clientId);
      await desk.type('Client secret', admin.clientSecret);
      for (const _ of [1, 2, 3]) await desk.page.keyboard.press('Enter');
      await until('it asked', () => held.length > 0);
      await desk.page.evaluate('new Promise((done) => setTimeout(done, 300))');
      for (const request of held) void request.continue();
      await desk.sees('Sign out', 'Webhooks in trouble');
      await stop();
      expect(asked).toBe(1);
    });

    it('a clock that is three hours off knows the last hour', async () => {
      for (const offMs of [3 * HOUR_MS, -3 * HOUR_MS]) {
        const other = await Visitor.at(browser, relay.ingress.url, REFUSALS);
        await other.page.evaluateOnNewDocument(
          `const Right = Date; globalThis.Date = class extends Right {
             constructor(...args) { args.length === 0 ? super(Right.now() + ${offMs}) : super(...args); }
             static now() { return Right.now() + ${offMs}; }
           };`,
        );
        await open(other);
        await other.sees('Last 24 hours');
        await other.page.waitForFunction('/next in (?:\\d+ minutes|1 hour)/.test(document.body.innerText)');
        await other.goTo('#/deliveries?span=1h');
        await other.sees(short);
        await other.leave();
      }
    });

    it('somebody who types on gets a year of four digits', async () => {
      await desk.goTo(`#/webhooks/${webhook}`);
      await desk.sees('Replay…');
      await desk.type('From', '112820261030A');
      const from = "[...document.querySelectorAll('label')].find((each) => each.innerText === 'From').control";
      expect(await desk.page.evaluate(`${from}.value`)).toBe('2026-11-28T10:30');
    });

    it('a text that was copied with spaces around it finds the same', async () => {
      await desk.goTo('#/audit');
      await desk.sees('client.created');
      await desk.type('Operator', '  cli ');
      await desk.page.keyboard.press('Enter');
      await until('it is in the address', async () =>
        String(await desk.page.evaluate('location.hash')).includes('cli'),
      );
      expect(await desk.page.evaluate('location.hash')).toBe('#/audit?operator=cli');
      await portal.goTo('#/deliveries');
      await portal.sees(short);
      await portal.type('HTTP status', ' 500 ');
      await portal.page.keyboard.press('Enter');
      await portal.page.waitForFunction("location.hash.includes('500')");
      expect(await portal.page.evaluate('location.hash')).toBe('#/deliveries?httpStatus=500');
      await portal.sees(short);
    });

    it('a name of one long word leaves the words of the headings whole', async () => {
      await partner.request('PATCH', `/webhooks/${webhook}`, { endPointName: `<b>${'w'.repeat(190)}` });
      await portal.goTo('#/');
      await portal.sees('<b>www');
      const lines = `[...document.querySelectorAll('th')].map((each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        return [each.textContent, new Set([...range.getClientRects()].map(({ top }) => top)).size];
      }).filter(([words, count]) => count > words.split(' ').length)`;
      expect(await portal.page.evaluate(lines)).toEqual([]);
    });

    it('paper shows the whole of a text', async () => {
      await portal.goTo(`#/deliveries/${envelope}`);
      await portal.sees('financialPlanId');
      await portal.page.emulateMediaType('print');
      await portal.page.setViewport({ width: 320, height: 640 });
      const cut =
        "[...document.querySelectorAll('pre')].filter((each) => getComputedStyle(each).maxHeight !== 'none').length";
      expect(await portal.page.evaluate(cut)).toBe(0);
      await portal.page.emulateMediaType();
      await portal.page.setViewport({ width: 1_280, height: 900 });
    });

    it('a gateway that asks for a month of patience is not asked again at once', async () => {
      let asked = 0;
      const stop = await between(portal, (request) => {
        if (!request.url().includes('/deliveries?')) return false;
        asked += 1;
        const headers = { 'retry-after': '2592000' };
        void request.respond({ status: 429, headers, contentType: 'application/problem+json', body: '{"status":429}' });
        return true;
      });
      await portal.goTo('#/deliveries');
      await portal.sees('Cannot');
      await portal.page.evaluate('new Promise((done) => setTimeout(done, 2000))');
      await stop();
      expect(asked).toBeLessThan(5);
    });

    it('a session that ends takes its open question along', async () => {
      await desk.goTo('#/clients');
      await desk.sees('alice', 'acme');
      await desk.press('acme');
      await desk.sees('Change it');
      await desk.press('Disable…');
      await desk.sees('Disable acme?');
      // As another tab of this browser would.
      await desk.page.evaluate("fetch('/session', { method: 'DELETE', headers: { 'relay-console': 'acting' } })");
      await desk.press('Disable');
      await desk.sees('Sign in');
      expect(await desk.page.evaluate("document.querySelector('dialog') === null")).toBe(true);
      await portal.goTo(`#/webhooks/${webhook}/settings`);
      await portal.sees('Signing secret');
      await portal.press('Disable');
      await portal.sees('Disable the webhook?');
      const stop = await between(portal, (request) => {
        if (request.method() !== 'POST') return false;
        void request.respond({ status: 401, contentType: 'application/problem+json', body: '{"status":401}' });
        return true;
      });
      await portal.press('Disable');
      await portal.sees('Your access has ended');
      await stop();
      expect(await portal.page.evaluate("document.querySelector('dialog') === null")).toBe(true);
      expect([...desk.faults, ...portal.faults]).toEqual([]);
    });
  });
