import { Audit } from '@relay/audit';
import { droppedKey, parkedKey, parkingKey, partialKey, progressKey, readRangeKey } from '@relay/progress';
import type { Shards } from '@relay/redis';
import {
  beginMove,
  type Compaction,
  type Deployment,
  deploymentName,
  deploymentText,
  endMove,
  RegistryClaim,
  RegistryCompaction,
  RegistryView,
  takeUp,
} from '@relay/registry';
import { Replays } from '@relay/replays';
import type { Command } from 'commander';
import { assertStopped } from '../recover/recovery-log.adapter.js';
import { inventoryOf, keysOf, kindOf, partitionsOf } from '../reshard/layout.adapter.js';
import { answer, counted, documented, documentedGroup, type Shell } from '../shell.js';
import { logOf, type Stores, withRegistry, withStores } from '../stores.adapter.js';

export function defineRegistry(group: Command, shell: Shell): void {
  defineCompact(group.command('compact'), shell);
  defineMove(group.command('move'), shell);
  documentedGroup(group, 'registry compact');
}

function defineCompact(command: Command, shell: Shell): void {
  command
    .description('write a snapshot of clients and webhooks into the registry and delete its older records')
    .action(async (options: { json?: boolean }) => {
      const told = (_event: string, message: string): void => shell.note(`warning: ${message}`);
      const log = { ...logOf(told), warn: told };
      const outcome = await withRegistry(shell, ({ redis, registryLog, registry }) =>
        new RegistryCompaction(redis, registryLog, registry, log).compact(),
      );
      if (outcome.kind !== 'compacted' || !outcome.freed) shell.exitCode = 1;
      answer(shell, options, outcome, compactedText(outcome));
    });
  documented(command, 'registry compact');
}

function compactedText(outcome: Compaction): string {
  if (outcome.kind === 'compacted') {
    const what = `${counted(outcome.records, 'record')} replace everything before offset ${outcome.begin}`;
    return outcome.freed ? `${what}, which is gone.` : `${what}, which could not be deleted.`;
  }
  if (outcome.kind === 'refused') return `The snapshot ${outcome.reason}: nothing was deleted.`;
  if (outcome.kind === 'busy') return 'Another process is making a snapshot: nothing was done.';
  return 'Another process took this one for dead: nothing was deleted. Run the command again.';
}

function defineMove(command: Command, shell: Shell): void {
  command
    .description('move this Redis from the Kafka cluster or consumer group it belongs to, to those of the settings')
    .requiredOption('--from-cluster <id>', 'id of the Kafka cluster that Redis belongs to, `none` for one without')
    .option(
      '--leave-behind',
      'give up deliveries that still wait in the log of that cluster, and forget the ids seen, so that sources can repeat them',
    )
    .action(async (options: { fromCluster: string; leaveBehind?: boolean; json?: boolean }) => {
      const { fromCluster, leaveBehind = false } = options;
      const report = await withStores(shell, (stores) => moveDeployment(stores, fromCluster, leaveBehind));
      answer(shell, options, report ?? {}, movedText(report));
    });
  documented(command, 'registry move --from-cluster 5L6g3nShT-eMCtK--X86sw');
}

const movedText = (report: MoveReport): string =>
  report === undefined
    ? 'Redis belongs to this deployment already: nothing to do.'
    : `Moved from ${deploymentName(report.from)} to ${deploymentName(report.to)}: ${counted(report.records, 'record')} of the registry written, ${counted(report.leftBehind, 'webhook, replay or partition', 'webhooks, replays and partitions')} left behind. Start all roles.`;

const MOST_NAMED = 5;

type MoveReport = Awaited<ReturnType<typeof moveDeployment>>;

/**
 * Moves Redis to the cluster, topics and consumer group of the settings. Webhooks, jobs and dead letters stay in Redis, and
 * the registry of the new cluster gets a snapshot. Everything in Redis that refers to offsets of the former log is deleted,
 * so workers begin at the start of the new log. May be killed at any moment: the claim in Redis then says that a move has
 * begun, so no role starts, and the next run continues the move.
 * @param from id of the cluster that Redis belongs to so far; `none` if that cluster has no id
 * @returns the number of records in the snapshot, and the number of webhooks, replays and partitions whose deliveries wait
 * in the former log and are left behind; undefined if Redis belongs to this deployment already
 */
async function moveDeployment(stores: Stores, from: string, leave: boolean) {
  const { redis, shards, kafka, registryLog, publisher, settings } = stores;
  const claim = new RegistryClaim(redis, registryLog);
  const [to, held] = await Promise.all([claim.own(), heldBy(claim)]);
  if (deploymentText(held) === deploymentText(to)) return undefined;
  const moving = { ...to, moving: true } as const;
  const isBegun = deploymentText(held) === deploymentText(moving);
  if (!isBegun) assertFrom(held, from);
  await assertStopped(shards, kafka, settings);
  const isOtherLog = held.cluster !== to.cluster || held.topic !== to.topic;
  const waiting = isOtherLog ? await waitingIn(shards) : [];
  const leftBehind = waiting.length;
  if (leftBehind > 0 && !leave && !isBegun)
    throw new Error(
      `Deliveries wait in the log of ${deploymentName(held)} (${waiting.slice(0, MOST_NAMED).join(', ')}): nothing was moved. Let its workers deliver them and end by SIGTERM first, or give them up with --leave-behind`,
    );
  const { start, end } = await registryLog.bounds();
  if (isOtherLog && start < end && !isBegun)
    throw new Error(
      `The topic ${to.topic} of this cluster has records already: nothing was moved. If it is a copy of the former one, start with an empty Redis and run \`relay recover\``,
    );
  // If a move is interrupted and run again, it is audited twice.
  const audit = new Audit(publisher, settings.KAFKA_TOPIC_PREFIX, Date.now);
  await audit.report({ event: 'deployment.moved', operator: 'relay registry move', from: held, to, leftBehind });
  await takeUp(redis, held);
  if (!isOtherLog && !isBegun) {
    await endMove(redis, held, to);
    return { from: held, to, records: 0, leftBehind };
  }
  if (!isBegun) await beginMove(redis, held, to, end);
  await forgetLog(shards);
  if (leave) await forgetIds(shards);
  const records = await writeRegistry(stores);
  await endMove(redis, moving, to);
  return { from: held, to, records, leftBehind };
}

async function heldBy(claim: RegistryClaim): Promise<Deployment> {
  const held = (await claim.held()) ?? (await claim.former());
  if (held !== undefined) return held;
  throw new Error('No deployment has claimed this Redis: start the roles, there is nothing to move');
}

function assertFrom(held: Deployment, from: string): void {
  if ((held.cluster ?? 'none') !== from || held.moving === true)
    throw new Error(
      `Redis is claimed by ${deploymentName(held)}${held.moving === true ? ', to which a move has begun' : ''}, not by the cluster ${from}: nothing was moved`,
    );
}

/**
 * Returns the webhooks and replays whose records wait in the log, and the partitions with envelopes that a worker has read
 * but not settled, even if that worker was killed. Records that no worker has read are not included: only the former cluster
 * knows their number.
 */
async function waitingIn(shards: Shards): Promise<readonly string[]> {
  const waiting = new Set<string>();
  const inventory = await inventoryOf(shards);
  if (inventory.isRecovering) throw new Error('A recovery has not ended: run `relay recover` to its end first');
  for (const at of partitionsOf(inventory))
    for (const shard of shards.all) {
      for (const key of await shard.redis.hkeys(parkingKey(shard, at)))
        waiting.add(`webhook ${readRangeKey(key).webhookId}`);
      const [owner, highWater, read] = await shard.redis.hmget(progressKey(shard, at), 'owner', 'highWater', 'read');
      const [next = ''] = (read ?? '').split(' ');
      // Without a high water, no record of the partition was ever read.
      if (highWater != null && (owner || Number(next) > Number(highWater)))
        waiting.add(`partition ${at.topic}/${at.partition}`);
    }
  return [...waiting];
}

const OF_PARTITION = [progressKey, partialKey, parkingKey, droppedKey] as const;

/** Deletes the keys that refer to offsets of the former log, and cancels the replays that are under way. */
async function forgetLog(shards: Shards): Promise<void> {
  const replays = new Replays(shards.global, shards);
  for (const id of await replays.idsUnderWay()) await replays.cancel(id, Date.now());
  const partitions = partitionsOf(await inventoryOf(shards));
  for (const shard of shards.all) {
    const parked = await shard.redis.smembers(parkedKey(shard));
    const keys = partitions.flatMap((at) => OF_PARTITION.map((keyOf) => keyOf(shard, at)));
    const all = [...keys, ...parked.map((id) => parkedKey(shard, id)), parkedKey(shard)];
    await Promise.all(all.map((key) => shard.redis.unlink(key)));
  }
}

/**
 * Forgets the ids of accepted envelopes. Otherwise, if a source sends an envelope that was left behind again, the worker
 * would drop it as a repeat.
 */
async function forgetIds(shards: Shards): Promise<void> {
  for (const shard of shards.all)
    for await (const page of keysOf(shard)) {
      const marks = page.filter((key) => kindOf(shard.tag, key)?.kind === 'seen');
      if (marks.length > 0) await shard.redis.unlink(...marks);
    }
}

/** Writes a snapshot of the registry. If an earlier run began a snapshot, that snapshot is abandoned. */
async function writeRegistry({ redis, registryLog, log }: Stores): Promise<number> {
  const claim = new RegistryClaim(redis, registryLog, true);
  const registry = new RegistryView(redis, registryLog, log, claim);
  await registry.current();
  const compaction = new RegistryCompaction(redis, registryLog, registry, log);
  await compaction.giveUpOther();
  const outcome = await compaction.compact();
  if (outcome.kind === 'compacted') return outcome.records;
  const why = outcome.kind === 'refused' ? `it ${outcome.reason}` : 'another process ended it';
  throw new Error(`The snapshot of the registry was not completed (${why}): run this again`);
}
