import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import { Inject, Injectable } from '@nestjs/common';
import { parseDeliveryId } from '@relay/delivery';
import { AttemptFacts } from '@relay/events';
import { bullOptions, DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, dueTime } from '@relay/jobs';
import { ProblemError } from '@relay/problem';
import { type Shard, Shards } from '@relay/redis';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { type Job, Queue } from 'bullmq';

export const BOARD_PATH = '/board';

/** Bull Board as a Fastify plugin for `BOARD_PATH`. It shows the deliveries and the dead letters of every shard. */
@Injectable()
export class Board {
  readonly #queues: readonly Queue[];
  readonly #server = new FastifyAdapter().setBasePath(BOARD_PATH);

  constructor(
    { all }: Shards,
    @Inject(OPERATIONS_CONFIG) { OPERATIONS_WRITE: canWrite }: Pick<OperationsConfig, 'OPERATIONS_WRITE'>,
  ) {
    const shown = all.flatMap((shard, number) =>
      [DELIVERIES_QUEUE, DEAD_LETTERS_QUEUE].map((name) => {
        const queue = new Queue(name, bullOptions(shard));
        queue.on('error', () => undefined);
        // Dead letters are always read-only here. The API replays and purges them, and BullMQ’s own retry has no effect on
        // them.
        const readOnlyMode = canWrite !== true || name === DEAD_LETTERS_QUEUE;
        const group = { prefix: groupOf(number, all.length), delimiter: GROUP_END };
        const adapter = new DueTimeQueue(shard, queue, { readOnlyMode, allowRetries: false, ...group });
        adapter.setFormatter('data', shownData);
        return { queue, adapter };
      }),
    );
    this.#queues = shown.map(({ queue }) => queue);
    createBullBoard({
      queues: shown.map(({ adapter }) => adapter),
      serverAdapter: this.#server,
      options: { uiConfig: { boardTitle: 'Partner Relay', hideRedisDetails: true, hideDocsLink: true } },
    });
    // A rethrown error reaches the error handler of the enclosing plugin. Otherwise, the board’s own error handler sends the
    // stack trace to the client.
    this.#server.setErrorHandler((error) => {
      throw error;
    });
  }

  /**
   * Waits until all queues are connected. Rejects if BullMQ cannot reach Redis, because its queues do not recover from that.
   */
  async ready(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.waitUntilReady()));
  }

  get plugin(): ReturnType<FastifyAdapter['registerPlugin']> {
    return this.#server.registerPlugin();
  }

  async close(): Promise<void> {
    await Promise.all(this.#queues.map((queue) => queue.close()));
  }
}

/**
 * A queue that shows when delayed jobs are due. Without it, the board adds the original delay to the time of creation, which
 * is wrong for jobs that were delayed again.
 */
class DueTimeQueue extends BullMQAdapter {
  constructor(
    private readonly shard: Shard,
    ...given: ConstructorParameters<typeof BullMQAdapter>
  ) {
    super(...given);
  }

  override async getJobs(...asked: Parameters<BullMQAdapter['getJobs']>): Promise<Job[]> {
    const jobs = await super.getJobs(...asked);
    await Promise.all(jobs.map((job) => this.#setDueTime(job)));
    return jobs;
  }

  override async getJob(id: string): Promise<Job | undefined> {
    const job = await super.getJob(id);
    await this.#setDueTime(job);
    return job;
  }

  /** Changes only the displayed copy of the job. BullMQ does not read these fields when it promotes a job. */
  async #setDueTime(job: Job | undefined): Promise<void> {
    if (job?.id === undefined) return;
    const dueAt = await dueTime(this.shard, job.queueName, job.id);
    if (dueAt === undefined) return;
    job.delay = dueAt - job.timestamp;
    job.opts.delay = job.delay;
  }
}

/**
 * Members of a job's data that the board shows. All other members are left out, because they may contain parts of an
 * envelope.
 */
const SHOWN = new Set([
  'v',
  'webhookId',
  'partnerId',
  'envelopeId',
  'eventType',
  'hash',
  'series',
  'attempts',
  'acceptedAt',
  'waitedSince',
  'traceparent',
  'lastFailure',
  'reason',
  'diedAt',
]);

const Attempts = AttemptFacts.omit({ answer: true, answerHeaders: true }).array();

/**
 * Returns the part of a job's data that the board shows, for example ids, counts and reasons. It leaves out the envelope and
 * the answers of the endpoint, which may repeat the envelope. Operators who may read them use `GET /dead-letters/{id}`.
 */
function shownData(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return undefined;
  const { body, tries, ...facts } = data as Record<string, unknown>;
  return {
    ...Object.fromEntries(Object.entries(facts).filter(([name]) => SHOWN.has(name))),
    ...(tries === undefined ? {} : { tries: Attempts.safeParse(tries).data }),
    ...(body === undefined
      ? {}
      : { body: `${Buffer.byteLength(typeof body === 'string' ? body : '')} bytes, not shown here` }),
  };
}

/** Ends the name of a group of queues. No queue name contains this character. */
const GROUP_END = '.';

/** Matches the group in front of a queue name. */
const GROUP = String.raw`shard-\d{1,5}\.`;

/**
 * Returns the prefix for the queues of a shard on the board, which shows queues with the same prefix as a group. The prefix
 * is needed because queue names are the same in all shards. It is empty if there is only one shard.
 * @param number number of the shard, from 0
 */
export const groupOf = (number: number, shards: number): string => (shards === 1 ? '' : `shard-${number}${GROUP_END}`);

/**
 * Paths of the changes that the board may make if `OPERATIONS_WRITE` is true. The board may not remove, empty, add or edit
 * jobs, because each of these changes could silently lose a promised delivery.
 */
const CHANGES = new RegExp(
  `^/board/api/queues/(?:${GROUP})?${DELIVERIES_QUEUE}/(?:promote|pause|resume|([^/]+)/promote)$`,
);

/**
 * Whether the path is a permitted change. The job id is checked because the board also has paths with another word in its
 * position: `clean/promote` and `retry/promote` change all jobs in a state.
 */
function isChange(path: string): boolean {
  const [found, job] = CHANGES.exec(path) ?? [];
  return found !== undefined && (job === undefined || parseDeliveryId(job) !== undefined);
}

/** @throws ProblemError `insufficient-scope` if the change is not permitted */
export function assertBoardChange(method: string, path: string, canWrite: boolean): void {
  if (!canWrite) throw new ProblemError('insufficient-scope', 'The board is read-only: OPERATIONS_WRITE is not true.');
  if (method !== 'PUT' || !isChange(path))
    throw new ProblemError('insufficient-scope', 'The board may only promote jobs, and pause and resume deliveries.');
}
