import { Arena } from './arena.js';
import { connections } from './attacks/connections.js';
import { credentials } from './attacks/credentials.js';
import { deliveries } from './attacks/deliveries.js';
import { deployments } from './attacks/deployments.js';
import { registrations } from './attacks/registrations.js';
import { streams } from './attacks/streams.js';

const ATTACKS = [...connections, ...credentials, ...registrations, ...deliveries, ...streams, ...deployments];

let arena: Arena;
beforeAll(async () => {
  arena = await Arena.open();
});
afterAll(() => arena?.close());

/** One after another, beside callers who do nothing wrong: docs/security.md says what each caller can cost at most. */
describe('the callers who do nothing wrong', () => {
  it.each([...ATTACKS])('are served while $name', async (attack) => {
    const verdict = await arena.judge(attack);
    process.stdout.write(`${attack.name}:\n  ${verdict.toString()}\n`);
    expect(verdict.broken).toEqual([]);
  });
});
