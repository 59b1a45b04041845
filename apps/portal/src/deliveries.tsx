import { useMemo, useState } from 'preact/hooks';
import {
  Badge,
  Curl,
  Empty,
  Link,
  Loaded,
  Screen,
  Table,
  Time,
  ask,
  countOf,
  countText,
  place,
  useLoad,
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
  const next = /[?&]cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1];
  return { deliveries: body.deliveries, cursor: next === undefined ? undefined : decodeURIComponent(next) };
}

const keyOf = ({ envelopeId, webhookId, series, acceptedAt }: Delivery): string =>
  [envelopeId, webhookId, series, acceptedAt].join(' ');

/** Every delivery, by filters that stand in the address. */
export function Deliveries() {
  const query = readFilters(place.value.query, Date.now());
  const key = JSON.stringify(place.value.query);
  const first = useLoad(key, () => pageOf(query));
  return (
    <Screen title="Deliveries">
      <Filters />
      <Loaded of={first} what="the deliveries">
        {(page) => <List key={key} first={page} query={query} refresh={first.reload} />}
      </Loaded>
      <Curl line={api.curl('listAllDeliveries', { query })} />
    </Screen>
  );
}

interface ListProps {
  readonly first: Page;
  readonly query: DeliveryQuery;
  readonly refresh: () => void;
}

function List({ first, query, refresh }: ListProps) {
  const [older, setOlder] = useState<readonly Delivery[]>([]);
  const [cursor, setCursor] = useState(first.cursor);
  const [isFetching, setFetching] = useState(false);
  const newest = useLoad('newest', () => pageOf(query), EVERY_MS);
  // What came meanwhile is told, and shown only when the reader asks: rows never move under the hand.
  const shown = useMemo(() => new Set(first.deliveries.map(keyOf)), [first]);
  const fresh = (newest.value?.deliveries ?? []).filter((each) => !shown.has(keyOf(each))).length;
  const rows = [...first.deliveries, ...older];
  const more = async (): Promise<void> => {
    setFetching(true);
    try {
      const page = await pageOf(query, cursor);
      setOlder([...older, ...page.deliveries]);
      setCursor(page.cursor);
    } finally {
      setFetching(false);
    }
  };
  return (
    <>
      <div role="status" class="said">
        {fresh > 0 && (
          <button
            type="button"
            onClick={() => {
              setOlder([]);
              refresh();
            }}
          >
            Show {countOf(fresh, 'newer delivery', 'newer deliveries')}
          </button>
        )}
      </div>
      {rows.length === 0 ? <None /> : <Causes rows={rows} query={query} retried={refresh} />}
      {rows.length > 0 && <Rows rows={rows} />}
      {cursor !== undefined && (
        <div class="buttons">
          <button type="button" onClick={() => void more()} aria-disabled={isFetching}>
            {isFetching ? 'Loading…' : 'Older ones'}
          </button>
          <span class="quiet">{countText(rows.length)} shown</span>
        </div>
      )}
    </>
  );
}

const None = () => (
  <Empty title="No delivery is like this">
    <p>Successful ones are kept for a day. Change the filters, or look at all.</p>
    <Link to={['deliveries']} isButton>
      Show all
    </Link>
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
            <Link to={['deliveries']} query={{ ...place.value.query, ...cause.query }}>
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
  if (query.status !== undefined && query.status !== status) return null;
  const { webhookId, status: _, ...rest } = query;
  const body = { ...rest, status, ...(webhookId === undefined ? {} : { webhookIds: [webhookId] }) };
  const name = status === 'dead' ? 'given up' : 'waiting';
  const open = async (): Promise<void> => {
    const { matched, cursor } = await api.call('retrySelection', { body: { ...body, dryRun: true } });
    const count = `${cursor === null ? '' : 'more than '}${countOf(matched, 'delivery', 'deliveries')}`;
    ask({
      title: `Retry all that are ${name}?`,
      words: `${count} of those that the filters select will be attempted as soon as their endpoint has room.`,
      verb: 'Retry them',
      curl: api.curl('retrySelection', { body }),
      run: async () => {
        const done = await retryAll(body);
        retried();
        return `${countOf(done, 'delivery', 'deliveries')} will be attempted.`;
      },
    });
  };
  return (
    <button type="button" onClick={() => void open()}>
      Retry all {name}
    </button>
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

const Rows = ({ rows }: { readonly rows: readonly Delivery[] }) => (
  <Table
    caption="Deliveries, newest first"
    rows={rows}
    keyOf={keyOf}
    columns={[
      { name: 'Envelope', cell: ({ envelopeId }) => <Link to={['deliveries', envelopeId]}>{envelopeId}</Link> },
      { name: 'Event', cell: ({ eventType }) => eventType },
      {
        name: 'State',
        cell: ({ status }) => <Badge kind={STATUS[status]}>{status === 'dead' ? 'given up' : status}</Badge>,
      },
      { name: 'When', cell: ({ at }) => <Time at={at} /> },
      { name: 'Attempts', isNumber: true, cell: ({ attempts }) => countText(attempts.length) },
      { name: 'Last answer', cell: ({ attempts }) => lastWords(attempts.at(-1)) },
    ]}
  />
);

const lastWords = (last: Delivery['attempts'][number] | undefined): string =>
  last === undefined ? 'not tried yet' : causeOf(last).words;
