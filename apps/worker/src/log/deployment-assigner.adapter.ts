import { PartitionAssigners, type PartitionAssigner } from 'kafkajs';

/**
 * kafkajs' round robin under a name of this deployment's own. The broker refuses a member that shares no assigner
 * with the group (INCONSISTENT_GROUP_PROTOCOL), so workers of two deployments never share the partitions of one
 * group.
 */
export const assignerOf =
  (deployment: string): PartitionAssigner =>
  (config) => ({ ...PartitionAssigners.roundRobin(config), name: `round-robin of ${deployment}` });

/** Whether the broker refused a join because the group's members have other assigners. */
export function isOtherDeployment(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('type' in error && error.type === 'INCONSISTENT_GROUP_PROTOCOL') || isOtherDeployment(error.cause);
}
