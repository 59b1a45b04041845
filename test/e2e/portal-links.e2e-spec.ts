import type { Server } from 'node:http';
import type { Browser } from 'puppeteer-core';
import { skipped } from '../documents/languages.js';
import type { Client } from '../support/client.js';
import { anEmbedder, originOf } from '../support/embedder.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';
import { chromium, openBrowser, portalLink, Visitor } from '../support/visitor.js';

if (chromium === undefined) skipped('links to the portal in a browser: no Chromium here');
else
  describe('the portal, entered by links,', () => {
    let relay: Relay;
    let partner: Client;
    let browser: Browser;
    let visitor: Visitor;
    let embedders: readonly [allowed: Server, other: Server];
    beforeAll(async () => {
      const application = () => ({
        relay: relay.ingress.url,
        portalLink: async () => `${relay.ingress.url}/${await linkFor({ access: 'write' })}`,
      });
      embedders = [await anEmbedder(application), await anEmbedder(application)];
      relay = await Relay.start({ PORTAL_FRAMES: originOf(embedders[0]), WEBHOOKS_PER_ORIGIN: '200' });
      partner = await relay.partner();
      await partner.register({ eventType: 'task.created', endPointUrl: relay.receiver.url('/hook'), apiKey: 'k' });
      browser = await openBrowser();
      visitor = await Visitor.at(browser, relay.ingress.url);
    });
    afterAll(async () => {
      await browser?.close();
      await relay?.close();
      for (const server of embedders ?? []) server.closeAllConnections();
      for (const server of embedders ?? []) server.close();
    });
    const linkFor = (body: object, owner = partner): Promise<string> => portalLink(owner, body);

    it('rotates a secret once, however often its button is clicked', async () => {
      await visitor.open(await linkFor({ access: 'write' }));
      await visitor.press(`${relay.receiver.url('/hook')}, task.created`);
      await visitor.press('Settings');
      const calls: string[] = [];
      visitor.page.on('request', (request) => request.method() === 'POST' && calls.push(request.url()));
      await visitor.press('Rotate secret');
      await visitor.sees('Rotate the signing secret?');
      await visitor.page.evaluate("for (let n = 0; n < 2; n += 1) document.querySelector('dialog .main').click()");
      await visitor.sees('The new secret is shown below.');
      expect(calls).toEqual([expect.stringMatching(/secret\/rotate$/)]);
    });

    it('shows the webhooks of the partner whose link was opened last in the same tab', async () => {
      const other = await relay.partner('other');
      await other.register({
        eventType: 'recommendation.deleted',
        endPointUrl: relay.receiver.url('/other'),
        apiKey: 'k',
      });
      await visitor.page.evaluate(`location.hash = '${(await linkFor({}, other)).replace('portal', '')}'`);
      await visitor.sees('recommendation.deleted', 'read only');
      expect(await visitor.text()).not.toContain('task.created');
      expect(await visitor.page.evaluate('location.hash')).toBe('#/');
    });

    it('shows all of 120 webhooks, in pages, by a part of their address, and in each choice', async () => {
      const large = await relay.partner('large');
      for (let n = 0; n < 120; n += 1)
        await large.register({ eventType: 'plan.updated', endPointUrl: relay.receiver.url(`/at/${n}/`), apiKey: 'k' });
      await visitor.open(await linkFor({ access: 'write' }, large));
      await visitor.sees('/at/99/', 'Among 120 webhooks');
      expect(await visitor.broken()).toEqual([]);
      await visitor.type('Find', '/at/119/');
      await visitor.page.keyboard.press('Enter');
      await visitor.sees('/at/119/');
      await visitor.press('More webhooks');
      await visitor.sees('/at/100/', '/at/119/');
      for (const section of ['Deliveries', 'Replays']) {
        await visitor.press(section);
        await visitor.page.waitForFunction("document.querySelectorAll('select option').length > 120");
      }
      await visitor.leave();
    });

    it('is seen in a frame of a host that is named, and told when it ends; in no other', async () => {
      const page = await browser.newPage();
      const framed = async (server: Server) => {
        await page.goto(originOf(server));
        const frame = await page.waitForFrame((each) => each.parentFrame() !== null);
        return { frame };
      };
      const { frame } = await framed(embedders[0]);
      await frame.waitForFunction("document.body.innerText.includes('task.created')", { timeout: 60_000 });
      await Promise.all([frame.waitForNavigation(), frame.evaluate('location.reload()')]);
      await frame.waitForFunction("document.body.innerText.includes('task.created')", { timeout: 60_000 });
      await frame.locator('::-p-aria(Sign out)').click();
      await page.waitForFunction("document.title === 'partner-relay:ended'", { timeout: 60_000 });
      await frame.waitForFunction("document.body.innerText.includes('task.created')", { timeout: 60_000 });
      expect(frame.url()).toMatch(/\/portal#\/$/);

      await framed(embedders[1]);
      await until('the frame stays empty', async () => page.frames()[1]?.url().startsWith('chrome-error:') ?? false);
      await page.close();
    });
  });
