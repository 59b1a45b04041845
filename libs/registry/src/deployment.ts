import { z } from 'zod';

/** What distinguishes a deployment from another one: whose records a Redis holds the state of. */
export const Deployment = z.object({
  /** Id that the brokers report; null when they report none. */
  cluster: z.string().nullable(),
  /** The registry topic, which begins with the prefix of all topics. */
  topic: z.string(),
  group: z.string(),
  /** A move to this deployment has begun and not ended: only the command that moves may go on. */
  moving: z.literal(true).optional(),
});
export type Deployment = z.infer<typeof Deployment>;

/** The text that is stored and compared, with its members in one order. */
export const deploymentText = ({ cluster, topic, group, moving }: Deployment): string =>
  JSON.stringify({ cluster, topic, group, moving });

/** For messages. */
export const deploymentName = ({ cluster, topic, group }: Deployment): string =>
  `Kafka cluster ${cluster ?? 'without an id'}, topic ${topic}, group ${group}`;

/** Redis holds the state of another deployment. Nothing of this one may touch it. */
export class ForeignRedis extends Error {
  override readonly name = 'ForeignRedis';

  constructor(held: Deployment, own: Deployment) {
    super(
      `this Redis belongs to another deployment (${deploymentName(held)}), not to this one (${deploymentName(own)}): ${wayOut(held, own)}`,
    );
  }
}

function wayOut(held: Deployment, own: Deployment): string {
  const command = `\`relay registry move --from-cluster ${held.cluster ?? 'none'}\``;
  return held.moving === true && deploymentText({ ...own, moving: true }) === deploymentText(held)
    ? `a move to it was cut off; stop all roles and run ${command} again`
    : `give each deployment a Redis of its own. To move the other one here, stop all its roles and run ${command}`;
}
