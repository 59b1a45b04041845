import { readFileSync } from 'node:fs';
import { configurationPage } from './configuration-page.js';

describe('docs/configuration.md', () => {
  const rows = configurationPage()
    .split('\n')
    .filter((line) => line.startsWith('| `'));

  it('is what the schemas say (write it anew with `npx node scripts/docs.mjs`)', () => {
    const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
    expect(page).toBe(configurationPage());
  });

  it('tells the meaning of every variable', () => {
    expect(rows.length).toBeGreaterThan(30);
    expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([]);
  });

  it.each([
    ['KAFKA_BROKERS', 'ingress, worker, operations, relay', '**required**'],
    ['REDIS_SENTINELS', 'ingress, worker, operations, relay', 'empty'],
    ['ENCRYPTION_KEYS', 'ingress, worker, operations, relay', '**required** | secret'],
    ['REDIS_URL', 'ingress, worker, operations, relay', 'not set | secret'],
    ['DELIVERY_TIMEOUT', 'worker', '`15s`'],
  ])('names the readers and the default of %s', (name, readers, byDefault) => {
    const row = rows.find((line) => line.startsWith(`| \`${name}\` `))?.replaceAll(/ +/g, ' ');
    expect(row).toContain(`| ${readers} | ${byDefault} |`);
  });
});
