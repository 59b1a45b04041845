import { withAdmin } from '@relay/kafka';
import { connectedRoles, type Shards } from '@relay/redis';
import type { Kafka } from 'kafkajs';
import type { KafkaConfig } from '../connections.adapter.js';
import { lostShards, openRecoveryLog } from '../recover/recovery-log.adapter.js';

const NO_WINDOW_MS = 0;

/**
 * Makes sure that no role runs: Redis shows their connections by name, and Kafka the workers that read, also one that Redis does not
 * see just now.
 * @throws Error naming those that run
 */
export async function assertStopped(shards: Shards, kafka: Kafka, settings: KafkaConfig): Promise<void> {
  const roles = await connectedRoles(shards.global);
  if (roles.length > 0)
    throw new Error(
      `These roles are connected to Redis: ${roles.join(', ')}. Stop all ingress, worker and operations processes first`,
    );
  const { KAFKA_CONSUMER_GROUP: group } = settings;
  const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups([group]));
  const members = groups.flatMap((found) => found.members).length;
  if (members > 0)
    throw new Error(
      `The consumer group ${group} has ${members} members: stop all workers first. One that was killed counts until its session ends`,
    );
}

/** @throws Error when a shard was lost or a recovery has not ended */
export async function assertWhole(shards: Shards, kafka: Kafka, settings: KafkaConfig): Promise<void> {
  const log = await openRecoveryLog(kafka, settings, Date.now());
  const lost = await lostShards(log.events, shards, NO_WINDOW_MS);
  if (lost.length === 0) return;
  const names = lost.map(({ shard }) => shard.tag).join(', ');
  throw new Error(
    lost.some(({ isBegun }) => isBegun)
      ? `A recovery of ${names} has not ended: run \`relay recover\` to its end first`
      : `Redis was lost: ${names} knows nothing of partitions that were read. Restore it, or run \`relay recover\` first`,
  );
}
