import { setTimeout } from 'node:timers/promises';
import { freePort } from '@relay/testing';
import type { Browser } from 'puppeteer-core';
import { skipped } from '../documents/languages.js';
import { App } from '../support/app.js';
import { HostClock } from '../support/host-clock.js';
import { Stack } from '../support/stack.js';
import { Program } from '../support/terminal.js';
import { chromium, openBrowser, Visitor } from '../support/visitor.js';

/** A program of the lab that is an identity provider. */
const PROGRAM = process.env['RELAY_OIDC_PROVIDER'];
const AGAIN = 'Sign in with Example ID';

if (PROGRAM === undefined || chromium === undefined)
  skipped('skipped: people sign in to the console by `npm run test:sign-in` of the lab');
else
  describe('the sign-in to the console at an identity provider, in a browser', () => {
    let stack: Stack;
    let operations: App<'operations'>;
    let browser: Browser;
    let provider: Program | undefined;
    let port: number;
    const clock = new HostClock();
    beforeAll(async () => {
      stack = await Stack.open();
      port = await freePort();
      operations = await App.start('operations', stack.env);
      await operations.stop();
      const login = { OIDC_CLIENT_ID: 'console', OIDC_CLIENT_SECRET: 'the secret of the console' };
      const roles = { OIDC_VIEWERS: 'staff', OIDC_ADMINS: 'relay-admins' };
      const addresses = { OIDC_ISSUER: `http://127.0.0.1:${port}`, CONSOLE_URL: operations.url };
      operations.start({ env: { ...login, ...roles, ...addresses, OIDC_NAME: 'Example ID' } });
      await operations.ready();
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await provider?.end();
      await operations?.stop();
      await stack?.close();
      clock.remove();
    });

    /** Starts the provider with new keys and without sessions. @param aheadS seconds by which its clock is ahead */
    const startProvider = async (aheadS = 0): Promise<void> => {
      await provider?.end();
      clock.set(aheadS / 3_600);
      const { env = {}, nodeOptions = [] } = clock.start;
      provider = new Program(process.execPath, [...nodeOptions, PROGRAM, String(port), operations.url], env);
      await provider.prints(/listens/);
    };
    const visit = async (place = ''): Promise<Visitor> => {
      const visitor = await Visitor.at(browser, operations.url, ['Failed to load resource']);
      await visitor.open(place);
      return visitor;
    };
    /** Types into a page of the provider, and sends it. */
    const send = async ({ page }: Visitor, typed: Record<string, string> = {}): Promise<void> => {
      for (const [name, text] of Object.entries(typed))
        await (await page.waitForSelector(`[name=${name}]`))?.type(text);
      await Promise.all([page.waitForNavigation(), page.click('[type=submit]')]);
    };
    const signIn = async (visitor: Visitor, login: string): Promise<void> => {
      await visitor.press(AGAIN);
      await send(visitor, { login, password: 'any' });
      await visitor.page.waitForSelector('[value=consent]');
      await send(visitor);
    };
    const purge = (visitor: Visitor): Promise<unknown> =>
      visitor.page.evaluate(
        `fetch('/dead-letters/purge', { method: 'POST', headers: { 'relay-console': 'acting', 'content-type': 'application/json' }, body: '{"all":true}' }).then(({ status }) => status)`,
      );

    it('says that the provider is away, and lets client id and client secret in', async () => {
      expect(operations.log.filter((line) => line.includes('"oidc.away"'))).toHaveLength(1);
      const visitor = await visit();
      await visitor.sees(AGAIN);
      expect(await visitor.broken()).toEqual([]);
      await visitor.picture('sign-in-with-provider');
      await visitor.press(AGAIN);
      await visitor.sees('Example ID does not answer at the moment.');
      expect(await visitor.broken()).toEqual([]);
      await visitor.enter(await stack.client('operator', 'night', '--role', 'admin'), 'Webhooks in trouble');
    });

    it('lets a viewer look, an admin change, and names both', async () => {
      await startProvider();
      const [viewer, admin] = [await visit('#/audit'), await visit()];
      await signIn(viewer, 'vera');
      await viewer.sees('vera@example.com (viewer)', 'Such as webhook.disabled.');
      await signIn(admin, 'ada');
      await admin.sees('ada@example.com (admin)');
      expect([await purge(viewer), await purge(admin)]).toEqual([403, 200]);
      await admin.press('Audit');
      await admin.sees('dead-letters.purge.done', 'person:ada ada@example.com');
      expect(await admin.text()).not.toContain('person:vera');
      // The page of the callback is in no history.
      await viewer.page.reload();
      await viewer.page.goBack();
      expect(viewer.page.url()).not.toContain('code=');
    });

    it('names a person without a role, who signs out there and comes back as somebody else', async () => {
      const visitor = await visit();
      await signIn(visitor, 'norbert');
      await visitor.sees('norbert@example.com (subject norbert) has no access');
      expect(await visitor.broken()).toEqual([]);
      await visitor.picture('sign-in-without-role');
      await visitor.press('Sign out at Example ID');
      await visitor.page.waitForSelector('[value=yes]');
      await visitor.page.click('[value=yes]');
      await visitor.sees(AGAIN);
      await signIn(visitor, 'vera');
      await visitor.sees('vera@example.com (viewer)');
      await visitor.press('Leave');
      await visitor.page.waitForSelector('[value=yes]');
    });

    it('follows the provider to new keys, and bears clocks that differ by seconds, not by minutes', async () => {
      // An ID token lasts a minute.
      for (const [behindS, words] of [
        [0, 'vera@example.com (viewer)'],
        [80, 'vera@example.com (viewer)'],
        [120, 'The clocks of the relay and of Example ID differ by more than 30 seconds.'],
      ] as const) {
        await startProvider(-behindS);
        const visitor = await visit();
        await signIn(visitor, 'vera');
        await visitor.sees(words);
      }
    });

    it('goes on with its sessions while the provider is away again', async () => {
      await startProvider();
      const visitor = await visit();
      await signIn(visitor, 'ada');
      await visitor.sees('ada@example.com (admin)');
      await provider?.end();
      // The relay keeps for a second what it read of the provider.
      await setTimeout(1_000);
      await visitor.page.reload();
      await visitor.sees('ada@example.com (admin)');
      await visitor.press('Leave');
      await visitor.sees('Sign in');
    });
  });
