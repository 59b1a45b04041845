import { Badge, type Kind, Link, Refused } from '@relay/ui';
import { names } from './names.js';
import type { Answer, Calls } from './session.js';

type Webhook = Answer<'listWebhooks'>['webhooks'][number];

/** Why a delivery was given up, in words. */
export const REASONS: Readonly<Record<string, string>> = {
  attempts_exhausted: 'all attempts failed',
  horizon_passed: 'too old to try again',
  gone: 'the endpoint answered 410 Gone',
  id_conflict: 'its id belongs to another envelope',
  audience_unknown: 'none of the partners that it names exists',
  handling_failed: 'the relay could not handle it',
};

type EventType = NonNullable<NonNullable<Calls['listWebhooks']['data']['query']>['eventType']>;

/** Those of envelopes, then those of notices. A page cannot import the lists of the relay; the compiler holds this one against the API's. */
const KNOWN: Readonly<Record<EventType, true>> = {
  'task.created': true,
  'task.updated': true,
  'task.deleted': true,
  'recommendation.created': true,
  'recommendation.updated': true,
  'recommendation.deleted': true,
  'plan.created': true,
  'plan.updated': true,
  'plan.completed': true,
  'message.created': true,
  'notification.completed': true,
  'tax_return.created': true,
  'tax_return.updated': true,
  'tax_return.filed': true,
  'webhook.failing': true,
  'webhook.disabled': true,
  'webhook.enabled': true,
  'webhook.parked': true,
  'deliveries.expiring': true,
  'replay.finished': true,
  'secret.rotated': true,
};
export const EVENT_TYPES = Object.keys(KNOWN) as readonly EventType[];

/** Choices of a filter, all of them first. */
export const choicesOf = (values: readonly string[], all: string): (readonly [string, string])[] => [
  ['', all],
  ...values.map((value) => [value, value] as const),
];

/** Status of a webhook, and what troubles it. */
export function troubleOf(webhook: Webhook): { readonly kind: Kind; readonly text: string } {
  if (webhook.status === 'disabled') return { kind: 'info', text: `disabled${because(webhook.disabledReason)}` };
  if (webhook.status === 'parked') return { kind: 'warn', text: 'parked: its deliveries wait in the log' };
  if (webhook.breaker === 'open') return { kind: 'bad', text: 'paused by its breaker after failures' };
  if (webhook.failingSince !== null) return { kind: 'bad', text: 'every attempt fails' };
  if (webhook.breaker === 'half-open') return { kind: 'warn', text: 'tried with one attempt at a time' };
  if (webhook.waiting > 0) return { kind: 'warn', text: 'deliveries wait' };
  return { kind: 'good', text: 'well' };
}

const because = (reason: string | null): string => (reason === null ? '' : `: ${reason}`);

export function Trouble({ of }: { readonly of: Webhook }) {
  const { kind, text } = troubleOf(of);
  return <Badge kind={kind}>{text}</Badge>;
}

const LEFT_OUT = {
  unknown: 'registered no more',
  disabled: 'disabled',
  running: 'with another replay under way',
} as const;

/** The answer to an order for several webhooks. */
export type OrderedReplays = Extract<Answer<'orderReplay'>, { leftOut: unknown }>;

/** Why webhooks got no replay, such as `2 disabled, 1 with another replay under way`. */
export function leftOutText(leftOut: OrderedReplays['leftOut']): string {
  const reasons = Object.entries(LEFT_OUT).map(([why, words]) => ({
    count: leftOut.filter((each) => each.why === why).length,
    words,
  }));
  return reasons
    .filter(({ count }) => count > 0)
    .map(({ count, words }) => `${count} ${words}`)
    .join(', ');
}

/** A share of 0 to 1 in percent, such as `12 %`; below one `<1 %`. */
export const shareText = (share: number | null): string =>
  share === null ? '–' : share > 0 && share < 0.01 ? '<1 %' : `${Math.round(share * 100)} %`;

/** A client by its name, which leads to its page. */
export function ClientLink({ id }: { readonly id: string }) {
  if (id === '') return <span class="quiet">–</span>;
  // `relay admin clients` tells changes in its own name.
  if (!/^(?:partner|source|operator)_/.test(id)) return <>{id}</>;
  return <Link to={['clients', id]}>{names.value.get(id) ?? id}</Link>;
}

/** Which half is away by the errors of two loads; undefined when both answer. */
export function awayText(ofRedis: unknown, ofKafka: unknown): string | undefined {
  const [redis, kafka] = [ofRedis, ofKafka].map((error) => error instanceof Refused && error.status === 503);
  if (redis && kafka) return 'Redis and Kafka do not answer. What is shown is from before; nothing can be changed.';
  if (redis)
    return 'Redis does not answer: webhooks, queues, dead letters and replays cannot be shown. Lag and the audit can.';
  if (kafka)
    return 'Kafka does not answer: lag, the audit and stories from the log cannot be shown, and nothing can be changed. The rest can.';
  return undefined;
}
