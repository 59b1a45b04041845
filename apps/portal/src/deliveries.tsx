import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import {
  Address,
  Badge,
  Button,
  ChoiceField,
  Curl,
  Empty,
  Id,
  Link,
  Loaded,
  Screen,
  Table,
  TextField,
  Time,
  clockText,
  countOf,
  countText,
  fragmentOf,
  given,
  nextCursor,
  place,
  relayNow,
  shortId,
  useFilters,
  useLoad,
} from '@relay/ui';
import type { DeliveryQuery } from './by-hour.js';
import { Causes } from './causes.js';
import { DeliveryDrawer } from './delivery.js';
import { allNames, api, choicesOf } from './session.js';
import { causeOf, spanSince, stateOf, type Delivery, type State } from './words.js';

const EVERY_MS = 10_000;
const PAGE = '50';

interface Page {
  readonly deliveries: readonly Delivery[];
  /** Cursor of the next page; undefined for the last page. */
  readonly cursor: string | undefined;
}

async function pageOf(query: DeliveryQuery, cursor?: string): Promise<Page> {
  const asked = { ...query, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const { headers, body } = await api.request('listAllDeliveries', { query: asked });
  return { deliveries: body.deliveries, cursor: nextCursor(headers) };
}

const keyOf = ({ envelopeId, webhookId, series, acceptedAt }: Delivery): string =>
  [envelopeId, webhookId, series, acceptedAt].join(' ');

/** One row of the table. `isGone` is set if the state of the delivery has changed and the filters no longer select it. */
type Row = Delivery & { readonly isGone?: true };

/** Returns the shown rows in their order, each with its newest state. */
function followed(shown: Page, newest: Page | undefined): readonly Row[] {
  if (newest === undefined) return shown.deliveries;
  const now = new Map(newest.deliveries.map((each) => [keyOf(each), each]));
  // A full page ends at its last row. Rows older than that are not gone: newer deliveries may have moved them to the next
  // page.
  const last = newest.cursor === undefined ? '' : (newest.deliveries.at(-1)?.at ?? '');
  return shown.deliveries.map((row) => now.get(keyOf(row)) ?? (row.at > last ? { ...row, isGone: true } : row));
}

interface DeliveriesProps {
  /** Envelope whose delivery is open in the drawer. */
  readonly envelopeId?: string | undefined;
  /** Webhook of this delivery; the deliveries to all webhooks if absent. */
  readonly webhookId?: string | undefined;
}

/** The deliveries of all webhooks. */
export const Deliveries = ({ envelopeId, webhookId }: DeliveriesProps) => (
  <Screen title={place.value.query['cursor'] === undefined ? 'Deliveries' : 'Older deliveries'}>
    <List at={['deliveries']} />
    {envelopeId !== undefined && (
      <DeliveryDrawer id={envelopeId} webhookId={webhookId} below={fragmentOf(['deliveries'], place.value.query)} />
    )}
  </Screen>
);

interface ListProps {
  /** Path of the page that has the list. */
  readonly at: readonly string[];
  /** The webhook whose deliveries are listed; those of all webhooks if absent. */
  readonly webhookId?: string | undefined;
}

/** One page of deliveries. The address contains the filters and the cursor. */
export function List({ at, webhookId }: ListProps) {
  const { cursor, ...filters } = place.value.query;
  const query = readFilters(webhookId === undefined ? filters : { ...filters, webhookId }, relayNow());
  const key = JSON.stringify(place.value.query);
  const loaded = useLoad(key, () => pageOf(query, cursor));
  const newest = useLoad(`now ${key}`, () => pageOf(query, cursor), EVERY_MS);
  const reload = (): void => {
    loaded.reload();
    newest.reload();
  };
  // The rows follow the newest answer, so the page tells its fault too.
  const shown = loaded.error === undefined ? { ...newest, value: loaded.value, isLoading: loaded.isLoading } : loaded;
  return (
    <>
      <Filters hasWebhook={webhookId === undefined} />
      <Loaded of={{ ...shown, reload }} what="the deliveries">
        {(page) => (
          <>
            {cursor === undefined && <Newer shown={page} newest={newest.value} show={loaded.reload} />}
            <Causes at={at} rows={page.deliveries} query={query} retried={loaded.reload} />
            <Rows
              at={at}
              rows={followed(page, newest.value)}
              webhookId={webhookId}
              empty={<None at={at} isLast={page.cursor === undefined} />}
            />
            <div class="buttons">
              {cursor !== undefined && <Link to={at} query={filters} isButton name="Newest" />}
              {page.cursor !== undefined && (
                <Link to={at} query={{ ...filters, cursor: page.cursor }} isButton name="Older" />
              )}
            </div>
          </>
        )}
      </Loaded>
      <Curl line={api.curl('listAllDeliveries', { query })} />
    </>
  );
}

interface NewerProps {
  readonly shown: Page;
  readonly newest: Page | undefined;
  readonly show: () => void;
}

/**
 * Tells the reader how many newer deliveries there are. They are shown only on request, so that rows do not move
 * unexpectedly.
 */
function Newer({ shown, newest, show }: NewerProps) {
  const known = useMemo(() => new Set(shown.deliveries.map(keyOf)), [shown]);
  const count = (newest?.deliveries ?? []).filter((each) => !known.has(keyOf(each))).length;
  return (
    <div role="status" class="said">
      {count > 0 && <Button name={`Show ${countOf(count, 'newer delivery', 'newer deliveries')}`} run={show} />}
    </div>
  );
}

/**
 * Text for a page without rows. The relay searches a limited number of deliveries, so a page may be empty without being the
 * last.
 */
const None = ({ at, isLast }: { readonly at: readonly string[]; readonly isLast: boolean }) =>
  isLast ? (
    <Empty title="No delivery matches">
      <p>Delivered ones are kept for a day. Change the filters, or show all deliveries.</p>
      <Link to={at} isButton name="Show all" />
    </Empty>
  ) : (
    <Empty title="No delivery on this page matches">
      <p>Older ones may match.</p>
    </Empty>
  );

interface RowsProps extends ListProps {
  readonly rows: readonly Row[];
  readonly empty: ComponentChildren;
}

/** A table of deliveries. Each row opens its delivery in the drawer. */
export function Rows({ at, rows, webhookId, empty }: RowsProps) {
  const names = useLoad('names', allNames).value ?? [];
  const urlOf = (id: string): string => names.find((webhook) => webhook.id === id)?.endPointUrl ?? '';
  return (
    <Table
      caption="Deliveries, newest first"
      rows={rows}
      keyOf={keyOf}
      sameOf={(row) => (row.status === 'delivered' ? undefined : [row.webhookId, ...stated(row)].join(' '))}
      lineOf={sameLine}
      columns={[
        {
          name: 'Event type',
          cell: ({ envelopeId, eventType, webhookId: id }) => (
            <Link
              to={[...at, envelopeId, ...(webhookId === undefined ? [id] : [])]}
              query={place.value.query}
              label={`${eventType}, ${shortId(envelopeId)}`}
              isOver
              name={eventType}
            />
          ),
        },
        { name: 'State', cell: (row) => <Badge kind={stateIn(row).kind}>{stateIn(row).word}</Badge> },
        {
          name: 'Last attempt',
          cell: ({ attempts }) => (
            <>
              {lastWords(attempts.at(-1))}
              {attempts.length > 1 && <p class="quiet small">{countOf(attempts.length, 'attempt')}</p>}
            </>
          ),
        },
        ...(webhookId === undefined
          ? [{ name: 'Endpoint', cell: (row: Row) => <Address url={urlOf(row.webhookId)} /> }]
          : []),
        { name: 'Envelope', cell: ({ envelopeId }) => <Id id={envelopeId} /> },
        { name: 'Time', cell: ({ at: time }) => <Time at={time} /> },
      ]}
      empty={empty}
    />
  );
}

const stateIn = ({ status, attempts, isGone }: Row): State =>
  isGone ? { kind: 'info', word: 'no longer in this list' } : stateOf(status, attempts.length);

const stated = (row: Row): readonly string[] => [stateIn(row).word, row.eventType, lastWords(row.attempts.at(-1))];

/** The line for rows that say the same, which are in their order: the newest first. */
function sameLine(rows: readonly Row[]): ComponentChildren {
  const [newest, oldest] = [rows[0], rows.at(-1)];
  if (newest === undefined || oldest === undefined) return null;
  const [word, ...more] = stated(newest);
  return (
    <>
      <strong>
        {countText(rows.length)} {word}
      </strong>
      , first {clockText(oldest.at)} <span class="quiet">{more.join(' · ')}</span>
    </>
  );
}

const lastWords = (last: Delivery['attempts'][number] | undefined): string =>
  last === undefined ? 'not attempted yet' : causeOf(last).words;

/**
 * Converts the filters in the address to those of the API. The address contains a time span such as `24h` instead of a time,
 * so that a link to the page stays useful.
 */
function readFilters(query: Readonly<Record<string, string>>, nowMs: number): DeliveryQuery {
  const { status, webhookId, eventType, httpStatus, error, span } = query;
  const since = spanSince(span, nowMs);
  return given<DeliveryQuery>({ status, webhookId, eventType, httpStatus, error, since });
}

const STATES = { '': 'all', delivered: 'delivered', waiting: 'waiting or retrying', dead: 'dead letter' };

/** Form with the filters of the list. A chosen filter is added to the address at once. */
function Filters({ hasWebhook }: { readonly hasWebhook: boolean }) {
  const filters = useFilters('status', 'webhookId', 'span', 'httpStatus', 'error');
  const webhooks = { '': 'all', ...choicesOf(useLoad('names', allNames).value ?? []) };
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <ChoiceField label="State" {...filters.status} choices={STATES} />
      {hasWebhook && <ChoiceField label="Webhook" {...filters.webhookId} choices={webhooks} />}
      <ChoiceField label="Since" {...filters.span} choices={SPANS} />
      <TextField label="HTTP status" {...filters.httpStatus} hint="503 or 5xx, of the last attempt." />
      <TextField label="Failure" {...filters.error} hint="timeout, dns, tls or refused." />
    </form>
  );
}

const SPANS = { '': 'always', '1h': 'one hour ago', '24h': 'a day ago', '168h': 'seven days ago' };
