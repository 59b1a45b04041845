import { useMemo, useState } from 'preact/hooks';
import {
  Badge,
  Curl,
  Empty,
  Link,
  Loaded,
  Notice,
  Screen,
  Table,
  Time,
  ask,
  countOf,
  countText,
  nextCursor,
  place,
  relayNow,
  useLoad,
  wordsOf,
} from '@relay/ui';
import { Filters, readFilters, type DeliveryQuery } from './filters.js';
import { api, mayWrite, type Answer } from './session.js';
import { STATUS, causeOf, causesIn, type Delivery } from './words.js';

const EVERY_MS = 10_000;
const PAGE = '50';

interface Page {
  readonly deliveries: readonly Delivery[];
  /** Of the next page. */
  readonly cursor: string | undefined;
}

async function pageOf(query: DeliveryQuery, cursor?: string): Promise<Page> {
  const asked = { ...query, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const { headers, body } = await api.request('listAllDeliveries', { query: asked });
  return { deliveries: body.deliveries, cursor: nextCursor(headers) };
}

const keyOf = ({ envelopeId, webhookId, series, acceptedAt }: Delivery): string =>
  [envelopeId, webhookId, series, acceptedAt].join(' ');

/** A row, and whether the filters select it no longer: its state is another by now. */
type Row = Delivery & { readonly isGone?: true };

/** The rows that are shown, in their order, each as the relay has it now. */
function followed(shown: Page, newest: Page | undefined): readonly Row[] {
  if (newest === undefined) return shown.deliveries;
  const now = new Map(newest.deliveries.map((each) => [keyOf(each), each]));
  // A full page ends at its last row: newer deliveries may have pushed an older row to the next page.
  const last = newest.cursor === undefined ? '' : (newest.deliveries.at(-1)?.at ?? '');
  return shown.deliveries.map((row) => now.get(keyOf(row)) ?? (row.at > last ? { ...row, isGone: true } : row));
}

/** A page of deliveries, by filters that stand in the address, as does the place of an older page. */
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
            {page.deliveries.length === 0 ? (
              <None isLast={page.cursor === undefined} />
            ) : (
              <>
                <Causes rows={page.deliveries} query={query} retried={loaded.reload} />
                <Rows rows={followed(page, newest.value)} />
              </>
            )}
            <div class="buttons">
              {cursor !== undefined && (
                <Link to={['deliveries']} query={filters} isButton>
                  Newest
                </Link>
              )}
              {page.cursor !== undefined && (
                <Link to={['deliveries']} query={{ ...filters, cursor: page.cursor }} isButton>
                  Older
                </Link>
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

/** Tells what came meanwhile; it is shown when the reader asks only: rows never move under the hand. */
function Newer({ shown, newest, show }: NewerProps) {
  const known = useMemo(() => new Set(shown.deliveries.map(keyOf)), [shown]);
  const count = (newest?.deliveries ?? []).filter((each) => !known.has(keyOf(each))).length;
  return (
    <div role="status" class="said">
      {count > 0 && (
        <button type="button" onClick={show}>
          Show {countOf(count, 'newer delivery', 'newer deliveries')}
        </button>
      )}
    </div>
  );
}

/** The relay looks through so many at once, and says then where to go on. */
const None = ({ isLast }: { readonly isLast: boolean }) =>
  isLast ? (
    <Empty title="No delivery is like this">
      <p>Successful ones are kept for a day. Change the filters, or look at all.</p>
      <Link to={['deliveries']} isButton>
        Show all
      </Link>
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

/** The failures among the rows by their cause, and the retry of all that the filters select. */
function Causes({ rows, query, retried }: CausesProps) {
  const causes = causesIn(rows);
  if (causes.length === 0) return null;
  return (
    <section class="panel">
      <h2>Why deliveries failed</h2>
      <ul class="causes">
        {causes.map(({ cause, count }) => (
          <li key={cause.words}>
            <Link to={['deliveries']} query={{ ...place.value.query, ...cause.query, cursor: undefined }}>
              {cause.words}
            </Link>{' '}
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

interface RetryAllProps {
  readonly query: DeliveryQuery;
  readonly status: 'dead' | 'waiting';
  readonly retried: () => void;
}

function RetryAll({ query, status, retried }: RetryAllProps) {
  const [fault, setFault] = useState<unknown>();
  if (query.status !== undefined && query.status !== status) return null;
  const { webhookId, status: _, ...rest } = query;
  const body = { ...rest, status, ...(webhookId === undefined ? {} : { webhookIds: [webhookId] }) };
  const name = status === 'dead' ? 'given up' : 'waiting';
  const open = async (): Promise<void> => {
    const { matched, cursor, until } = await api.call('retrySelection', { body: { ...body, dryRun: true } });
    // With the time of the count as its end, the retry takes no delivery that came later.
    const counted = { ...body, until };
    const count = `${cursor === null ? '' : 'more than '}${countOf(matched, 'delivery', 'deliveries')}`;
    ask({
      title: `Retry all that are ${name}?`,
      words: `${count} of those that the filters select will be attempted as soon as their endpoint has room.`,
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
      <button
        type="button"
        onClick={() => {
          setFault(undefined);
          open().catch(setFault);
        }}
      >
        Retry all {name}
      </button>
      {fault !== undefined && (
        <Notice kind="bad" title="They could not be counted">
          <p>{wordsOf(fault)}</p>
        </Notice>
      )}
    </>
  );
}

/** One call retries a hundred. */
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

const Rows = ({ rows }: { readonly rows: readonly Row[] }) => (
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
  />
);

const lastWords = (last: Delivery['attempts'][number] | undefined): string =>
  last === undefined ? 'not tried yet' : causeOf(last).words;
