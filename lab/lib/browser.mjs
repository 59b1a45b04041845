// A browser that visits the pages of a running relay: the portal as a partner, the console as an operator.
import { delimiter, join } from 'node:path';
import { existsSync } from 'node:fs';
import { need } from '../../scripts/lib/packages.mjs';
import { Fault } from '../../scripts/lib/process.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
/** A machine of two cores that does other work besides answers late. */
const PATIENCE_MS = 60_000;

/** Starts Chromium without a window; the caller closes it. */
export async function openBrowser(signal) {
  await need(['chromium'], signal);
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (found === undefined) throw new Fault(`none of ${NAMES.join(', ')} is on the PATH`);
  // Imported here, because the scripts that install packages load this file before there are any.
  const { default: puppeteer } = await import('puppeteer-core');
  return puppeteer.launch({ executablePath: found, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** A page of a person of its own: no other has its cookies and its cache. */
export async function newPage(browser, viewport) {
  const page = await (await browser.createBrowserContext()).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.setViewport(viewport);
  return page;
}

/** Makes the browser of a page an operator, and leaves it at the document of the console. */
export async function enterConsole(page, url, { clientId, clientSecret }) {
  await page.goto(`${url}/`);
  const body = JSON.stringify({ clientId, clientSecret });
  const headers = { 'content-type': 'application/json', 'relay-console': 'acting' };
  const request = JSON.stringify({ method: 'POST', headers, body });
  const status = await page.evaluate(`fetch('session', ${request}).then(({ status }) => status)`);
  if (status !== 200) throw new Fault(`the console lets nobody in: ${status}`);
}

/** Opens a place of pages anew and waits until all of it is shown. */
export async function openPlace(page, address) {
  await page.goto('about:blank');
  await page.goto(address);
  await shown(page);
}

/** Waits until a page has asked for all that it shows. */
export const shown = (page) =>
  page.waitForFunction("document.querySelector('main h1') !== null && document.querySelector('.loading') === null");
