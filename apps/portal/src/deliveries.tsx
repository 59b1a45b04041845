import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import {
  Badge,
  Button,
  ChoiceField,
  Curl,
  Empty,
  Fault,
  Link,
  Loaded,
  Screen,
  Table,
  TextField,
  Time,
  ask,
  countOf,
  countText,
  given,
  nextCursor,
  place,
  refine,
  relayNow,
  useLoad,
  useTry,
  type InputOf,
} from '@relay/ui';
import type { Operations } from '@relay/client';
import { allNames, api, choicesOf, mayWrite, type Answer } from './session.js';
import { STATUS, causeOf, causesIn, spanSince, type Delivery } from './words.js';

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

/** One page of deliveries. The address of the page contains the filters and the cursor. */
export function Deliveries() {
  const { cursor, ...filters } = place.value.query;
  const query = readFilters(filters, relayNow());
  const key = JSON.stringify(place.value.query);
  const loaded = useLoad(key, () => pageOf(query, cursor));
  const newest = useLoad(`now ${key}`, () => pageOf(query, cursor), EVERY_MS);
  return (
    <Screen title={cursor === undefined ? 'Deliveries' : 'Older deliveries'}>
      <Filters />
      <Loaded of={loaded} what="the deliveries">
        {(page) => (
          <>
            {cursor === undefined && <Newer shown={page} newest={newest.value} show={loaded.reload} />}
            <Causes rows={page.deliveries} query={query} retried={loaded.reload} />
            <Rows rows={followed(page, newest.value)} empty={<None isLast={page.cursor === undefined} />} />
            <div class="buttons">
              {cursor !== undefined && <Link to={['deliveries']} query={filters} isButton name="Newest" />}
              {page.cursor !== undefined && (
                <Link to={['deliveries']} query={{ ...filters, cursor: page.cursor }} isButton name="Older" />
              )}
            </div>
          </>
        )}
      </Loaded>
      <Curl line={api.curl('listAllDeliveries', { query })} />
    </Screen>
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
const None = ({ isLast }: { readonly isLast: boolean }) =>
  isLast ? (
    <Empty title="No delivery is like this">
      <p>Successful ones are kept for a day. Change the filters, or look at all.</p>
      <Link to={['deliveries']} isButton name="Show all" />
    </Empty>
  ) : (
    <Empty title="No delivery is like this so far">
      <p>Older ones may be.</p>
    </Empty>
  );

interface CausesProps {
  readonly rows: readonly Delivery[];
  readonly query: DeliveryQuery;
  readonly retried: () => void;
}

/** Lists the failures among the rows by their cause, and offers to retry all deliveries that the filters select. */
function Causes({ rows, query, retried }: CausesProps) {
  const causes = causesIn(rows);
  if (causes.length === 0) return null;
  return (
    <section class="panel">
      <h2>Why deliveries failed</h2>
      <ul class="causes">
        {causes.map(({ cause, count }) => (
          <li key={cause.words}>
            <Link
              to={['deliveries']}
              query={{ ...place.value.query, ...cause.query, cursor: undefined }}
              name={cause.words}
            />{' '}
            <span class="quiet">{countOf(count, 'delivery', 'deliveries')} shown</span>
          </li>
        ))}
      </ul>
      {mayWrite.value && (
        <div class="buttons">
          <RetryAll query={query} status="dead" retried={retried} />
          <RetryAll query={query} status="waiting" retried={retried} />
        </div>
      )}
    </section>
  );
}

interface RetryAllProps extends Omit<CausesProps, 'rows'> {
  readonly status: 'dead' | 'waiting';
}

function RetryAll({ query, status, retried }: RetryAllProps) {
  const [fault, attempt] = useTry();
  if (query.status !== undefined && query.status !== status) return null;
  const { webhookId, status: _, ...rest } = query;
  const body = { ...rest, status, ...(webhookId === undefined ? {} : { webhookIds: [webhookId] }) };
  const name = status === 'dead' ? 'given up' : 'waiting';
  const count = async (): Promise<void> => {
    const { matched, cursor, until } = await api.call('retrySelection', { body: { ...body, dryRun: true } });
    // The retry ends at the time of the count, so that it includes no delivery that came later.
    const counted = { ...body, until };
    const many = `${cursor === null ? '' : 'more than '}${countOf(matched, 'delivery', 'deliveries')}`;
    ask({
      title: `Retry all that are ${name}?`,
      words: `${many} of those that the filters select will be attempted as soon as their endpoint has room.`,
      verb: 'Retry them',
      curl: api.curl('retrySelection', { body: counted }),
      run: async () => {
        const done = await retryAll(counted);
        retried();
        return `${countOf(done, 'delivery', 'deliveries')} will be attempted.`;
      },
    });
  };
  return (
    <>
      <Button name={`Retry all ${name}`} run={() => attempt(count)} />
      <Fault title="They could not be counted" words={fault} />
    </>
  );
}

/** Retries all selected deliveries, a hundred for each call. */
async function retryAll(body: Parameters<typeof api.call<'retrySelection'>>[1]['body']): Promise<number> {
  let sum = 0;
  let cursor: string | null = null;
  do {
    const answer: Answer<'retrySelection'> = await api.call('retrySelection', {
      body: cursor === null ? body : { ...body, cursor },
    });
    sum += answer.retried;
    cursor = answer.cursor;
  } while (cursor !== null);
  return sum;
}

const Rows = ({ rows, empty }: { readonly rows: readonly Row[]; readonly empty: ComponentChildren }) => (
  <Table
    caption="Deliveries, newest first"
    rows={rows}
    keyOf={keyOf}
    columns={[
      { name: 'Envelope', cell: ({ envelopeId }) => <Link to={['deliveries', envelopeId]}>{envelopeId}</Link> },
      { name: 'Event', cell: ({ eventType }) => eventType },
      {
        name: 'State',
        cell: ({ status, isGone }) =>
          isGone ? (
            <Badge kind="info">no longer like this</Badge>
          ) : (
            <Badge kind={STATUS[status]}>{status === 'dead' ? 'given up' : status}</Badge>
          ),
      },
      { name: 'When', cell: ({ at }) => <Time at={at} /> },
      { name: 'Attempts', isNumber: true, cell: ({ attempts }) => countText(attempts.length) },
      { name: 'Last answer', cell: ({ attempts }) => lastWords(attempts.at(-1)) },
    ]}
    empty={empty}
  />
);

const lastWords = (last: Delivery['attempts'][number] | undefined): string =>
  last === undefined ? 'not tried yet' : causeOf(last).words;

type DeliveryQuery = Omit<NonNullable<InputOf<Operations, 'listAllDeliveries'>['query']>, 'limit' | 'cursor'>;

/**
 * Converts the filters in the address to those of the API. The address contains a time span such as `24h` instead of a time,
 * so that a link to the page stays useful.
 */
function readFilters(query: Readonly<Record<string, string>>, nowMs: number): DeliveryQuery {
  const { status, webhookId, eventType, httpStatus, error, span } = query;
  const since = spanSince(span, nowMs);
  return given<DeliveryQuery>({ status, webhookId, eventType, httpStatus, error, since });
}

const STATES = { '': 'all', delivered: 'delivered', waiting: 'waiting', dead: 'given up' };

/** Form with the filters of the list. A chosen filter is added to the address at once. */
function Filters() {
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
  const webhooks = { '': 'all', ...choicesOf(useLoad('names', allNames).value ?? []) };
  const settled = (): void =>
    refine(Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value])));
  return (
    <form class="panel filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <ChoiceField label="State" value={fields.status} choices={STATES} settled={settled} />
      <ChoiceField label="Webhook" value={fields.webhookId} choices={webhooks} settled={settled} />
      <ChoiceField label="Since" value={fields.span} choices={SPANS} settled={settled} />
      <TextField label="Last answer" value={fields.httpStatus} settled={settled} hint="Such as 503 or 5xx." />
      <TextField label="Failure" value={fields.error} settled={settled} hint="Such as timeout." />
    </form>
  );
}

const SPANS = { '': 'always', '1h': 'one hour ago', '24h': 'a day ago', '168h': 'seven days ago' };
