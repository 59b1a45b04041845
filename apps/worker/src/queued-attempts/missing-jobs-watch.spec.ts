import type { QueuedDelivery, Recount, WaitingCount } from '@relay/jobs';
import { ThrottledLog, type LogFields } from '@relay/telemetry';
import { type LostJob, MissingJobsWatch } from './missing-jobs-watch.js';

describe('the watch over missing jobs', () => {
  let found: Record<string, Recount[]>;
  let done: string[];
  let said: [event: string, fields: LogFields | undefined][];
  let watch: MissingJobsWatch;
  beforeEach(() => {
    [found, done, said] = [{}, [], []];
    const delivery = (id: string): QueuedDelivery => ({ at: 1, job: { envelopeId: id } as never });
    const lost: Record<string, LostJob> = {
      found: { kind: 'found', delivery: delivery('found') },
      bodyless: { kind: 'bodyless', delivery: delivery('bodyless') },
      ended: { kind: 'ended' },
      stored: { kind: 'stored' },
    };
    const say = (event: string, _text: string, fields?: LogFields): void => void said.push([event, fields]);
    watch = new MissingJobsWatch(
      {
        counts: async () => new Map(['b', 'a'].map((id): [string, WaitingCount] => [id, { deliveries: 1, bytes: 1 }])),
        recount: async (id) => {
          done.push(`recount ${id}`);
          return found[id]?.shift() ?? { relisted: 0, missing: [] };
        },
      },
      {
        find: async (id) => {
          const known = lost[id];
          if (known === undefined) throw new Error('away');
          return known;
        },
      },
      { add: async ({ job }) => void done.push(`add ${job.envelopeId}`) },
      {
        bodyLost: async ({ envelopeId }) => void done.push(`body lost ${envelopeId}`),
        uncount: async (id) => void done.push(`uncount ${id}`),
      },
      new ThrottledLog({ warn: say, error: say, info: say, debug: say }),
    );
  });

  it('counts one webhook after the other again', async () => {
    for (let n = 0; n < 3; n += 1) await watch.look();
    expect(done).toEqual(['recount a', 'recount b', 'recount a']);
    expect(said).toEqual([]);
  });

  it('takes back what Redis has lost, until nothing is missing, and says how many', async () => {
    found = { a: [{ relisted: 2, missing: ['found', 'stored', 'bodyless', 'ended'] }] };
    await watch.look();
    expect(done).toEqual([
      'recount a',
      'add found',
      'body lost bodyless',
      'uncount bodyless',
      'uncount ended',
      'recount a',
    ]);
    expect(said).toEqual([['queue.restored', { webhookId: 'a', jobs: 4 }]]);
  });

  it('does not take a lost delivery for one that has ended while a store is away', async () => {
    found = { a: [{ relisted: 0, missing: ['unknown', 'found'] }] };
    await watch.look();
    expect(done).toEqual(['recount a', 'add found', 'recount a']);
    expect(said).toEqual([
      ['queue.unsearched', { jobId: 'unknown', reason: 'away' }],
      ['queue.restored', { webhookId: 'a', jobs: 1 }],
    ]);
  });
});
