import { randomUUID } from 'node:crypto';
import puppeteer, { type Browser } from 'puppeteer-core';
import { pathOf, skipped } from '../documents/languages.js';
import { App } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { Servers } from '../support/servers.js';
import { until } from '../support/until.js';
import { Visitor } from '../support/visitor.js';

interface Login {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The browser tells every answer that is no success; the page has words for it. */
const REFUSALS = ['Failed to load resource: the server responded with a status of'];
/** What the console says of its half. */
const REDIS_AWAY = 'Redis does not answer: webhooks, queues, dead letters and replays cannot be shown.';
const KAFKA_AWAY = 'Kafka does not answer: lag, the audit and stories from the log cannot be shown';

const program = pathOf('chromium') ?? pathOf('chromium-browser') ?? pathOf('google-chrome');
if (program === undefined) skipped('the pages while a store is away: no Chromium here');
else
  describe('pages that are open while a store is away', () => {
    let servers: Servers;
    let relay: Relay;
    let operations: App<'operations'>;
    let browser: Browser;
    let portal: Visitor;
    let desk: Visitor;
    const envelope = randomUUID();
    beforeAll(async () => {
      servers = await Servers.start();
      relay = await Relay.start({}, servers.envFile);
      operations = await App.start('operations', relay.stack.env);
      const partner = await relay.partner();
      const source = await relay.source();
      const hook = { eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'key' };
      await partner.register(hook);
      await source.post(anEnvelope({ id: envelope, payload: { text: 'what was sent' } }));
      const listed = async () => (await partner.request('GET', '/deliveries?status=delivered')).json['deliveries'];
      await until('it is delivered', async () => (await listed())?.length === 1);
      browser = await puppeteer.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
      portal = await Visitor.at(browser, relay.ingress.url, REFUSALS);
      const { json } = await partner.request('POST', '/portal/links', { access: 'write' });
      await portal.open(`portal${new URL(String(json['url'])).hash}`);
      await portal.sees('All is well.');
      desk = await Visitor.at(browser, operations.url, REFUSALS);
      const operator = (await relay.stack.relay('operators', 'create', 'night', '--role', 'admin')) as Login;
      await desk.open();
      await desk.sees('Sign in');
      await desk.type('Client id', operator.clientId);
      await desk.type('Client secret', operator.clientSecret);
      await desk.page.keyboard.press('Enter');
      await desk.sees('No webhook is in trouble');
    });
    afterAll(async () => {
      await browser?.close();
      await operations?.stop();
      await relay?.close();
      await servers?.end();
    });

    /** Nothing waits for an answer that never comes, and the browser tells no fault. */
    const areWell = async (): Promise<void> => {
      for (const visitor of [portal, desk]) {
        await visitor.seesNo('Loading');
        expect(visitor.faults).toEqual([]);
      }
    };

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
      } finally {
        await servers.bringUp();
      }
      await portal.sees(envelope);
      await desk.sees('1 webhook of 1');
      await desk.press('Now');
      await desk.sees('No webhook is in trouble');
      await desk.seesNo('does not answer');
      await areWell();
    });

    it('say that Kafka is frozen, show the rest, and are whole again when it goes on', async () => {
      await portal.press('Deliveries');
      await portal.press(envelope);
      await portal.sees('Attempt 1', 'what was sent');
      await desk.press('Now');
      await desk.sees('The workers have settled all of');
      servers.freeze('kafka');
      try {
        await portal.sees('Not all of it is known now: Kafka does not answer', 'delivered');
        await desk.sees(KAFKA_AWAY, 'No webhook is in trouble');
        await desk.press('Audit');
        await desk.sees('Cannot show the audit', 'Kafka does not answer at the moment.');
        await portal.press('Deliveries');
        await portal.press(envelope);
        await portal.sees('Cannot show the payload', 'Kafka, which has the envelope, does not answer');
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
