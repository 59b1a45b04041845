import type { ComponentChildren } from 'preact';
import { Badge, type Choices, countText, durationText, Id, type Kind, Link, Table, Time, useLoad } from '@relay/ui';
import { api, names, type Answer } from './session.js';

type Webhook = Answer<'listWebhooks'>['webhooks'][number];

/** Why a delivery is a dead letter, in words. */
export const REASONS: Readonly<Record<string, string>> = {
  attempts_exhausted: 'all attempts failed',
  horizon_passed: 'too old to try again',
  gone: 'the endpoint answered 410 Gone',
  id_conflict: 'its id belongs to another envelope',
  audience_unknown: 'none of the partners that it names exists',
  handling_failed: 'the relay could not handle it',
};

/** States and outcomes that the API names otherwise. */
export const STATES: Readonly<Record<string, string>> = { retry: 'failed', 'dead-letter': 'dead letter' };

/** Types of the relay's own envelopes. */
const NOTICES = [
  'webhook.failing',
  'webhook.disabled',
  'webhook.enabled',
  'webhook.parked',
  'deliveries.expiring',
  'replay.finished',
  'secret.rotated',
];

/** Names of the event types of this relay, then of notices. */
export function useEventTypes(): readonly string[] {
  const types = useLoad('event types', () => api.call('listEventTypes', {})).value?.eventTypes ?? [];
  return [...types.map(({ name }) => name), ...NOTICES];
}

/** Choices of a filter, all of them first. */
export const choicesOf = (values: readonly string[], all: string): Choices => ({
  '': all,
  ...Object.fromEntries(values.map((value) => [value, value])),
});

/** Status of a webhook, and what troubles it. */
export function troubleOf(webhook: Webhook): { readonly kind: Kind; readonly text: string } {
  if (webhook.status === 'disabled') return { kind: 'info', text: `disabled${because(webhook.disabledReason)}` };
  if (webhook.status === 'parked') return { kind: 'warn', text: 'parked' };
  if (webhook.breaker === 'open') return { kind: 'bad', text: 'breaker open' };
  if (webhook.failingSince !== null) return { kind: 'bad', text: 'failing' };
  if (webhook.breaker === 'half-open') return { kind: 'warn', text: 'breaker half-open' };
  if (webhook.waiting > 0) return { kind: 'warn', text: 'waiting' };
  return { kind: 'good', text: 'active' };
}

const because = (reason: string | null): string => (reason === null ? '' : `: ${reason}`);

export function Trouble({ of }: { readonly of: Webhook }) {
  const { kind, text } = troubleOf(of);
  return <Badge kind={kind}>{text}</Badge>;
}

export const tookText = (ms: number | null | undefined): string => (ms == null ? '–' : durationText(ms));

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

interface WebhookTableProps {
  readonly caption: string;
  readonly of: readonly Webhook[];
  readonly empty?: ComponentChildren;
}

export const WebhookTable = ({ caption, of, empty }: WebhookTableProps) => (
  <Table
    caption={caption}
    rows={of}
    keyOf={({ id }) => id}
    columns={[
      {
        name: 'Endpoint',
        cell: ({ id, origin, path }) => (
          <Link to={['webhooks', id]}>
            <span class="quiet">{origin}</span>
            {path}
          </Link>
        ),
      },
      { name: 'Event type', cell: ({ eventType }) => eventType },
      { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId} /> },
      { name: 'State', cell: (webhook) => <Trouble of={webhook} /> },
      { name: 'Id', cell: ({ id }) => <Id id={id} /> },
      { name: 'Failed', cell: ({ failureRate }) => shareText(failureRate), isNumber: true },
      { name: 'Waiting', cell: ({ waiting }) => countText(waiting), isNumber: true },
      { name: 'Oldest waiting', cell: ({ oldestWaitingSince: since }) => <Since at={since} isShort /> },
    ]}
    empty={empty}
  />
);

/** A time, if there is one. */
export const Since = ({ at, none = '–', isShort = false }: SinceProps) =>
  at === null ? <>{none}</> : <Time at={at} isShort={isShort} />;

interface SinceProps {
  readonly at: string | null;
  readonly none?: string;
  readonly isShort?: boolean;
}
