import { Inject, Injectable } from '@nestjs/common';
import { parseSigningKeys } from '@relay/access';
import { Away, examine, summaryOf } from '@relay/doctor';
import { answeredWithin, KeptAdmin } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { isRedisAway, redisFault, Shards } from '@relay/redis';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { reasonOf } from '@relay/telemetry';
import { z } from 'zod';

export const Findings = z
  .object({
    healthy: z.boolean().describe('Whether there is no fault.'),
    faults: z.int(),
    warnings: z.int(),
    findings: z.array(
      z.object({
        check: z.string(),
        state: z.enum(['ok', 'warning', 'fault']),
        text: z.string().describe('What was found, and what it means.'),
        fix: z.string().optional().describe('Of a warning or a fault.'),
      }),
    ),
    unchecked: z
      .array(z.string())
      .describe(
        'Checks of the settings of ingress and worker: only `relay doctor`, run beside one of them, makes them.',
      ),
  })
  .meta({ id: 'Findings', description: 'What an examination of the stores and the keys found.' });
export type Findings = z.infer<typeof Findings>;

/**
 * Milliseconds after which a silent broker counts as down. PROBE_MS and WORK_MS together stay below the 9 s limit of a
 * request.
 */
const PROBE_MS = 2_500;
const WORK_MS = 5_500;
const UNCHECKED = ['egress', 'proxy', 'retries'];

/** Checks the stores and keys of this relay. Only one check runs at a time, and concurrent callers share its result. */
@Injectable()
export class Examination {
  #running: Promise<Findings> | undefined;

  constructor(
    @Inject(OPERATIONS_CONFIG) private readonly config: OperationsConfig,
    private readonly keyring: Keyring,
    private readonly shards: Shards,
    private readonly admin: KeptAdmin,
  ) {}

  read(): Promise<Findings> {
    this.#running ??= this.#examine().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #examine(): Promise<Findings> {
    const { config, keyring, shards, admin } = this;
    const probe = admin.ask((connection) => connection.describeCluster());
    const findings = await examine(
      {
        redis: async (work) => {
          const fault = redisFault(shards.global);
          if (fault !== undefined) throw redisAway(fault);
          return inTime(work(shards.global, shards)).catch((error: unknown) => {
            throw isRedisAway(error) ? redisAway(reasonOf(error), error) : error;
          });
        },
        kafka: async (work) => {
          await answeredWithin(PROBE_MS, probe).catch((error: unknown) => {
            throw new Away(`Kafka does not answer (${reasonOf(error)})`, 'start it', error);
          });
          return inTime(work(admin.kafka, config));
        },
      },
      {
        environment: () => config.RELAY_ENV,
        keyring: () => keyring,
        signingKeys: () => parseSigningKeys(config.JWT_PRIVATE_KEYS),
        wire: () => config,
      },
    );
    return { ...summaryOf(findings), findings, unchecked: UNCHECKED };
  }
}

const redisAway = (reason: string, cause?: unknown): Away =>
  new Away(`Redis does not answer (${reason})`, 'start it', cause);

const inTime = <T>(work: Promise<T>): Promise<T> =>
  answeredWithin(WORK_MS, work, () => new Error(`there was no answer within ${WORK_MS / 1_000} s`));
