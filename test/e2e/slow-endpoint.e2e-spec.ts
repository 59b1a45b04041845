import { anEnvelope } from '../support/client.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

// At 8 at once and 3 s each they take 150 s: longer than the others need, also on a busy machine.
const SLOW = 400;
const OTHERS = 600;

startRelay();

describe('an endpoint that takes 3 s per request', () => {
  it('holds nobody else up, and gets each of its envelopes once', async () => {
    relay.receiver.plan('/slow', { status: 200, delayMs: 3_000 });
    await partner.register({ eventType: 'plan.created', endPointUrl: relay.receiver.url('/slow'), apiKey: 'k' });
    // Another origin: beside a slow webhook of its own origin one has fewer slots.
    const fast = relay.receiver.url('/fast').replace('127.0.0.1', 'localhost');
    await partner.register({ eventType: 'task.created', endPointUrl: fast, apiKey: 'k' });

    const slow = new Set<string>();
    for (let sent = 0; sent < SLOW; sent += 50) {
      const envelopes = Array.from({ length: 50 }, () => anEnvelope({ type: 'plan.created' }));
      const answers = await Promise.all(envelopes.map((envelope) => source.post(envelope)));
      expect(answers.every(({ status }) => status === 202)).toBe(true);
      for (const { id } of envelopes) slow.add(id);
    }
    const quick = new Set<string>();
    for (let sent = 0; sent < OTHERS; sent += 50) {
      const envelopes = Array.from({ length: 50 }, () => anEnvelope());
      await Promise.all(envelopes.map((envelope) => source.post(envelope)));
      for (const { id } of envelopes) quick.add(id);
    }
    await until(
      'the others are delivered while the slow one is busy',
      () => tally(quick, relay.receiver.ids('/fast')).lost === 0,
    );
    expect(relay.receiver.at('/slow').length).toBeLessThan(SLOW);
    relay.receiver.plan('/slow', { status: 200 });

    const lag = () => relay.stack.lag('task.created');
    await until('nothing of the other type is left in the log', async () => (await lag()) === 0, { seen: lag });
    const counts = () => tally(slow, relay.receiver.ids('/slow'));
    await until('each of its envelopes is delivered', () => counts().lost === 0, { withinMs: 180_000, seen: counts });
    expect(counts()).toEqual({ accepted: SLOW, received: SLOW, lost: 0, duplicates: 0 });
  });
});
