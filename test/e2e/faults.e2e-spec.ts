import { jest } from '@jest/globals';
import { allFaults } from '../faults/engine/catalog.js';
import type { Fault, Outcome } from '../faults/engine/fault.js';
import { runFault } from '../faults/engine/run-fault.js';
import { Servers } from '../support/servers.js';

jest.setTimeout(420_000);

/** One run each of these; `npm run test:faults` does all faults, three times each, and holds them to their times. */
const SUBSET = ['worker-killed-before-flush', 'redis-tail-cut'];
const ENVELOPES = 800;
/** Other specs share the cores: how long something took says nothing here. */
const WITHIN_MS = 120_000;
const FLUSH_SLACK_MS = 30_000;

let servers: Servers;
let faults: Fault[];
beforeAll(async () => {
  [servers, faults] = await Promise.all([Servers.start(), allFaults()]);
});
afterAll(() => servers.end());

function print(name: string, { accepted, owed, delivered, dead, lost, duplicates, allowed }: Outcome): void {
  const counts = { accepted, owed, delivered, dead, lost, duplicates, allowed };
  process.stdout.write(`${name}: ${JSON.stringify(counts)}\n`);
}

describe('nothing accepted is lost', () => {
  it.each(SUBSET)('by the fault %s', async (name) => {
    const fault = faults.find((each) => each.name === name);
    if (fault === undefined) throw new Error(`there is no fault ${name}`);
    const { outcome, logs } = await runFault(
      { ...fault, envelopes: ENVELOPES, recoversWithinMs: WITHIN_MS, flushSlackMs: FLUSH_SLACK_MS },
      `npm test:${name}`,
      servers,
    );
    print(name, outcome);
    const tails = Object.entries(logs).map(([process, log]) => `${process}:\n${log.slice(-2_000)}`);
    expect({ failures: outcome.failures, tails: outcome.failures.length > 0 ? tails : [] }).toEqual({
      failures: [],
      tails: [],
    });
  });
});
