import { readFileSync } from 'node:fs';
import { RELAY_VERSION } from './settings.js';

it('is the version of the package', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(RELAY_VERSION).toBe(version);
});
