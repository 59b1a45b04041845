import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { ChoiceField, TextField, place, refine, useLoad, type InputOf } from '@relay/ui';
import type { Operations } from '@relay/client';
import { allNames, choiceOf } from './names.js';
import { SPANS, spanSince } from './spans.js';

export type DeliveryQuery = Omit<NonNullable<InputOf<Operations, 'listAllDeliveries'>['query']>, 'limit' | 'cursor'>;

/** The filters of an address as the API has them. Times are named as spans, so that a link to them stays true. */
export function readFilters(query: Readonly<Record<string, string>>, nowMs: number): DeliveryQuery {
  const { status, webhookId, eventType, httpStatus, error, span } = query;
  const since = spanSince(span, nowMs);
  const given = { status, webhookId, eventType, httpStatus, error, since };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== ''));
}

const STATES = [
  ['', 'all'],
  ['delivered', 'delivered'],
  ['waiting', 'waiting'],
  ['dead', 'given up'],
] as const;

/** The filters of the list, in the address as soon as they are chosen. */
export function Filters() {
  const { query } = place.value;
  const key = JSON.stringify(query);
  const fields = useMemo(
    () => ({
      status: signal(query['status'] ?? ''),
      webhookId: signal(query['webhookId'] ?? ''),
      span: signal(query['span'] ?? ''),
      httpStatus: signal(query['httpStatus'] ?? ''),
      error: signal(query['error'] ?? ''),
    }),
    [key],
  );
  const webhooks = (useLoad('names', allNames).value ?? []).map(choiceOf);
  const settled = (): void =>
    refine(Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value])));
  return (
    <form class="panel filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <ChoiceField label="State" value={fields.status} choices={STATES} settled={settled} />
      <ChoiceField label="Webhook" value={fields.webhookId} choices={[['', 'all'], ...webhooks]} settled={settled} />
      <ChoiceField label="Since" value={fields.span} choices={SPANS} settled={settled} />
      <TextField label="Last answer" value={fields.httpStatus} settled={settled} hint="Such as 503 or 5xx." />
      <TextField label="Failure" value={fields.error} settled={settled} hint="Such as timeout." />
    </form>
  );
}
