import { z } from 'zod';

export const OPERATIONS_EVENTS = [
  'webhook.registered',
  'webhook.changed',
  'webhook.tested',
  'webhook.failing',
  'webhook.disabled',
  'webhook.enabled',
  'webhook.deleted',
  'webhook.expiring',
  'webhook.expired',
  'secret.read',
  'secret.rotated',
  'delivery.dead',
  'delivery.retried',
  'replay.ordered',
  'replay.paused',
  'replay.resumed',
  'replay.cancelled',
  'envelope.read',
  'dead-letter.read',
  'dead-letters.replay.asked',
  'dead-letters.replay.done',
  'dead-letters.purge.asked',
  'dead-letters.purge.done',
  'board.change',
  'client.created',
  'client.changed',
  'client.rotated',
  'client.disabled',
  'client.enabled',
  'portal.opened',
  'console.linked',
  'deployment.moved',
  'event-type.applied',
  'event-type.archived',
] as const;
export type OperationsEvent = (typeof OPERATIONS_EVENTS)[number];

const member = (meaning: string) => z.string().optional().describe(meaning);

/** One record of `relay.operations`. A record may have further members that depend on its event. */
export const OperationsRecord = z
  .looseObject({
    at: z.iso.datetime().describe('When it was told.'),
    event: z.enum(OPERATIONS_EVENTS),
    partnerId: member('The partner whose webhook or delivery it is, or who asked for it.'),
    operator: member(
      'Client id of the operator who asked for it, or made the link to the portal by which it was asked for; or `relay admin clients`.',
    ),
    requestId: member('Of the request by which it was asked for.'),
    clientId: member('The client that is made or changed.'),
    webhookId: member('The webhook it is about.'),
    webhookIds: z
      .array(z.string())
      .optional()
      .describe('The webhooks to which the link of `portal.opened` is limited.'),
    deliveryId: member('The delivery it is about.'),
    envelopeId: member('The envelope it is about.'),
    eventType: member('Event type of the webhook or envelope.'),
    members: z.array(z.string()).optional().describe('What `webhook.changed` writes, by name.'),
    origin: member('Of the URL that a webhook gets, or that is tested.'),
    reason: member('Why a webhook was disabled, or a delivery given up.'),
  })
  .meta({
    id: 'OperationsRecord',
    description: 'Events for operators and auditors. More events and members may follow.',
  });

export type OperationsRecord = z.infer<typeof OperationsRecord>;

/** Returns the record of an event that happens now. @param facts ids and counts, never a payload or credential */
export const operationsRecord = (event: OperationsEvent, facts: object, now: number): object => ({
  at: new Date(now).toISOString(),
  event,
  ...facts,
});
