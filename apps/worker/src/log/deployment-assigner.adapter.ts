import { PartitionAssigners, type PartitionAssigner } from 'kafkajs';

/**
 * kafkajs' round robin under a name of this deployment's own. The broker lets nobody join a group whose members share no
 * assigner (INCONSISTENT_GROUP_PROTOCOL), so workers of two deployments never divide one group's partitions among them.
 */
export const assignerOf =
  (deployment: string): PartitionAssigner =>
  (config) => ({ ...PartitionAssigners.roundRobin(config), name: `round-robin of ${deployment}` });

/** Whether the broker refused a join since the group's members have other assigners. */
export function isOtherDeployment(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('type' in error && error.type === 'INCONSISTENT_GROUP_PROTOCOL') || isOtherDeployment(error.cause);
}
