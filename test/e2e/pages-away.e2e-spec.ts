import { randomUUID } from 'node:crypto';
import type { Browser } from 'puppeteer-core';
import { skipped } from '../documents/languages.js';
import { App } from '../support/app.js';
import type { Login } from '../support/callers.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { Servers } from '../support/servers.js';
import { until } from '../support/until.js';
import { chromium, openBrowser, portalLink, Visitor } from '../support/visitor.js';

/** The browser tells every answer that is no success; the page has words for it. */
const REFUSALS = ['Failed to load resource: the server responded with a status of'];
/** What the console says of its half. */
const REDIS_AWAY = 'Redis does not answer: webhooks, queues, dead letters and replays cannot be shown.';
const KAFKA_AWAY = 'Kafka does not answer: lag, the audit and stories from the log cannot be shown';

if (chromium === undefined) skipped('the pages while a store is away: no Chromium here');
else
  describe('pages that are loaded again, and pages that stay open while a store is away', () => {
    let servers: Servers;
    let relay: Relay;
    let operations: App<'operations'>;
    let partner: Client;
    let operator: Login;
    let webhook: string;
    let browser: Browser;
    let portal: Visitor;
    let desk: Visitor;
    const envelope = randomUUID();
    const short = envelope.slice(0, 8);
    beforeAll(async () => {
      servers = await Servers.start();
      relay = await Relay.start({}, servers.envFile);
      operations = await App.start('operations', relay.stack.env);
      partner = await relay.partner();
      const source = await relay.source();
      const hook = { eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'key' };
      webhook = await partner.register(hook);
      await source.post(anEnvelope({ id: envelope, payload: { text: 'what was sent' } }));
      const listed = async () => (await partner.request('GET', '/deliveries?status=delivered')).json['deliveries'];
      await until('it is delivered', async () => (await listed())?.length === 1);
      browser = await openBrowser();
      portal = await Visitor.at(browser, relay.ingress.url, REFUSALS);
      await portal.open(await linkTo('/'));
      await portal.sees('All is well.');
      desk = await Visitor.at(browser, operations.url, REFUSALS);
      operator = await relay.stack.client('operator', 'night', '--role', 'admin');
      await desk.enter(operator, 'No webhook is in trouble');
    });
    afterAll(async () => {
      await browser?.close();
      await operations?.stop();
      await relay?.close();
      await servers?.end();
    });

    const linkTo = (next: string): Promise<string> => portalLink(partner, { access: 'write', next });
    /** Nothing waits for an answer that never comes, and the browser tells no fault. */
    const areWell = async (): Promise<void> => {
      for (const visitor of [portal, desk]) {
        await visitor.seesNo('Loading');
        expect(visitor.faults).toEqual([]);
      }
    };

    it('stay signed in on every page of the portal that is loaded again, and ask before they lose what was typed', async () => {
      const reader = await Visitor.at(browser, relay.ingress.url, REFUSALS);
      const ids = [`webhooks/${webhook}`, `webhooks/${webhook}/settings`, `deliveries/${envelope}`];
      for (const place of ['', 'add', 'deliveries', 'replays', 'events', 'verify', 'nowhere', ...ids]) {
        await reader.page.goto('about:blank');
        await reader.open(await linkTo(`/${place}`));
        await reader.sees('Sign out');
        await reader.seesNo('Loading');
        if (place === 'add') await reader.type('Name', 'half written');
        const before = await reader.page.title();
        await reader.page.reload();
        await reader.sees('Sign out');
        await reader.seesNo('Loading');
        expect(await reader.page.title()).toBe(before);
        expect([place, reader.asked.splice(0)]).toEqual([place, place === 'add' ? ['beforeunload'] : []]);
      }
      expect(reader.faults).toEqual([]);
      await reader.leave();
    });

    it('are the same in the console, which stays signed in, and ask before they lose what was typed', async () => {
      const titleOf = (): Promise<unknown> => desk.page.evaluate("document.querySelector('h1').innerText");
      const ids = [`webhooks/${webhook}`, `clients/${operator.clientId}`, `envelopes/${envelope}`];
      const lists = [
        '',
        'endpoints',
        'webhooks',
        'dead-letters',
        'replays',
        'clients',
        'event-types',
        'audit',
        'nowhere',
      ];
      for (const place of [...lists, ...ids, `search?q=${envelope}`, 'clients/new']) {
        await desk.open(`#/${place}`);
        await desk.seesNo('Loading');
        if (place === 'clients/new') await desk.type('Name', 'half written');
        const before = await titleOf();
        await desk.page.reload();
        await desk.sees('Sign out');
        await desk.seesNo('Loading');
        expect([place, await titleOf()]).toEqual([place, before]);
        expect([place, desk.asked.splice(0)]).toEqual([place, place === 'clients/new' ? ['beforeunload'] : []]);
      }
      expect(await desk.page.evaluate("document.querySelector('main input').value")).toBe('');
    });

    it('say that Redis has died, show the rest, and are whole again when it is back', async () => {
      await desk.press('Now');
      await desk.sees('No webhook is in trouble');
      await servers.killed('redis');
      try {
        await desk.sees(REDIS_AWAY, 'The workers have settled all of');
        expect(await desk.page.evaluate("document.querySelector('.figures dd').innerText")).toBe('0');
        await desk.press('Audit');
        await desk.sees('client.created');
        await desk.press('Webhooks');
        await desk.sees('Cannot show webhooks', 'Redis is not available at the moment');
        await portal.press('Events');
        await portal.sees('tax_return.filed');
        await portal.press('Verify');
        await portal.sees('Copy what your endpoint received.');
        await portal.press('Deliveries');
        await portal.sees('Cannot show the deliveries', 'Redis is not available at the moment');
        await areWell();
        await portal.page.reload();
        await portal.sees('Redis is not available at the moment', 'This page asks again by itself.');
      } finally {
        await servers.bringUp();
      }
      await portal.sees(short);
      await desk.sees('1 webhook of 1');
      await desk.press('Now');
      await desk.sees('No webhook is in trouble');
      await desk.seesNo('does not answer');
      await areWell();
    });

    it('say that Kafka is frozen, show the rest, and are whole again when it goes on', async () => {
      await portal.press('Deliveries');
      await portal.press(`task.created, ${short}`);
      await portal.sees('Attempt 1', 'what was sent');
      await desk.press('Now');
      await desk.sees('The workers have settled all of');
      servers.freeze('kafka');
      try {
        await portal.sees('A part of the story is missing: Kafka does not answer', 'delivered');
        await desk.sees(KAFKA_AWAY, 'No webhook is in trouble');
        await desk.press('Audit');
        await desk.sees('Cannot refresh the audit', 'Kafka does not answer at the moment.');
        await portal.page.keyboard.press('Escape');
        await portal.press(`task.created, ${short}`);
        await portal.sees(
          'Cannot refresh the payload',
          'what was sent',
          'Kafka, which has the envelope, does not answer',
        );
        await areWell();
      } finally {
        servers.thaw('kafka');
      }
      await portal.sees('what was sent');
      await portal.seesNo('does not answer');
      await desk.sees('client.created');
      await desk.press('Now');
      await desk.sees('The workers have settled all of');
      await desk.seesNo('does not answer');
      await areWell();
    });
  });
