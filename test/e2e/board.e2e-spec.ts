import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { shardNumber } from '@relay/redis';
import type { Browser, Page } from 'puppeteer-core';
import { groupOf } from '../../apps/operations/src/board/board.adapter.js';
import { skipped } from '../documents/languages.js';
import { App } from '../support/app.js';
import { anEnvelope, type Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';
import { chromium, openBrowser } from '../support/visitor.js';

const CANARY = 'canary-4711-of-a-payload';
const API_KEY = 'canary-4712-of-an-endpoint';
/** A folder for what the browser shows, to be looked at. */
const SCREENSHOTS = process.env['SCREENSHOTS'];

if (chromium === undefined) skipped('the board in a browser: no Chromium here');
else
  describe('Bull Board in a browser', () => {
    let relay: Relay;
    let operations: App<'operations'>;
    let operator: { clientId: string; clientSecret: string };
    let partner: Client;
    let browser: Browser;
    const [waiting, dead] = [randomUUID(), randomUUID()];
    beforeAll(async () => {
      relay = await Relay.start({ RETRY_SCHEDULE: '1s,1h,1h' });
      operations = await App.start('operations', relay.stack.env);
      operator = await relay.stack.client('operator', 'night', '--role', 'admin');
      partner = await relay.partner();
      const source = await relay.source();
      relay.receiver.plan('/down', { status: 500 });
      relay.receiver.plan('/gone', { status: 410 });
      const hook = { apiKey: API_KEY };
      await partner.register({ eventType: 'plan.updated', endPointUrl: relay.receiver.url('/down'), ...hook });
      const post = (id: string, type: string) => source.post(anEnvelope({ id, type, payload: { text: CANARY } }));
      await post(waiting, 'plan.updated');
      // Two attempts, then an hour of waiting.
      await until('it waits', () => relay.receiver.at('/down').length === 2);
      await partner.register({ eventType: 'task.deleted', endPointUrl: relay.receiver.url('/gone'), ...hook });
      await post(dead, 'task.deleted');
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await operations?.stop();
      await relay?.close();
    });

    /** A page of a visitor of its own, with every answer that it gets from us. */
    async function visit(credentials?: { username: string; password: string }) {
      const page = await (await browser.createBrowserContext()).newPage();
      await page.setViewport({ width: 1_400, height: 1_000 });
      if (credentials !== undefined) await page.authenticate(credentials);
      const answers: string[] = [];
      const refused: string[] = [];
      page.on('response', (response) => {
        if (response.status() >= 400) refused.push(`${response.status()} ${new URL(response.url()).pathname}`);
        response.text().then(
          (text) => answers.push(text),
          () => undefined, // a redirect has none
        );
      });
      return { page, answers, refused };
    }
    /** With which the name of a queue begins that has this envelope. */
    const groupFor = (envelopeId: string): string => {
      const shards = relay.stack.shards.all.length;
      return groupOf(shardNumber(envelopeId, shards), shards);
    };
    const shot = async (page: Page, name: string): Promise<void> => {
      if (SCREENSHOTS === undefined) return;
      mkdirSync(SCREENSHOTS, { recursive: true });
      await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
    };

    it('shows nobody anything without credentials, nor with a partner’s', async () => {
      for (const [name, credentials] of [
        ['nobody', undefined],
        ['partner', { username: partner.clientId, password: partner.clientSecret }],
      ] as const) {
        const { page, answers } = await visit(credentials);
        const response = await page.goto(`${operations.url}/board/`).catch((error: Error) => error);
        if (!(response instanceof Error)) await shot(page, `board-${name}`); // Chromium pictures no error of its own
        const status = response instanceof Error ? response.message : response?.status();
        expect([401, 403, expect.stringContaining('ERR_INVALID_AUTH_CREDENTIALS')]).toContainEqual(status);
        const seen = `${await page.content()}${answers.join('\n')}`;
        expect(seen).not.toMatch(/deliveries|bull-board/i);
        await page.close();
      }
    });

    it('shows an operator what waits and why, and no secret', async () => {
      const { page, answers, refused } = await visit({
        username: operator.clientId,
        password: operator.clientSecret,
      });
      const shows = async (path: string, texts: string[], name: string): Promise<void> => {
        await page.goto(`${operations.url}/board/${path}`, { waitUntil: 'networkidle0' });
        for (const text of texts)
          await page.waitForFunction(`document.body.innerText.includes(${JSON.stringify(text)})`, { timeout: 20_000 });
        await shot(page, name);
      };
      await shows('', ['deliveries', 'dead-letters'], 'board-queues');
      await shows(
        `queue/${groupFor(waiting)}deliveries?status=delayed`,
        [waiting, 'bytes, not shown here'],
        'board-delayed',
      );
      const due = (): number => {
        const shown = answers.findLast((text) => text.startsWith('{') && text.includes(waiting)) ?? '{}';
        const { queues = [] } = JSON.parse(shown) as { queues?: { jobs: { timestamp: number; delay: number }[] }[] };
        const [job] = queues.flatMap(({ jobs }) => jobs);
        return (job?.timestamp ?? 0) + (job?.delay ?? 0);
      };
      expect(Math.abs(due() - Date.now() - 3_600_000)).toBeLessThan(1_000_000);
      expect(await page.evaluate('document.body.innerText')).not.toContain('Delay changed');
      await shows(`queue/${groupFor(dead)}dead-letters?status=waiting`, [dead, 'gone'], 'board-dead-letters');
      const seen = `${await page.content()}\n${answers.join('\n')}`;
      expect(seen).toContain(waiting);
      for (const secret of [CANARY, API_KEY, operator.clientSecret, partner.clientSecret])
        expect(seen).not.toContain(secret);
      expect(refused).toEqual([]);
    });
  });
