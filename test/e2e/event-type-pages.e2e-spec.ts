import type { Browser } from 'puppeteer-core';
import { skipped } from '../documents/languages.js';
import { App } from '../support/app.js';
import type { Login } from '../support/callers.js';
import { type Answer, call, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';
import { chromium, openBrowser, portalLink, Visitor } from '../support/visitor.js';

/** The browser tells every refusal of the API, which the page has words for. */
const REFUSALS = ['Failed to load resource: the server responded with a status of'];
const SCHEMA = `{
  "type": "object",
  "required": ["id", "total"],
  "properties": {
    "id": { "type": "string", "description": "Id of the order." },
    "total": { "type": "number", "minimum": 0 },
    "lines": { "type": "array", "items": { "type": "object", "properties": { "sku": { "type": "string" } } } }
  }
}`;

if (chromium === undefined) skipped('the pages of event types: no Chromium here');
else
  describe('the pages of event types', () => {
    let relay: Relay;
    let operations: App<'operations'>;
    let admin: Login;
    let partner: Client;
    let browser: Browser;
    let desk: Visitor;
    beforeAll(async () => {
      relay = await Relay.start();
      operations = await App.start('operations', relay.stack.env);
      admin = await relay.stack.client('operator', 'types', '--role', 'admin');
      partner = await relay.partner();
      browser = await openBrowser();
      desk = await Visitor.at(browser, operations.url, REFUSALS);
      await desk.enter(admin, 'Sign out', 'Webhooks in trouble');
    });
    afterAll(async () => {
      await browser?.close();
      await operations?.stop();
      await relay?.close();
    });

    const operate = (method: string, path: string, body?: unknown): Promise<Answer> => {
      const authorization = `Basic ${Buffer.from(`${admin.clientId}:${admin.clientSecret}`).toString('base64')}`;
      return call(method, `${operations.url}${path}`, { headers: { authorization }, body });
    };
    const read = async (name: string): Promise<Answer['json']> => (await operate('GET', `/event-types/${name}`)).json;
    /** Every state of a page is looked at here: nothing in it is out of anybody's reach. */
    const isFine = async (name: string, visitor = desk): Promise<void> => {
      await visitor.picture(`types-${name}`);
      expect([name, await visitor.broken()]).toEqual([name, []]);
    };
    const field = (label: string): string =>
      `[...document.querySelectorAll('label')].find((each) => each.innerText === ${JSON.stringify(label)}).control`;
    /** Replaces the text of a field, as a paste does. */
    const paste = async (label: string, text: string): Promise<void> => {
      await desk.tabTo(label);
      await desk.page.keyboard.down('Control');
      await desk.page.keyboard.press('a');
      await desk.page.keyboard.up('Control');
      const client = await desk.page.createCDPSession();
      await client.send('Input.insertText', { text });
      await client.detach();
    };

    it('an admin adds a type, whose faults the page names by their lines as they are typed', async () => {
      await desk.press('Event types');
      await desk.sees('14 event types', 'tax_return.filed', 'built in');
      await isFine('list');
      await desk.press('New event type');
      await desk.type('Name', 'order.paid');
      await desk.type('Description', 'An order was paid.');
      await paste('Schema', SCHEMA.replace('"minimum": 0 },', '"minimum": 0 }'));
      await desk.sees('Line 7: A comma or } is expected before "lines"');
      await paste('Schema', SCHEMA.replace('"minimum": 0', '"pattern": "(?=a)"').replace('"number"', '"numbr"'));
      await desk.sees('Line 6: ');
      await paste('Schema', SCHEMA);
      await desk.sees('The relay found no fault.');
      await paste('Sample', '{\n  "id": 5,\n  "total": -1\n}');
      await desk.sees(
        'Line 2: "id" must be a text.',
        'Line 3: "total" must be at least 0.',
        'The relay found 2 faults.',
      );
      await isFine('faults');
      await desk.press('Line 3');
      expect(
        await desk.page.evaluate(
          `${field('Sample')}.value.slice(${field('Sample')}.selectionStart, ${field('Sample')}.selectionEnd)`,
        ),
      ).toBe('  "total": -1');
      await desk.press('Add it…');
      expect(await desk.page.evaluate(`document.activeElement === ${field('Sample')}`)).toBe(true);
      await paste('Sample', '{ "id": "o_1", "total": 12.5 }');
      await desk.sees('The relay found no fault.');
      await desk.type('Kafka key', 'id');
      await desk.sees('is no JSON Pointer (RFC 6901) such as /id');
      await paste('Kafka key', '/id');
      await desk.sees('The relay found no fault.');
      await desk.press('Add it…');
      await desk.sees('Add order.paid?', 'within seconds');
      await isFine('asked');
      await desk.press('Add it');
      await desk.sees('order.paid is added.', 'An order was paid.', '0 webhooks');
      await isFine('type');
      expect(await read('order.paid')).toMatchObject({
        key: '/id',
        schema: JSON.parse(SCHEMA),
        sample: { total: 12.5 },
      });
    });

    it('keeps what was typed while the relay cannot check it, and checks it later', async () => {
      await desk.press('Edit');
      await desk.sees('The relay found no fault.');
      const checks: number[] = [];
      await desk.page.setRequestInterception(true);
      desk.page.on('request', (request) => {
        const isCheck = request.url().endsWith('/event-types/apply');
        if (isCheck) checks.push(Date.now());
        const body = JSON.stringify({ title: 'Too many requests.' });
        const away = { status: 429, headers: { 'retry-after': '1' }, contentType: 'application/problem+json', body };
        void (isCheck && checks.length === 1 ? request.respond(away) : request.continue());
      });
      await paste('Sample', '{ "id": "o_1", "total": "much" }');
      await desk.sees('The relay cannot check it now. Too many requests. Try again in 1 s.');
      expect(await desk.page.evaluate(`${field('Sample')}.value`)).toContain('much');
      await desk.sees('Line 1: "total" must be a number.');
      expect(checks).toHaveLength(2);
      desk.page.removeAllListeners('request');
      await desk.page.setRequestInterception(false);
    });

    it('shows a change by somebody else beside what was typed, which stays', async () => {
      await paste('Sample', '{ "id": "o_1", "total": 9 }');
      await desk.sees('The relay found no fault.');
      await operate('PUT', '/event-types/order.paid', {
        description: 'Changed elsewhere.',
        schema: { type: 'object' },
      });
      await desk.press('Save…');
      await desk.sees('Change order.paid?');
      await desk.press('Change it');
      await desk.sees('It was not done', 'The event type has been changed: read it again.');
      await desk.press('Cancel');
      await desk.sees(
        'order.paid was changed while you typed',
        'Description is now: Changed elsewhere.',
        'Schema is now:',
      );
      await isFine('conflict');
      expect(await desk.page.evaluate(`${field('Sample')}.value`)).toBe('{ "id": "o_1", "total": 9 }');
      await desk.press('Keep what I typed');
      await desk.seesNo('while you typed');
      await desk.press('Save…');
      await desk.sees('The schema gets revision 3');
      await desk.press('Change it');
      await desk.sees('order.paid is changed.', 'Revision of the schema');
      expect(await read('order.paid')).toMatchObject({
        description: 'An order was paid.',
        sample: { total: 9 },
        revision: 3,
      });
    });

    it('says that a name is taken, and finds types by words', async () => {
      await desk.goTo('#/event-types?new=yes');
      await desk.type('Name', 'order.paid');
      await desk.sees('There is a type order.paid already.');
      await paste('Name', 'Task.Created');
      await desk.sees("Kafka's metrics do not tell it from task.created");
      await desk.goTo('#/event-types');
      await desk.type('Search', 'was Paid');
      await desk.sees('1 of 15 event types');
      await desk.press('order.paid');
      await desk.sees('Revision of the schema');
    });

    it('archives a type, and makes it active again', async () => {
      await partner.register({ eventType: 'order.paid', endPointUrl: relay.receiver.url('/hook'), apiKey: 'k' });
      await desk.page.reload();
      await desk.sees('1 webhook');
      await desk.press('Archive…');
      await desk.sees('Archive order.paid?', 'Its 1 webhook and accepted envelopes stay');
      await desk.press('Archive it');
      await desk.sees('order.paid is archived.', 'Make it active…');
      await isFine('archived');
      expect(await read('order.paid')).toMatchObject({ archived: true });
      await desk.press('Make it active…');
      await desk.press('Make it active');
      await desk.sees('order.paid is active.', 'Archive…');
      expect(await read('order.paid')).toMatchObject({ archived: false, key: '/id', revision: 3 });
    });

    it('shows a viewer every type and no control that changes one', async () => {
      const viewer = await relay.stack.client('operator', 'looks', '--role', 'viewer');
      const other = await Visitor.at(browser, operations.url, REFUSALS);
      await other.enter(viewer, 'Sign out', 'Webhooks in trouble');
      for (const [place, text] of [
        ['', '15 event types'],
        ['/order.paid', 'Revision of the schema'],
        ['/task.created', 'The relay has it built in.'],
        ['/order.paid/edit', 'Only an admin changes event types'],
        ['?new=yes', 'Only an admin changes event types'],
      ] as const) {
        await other.goTo(`#/event-types${place}`);
        await other.sees(text);
        const controls = await other.page.$$eval('main button, main .button, main form', (all) =>
          all.map((each) => each.innerText),
        );
        expect([place, controls.filter((name) => !/^(?:Copy|)$/.test(name))]).toEqual([place, []]);
      }
      expect(other.faults).toEqual([]);
      await other.leave();
    });

    it('the portal groups the types of its partner, finds them by words, and explains their payloads', async () => {
      const stranger = await relay.partner('stranger');
      const definition = { description: 'An order was settled.', schema: JSON.parse(SCHEMA) as object, key: '/id' };
      await operate('PUT', '/event-types/order.settled', { ...definition, partners: [partner.clientId] });
      await operate('PUT', '/event-types/order.paid', {
        description: 'An order was paid.',
        deprecated: { use: 'order.settled' },
      });
      const seenBy = async (client: Client): Promise<string[]> =>
        (
          (await client.request('GET', '/webhooks/event-types')).json['eventTypes'] as unknown as { name: string }[]
        ).map(({ name }) => name);
      await until('it has reached the ingress', async () => (await seenBy(partner)).includes('order.settled'));
      expect(await seenBy(stranger)).not.toContain('order.settled');
      const schema = '/webhooks/event-types/order.settled/schema';
      expect((await stranger.request('GET', schema)).status).toBe(404);
      expect((await partner.request('GET', schema)).json).toEqual(definition.schema);
      expect((await call('GET', `${relay.ingress.url}/event-types`)).text).not.toContain('order.settled');

      const portal = await Visitor.at(browser, relay.ingress.url, REFUSALS);
      await portal.open(await portalLink(partner, { access: 'write', next: '/events' }));
      await portal.sees('23 event types', 'tax_return', 'order.settled');
      await isFine('portal', portal);
      const sizes = "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/files/'))";
      const bytes = await portal.page.evaluate(
        `${sizes}.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
      );
      expect(bytes).toBeGreaterThan(10_000);
      expect(bytes).toBeLessThan(60_000);
      await portal.type('Search', 'ORDER paid');
      await portal.sees('1 of 23 event types', 'deprecated');
      await portal.seesNo('tax_return');
      await portal.tabTo('order.paid deprecated An order was paid.');
      await portal.page.keyboard.press('Enter');
      await portal.sees('It is deprecated. Use order.settled instead.');
      await portal.press('order.settled');
      await portal.sees('1 of 23 event types', '/lines/*/sku', 'Id of the order.', 'string', 'yes');
      await isFine('portal-type', portal);
      await portal.press('JSON Schema');
      await portal.sees('"minimum": 0');
      await portal.press('Copy: Sample of order.settled');
      await portal.press('Add a webhook for it');
      await portal.sees('Address of your endpoint', 'order.paid (deprecated)');
      expect(portal.faults).toEqual([]);
      await portal.leave();
    });

    it('met no fault', () => expect(desk.faults).toEqual([]));
  });
