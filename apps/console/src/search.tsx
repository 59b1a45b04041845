import {
  Badge,
  Curl,
  Empty,
  fragmentOf,
  Id,
  type Kind,
  Link,
  Loaded,
  Notice,
  place,
  Refused,
  replace,
  Screen,
  Table,
  Time,
  useLoad,
} from '@relay/ui';
import { api, loadClients, type Calls } from './session.js';
import { ClientLink, STATES, tookText } from './words.js';

/**
 * The results of the search box. If the search finds a single page, the page opens at once; otherwise the pages are listed.
 */
export function Search() {
  const { q = '', webhook } = place.value.query;
  if (webhook !== undefined)
    return (
      <Screen title="Attempts of a webhook">
        <p>
          <Link to={['webhooks', webhook]}>{webhook}</Link>
        </p>
        <Attempts query={{ webhook }} />
      </Screen>
    );
  return <Results q={q} />;
}

function Results({ q }: { readonly q: string }) {
  const load = useLoad(q, async () => {
    const found = await find(q);
    const [only] = found.places;
    if (only !== undefined && found.places.length === 1 && found.attempts === undefined) replace(fragmentOf(only.path));
    return found;
  });
  return (
    <Screen title={`Search: ${q}`}>
      <Loaded of={load} what="what is found">
        {Shown}
      </Loaded>
    </Screen>
  );
}

const Shown = ({ places, attempts }: Found) => (
  <>
    {places.length === 0 && attempts === undefined && (
      <Empty title="Nothing has this id or name">
        <p>
          Search for the id of an envelope or a webhook, the id or name of a client, or the host of an endpoint. Of an
          envelope that was never attempted, its page asks for more.
        </p>
      </Empty>
    )}
    {places.length > 0 && (
      <ul>
        {places.map(({ path, name }) => (
          <li key={path.join('/')}>
            <Link to={path}>{name}</Link>
          </li>
        ))}
      </ul>
    )}
    {attempts !== undefined && (
      <>
        <h2>Attempts at {attempts.host}</h2>
        <Attempts query={attempts} />
      </>
    )}
  </>
);

interface Found {
  /** The pages that the search found. */
  readonly places: readonly { readonly path: readonly string[]; readonly name: string }[];
  /** A search for attempts, if the text can be a host. */
  readonly attempts: { readonly host: string } | undefined;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const HOST = /^[\w-]+(?:\.[\w-]+)+(?::\d+)?$|^localhost(?::\d+)?$|^\[[0-9a-f:]+\](?::\d+)?$/i;

/**
 * Finds an envelope, a webhook or a dead letter by its id, clients by id or name, and webhooks by host.
 * @throws Refused if the relay does not answer
 */
async function find(text: string): Promise<Found> {
  if (UUID.test(text)) return byId(text.toLowerCase());
  if (/^[\w-]+_[0-9a-f-]{36}_/i.test(text))
    return { places: [{ path: ['dead-letters', text], name: 'Dead letter' }], attempts: undefined };
  const lower = hostIn(text).toLowerCase();
  const [{ clients }, { webhooks }] = await Promise.all([
    loadClients(),
    api.call('listWebhooks', { query: { limit: 10_000 } }),
  ]);
  const named = clients.filter(({ clientId, name }) => clientId === text || name.toLowerCase().includes(lower));
  const there = webhooks.filter(({ origin }) => new URL(origin).host.toLowerCase().includes(lower));
  const isHost = HOST.test(lower);
  return {
    places: [
      ...named.map(({ clientId, name, kind }) => ({ path: ['clients', clientId], name: `${kind} ${name}` })),
      ...there.map(({ id, origin, path, eventType }) => ({
        path: ['webhooks', id],
        name: `webhook ${origin}${path} ${eventType}`,
      })),
    ].slice(0, 100),
    attempts: isHost ? { host: lower } : undefined,
  };
}

const hostIn = (text: string): string => (URL.canParse(text) && text.includes('://') ? new URL(text).host : text);

async function byId(id: string): Promise<Found> {
  const path = { id };
  const asked = [
    ['envelopes', 'Envelope', api.call('readEnvelopeStory', { path })],
    ['webhooks', 'Webhook', api.call('readWebhook', { path })],
  ] as const;
  const found = await Promise.allSettled(
    asked.map(async ([section, name, answer]) => {
      try {
        await answer;
        return [{ path: [section, id], name: `${name} ${id}` }];
      } catch (error) {
        if (error instanceof Refused && error.status === 404) return [];
        throw error;
      }
    }),
  );
  const places = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  const fault = found.find((each) => each.status === 'rejected');
  // If one store does not answer, the results of the other store are enough.
  if (places.length === 0 && fault !== undefined) throw fault.reason;
  return { places, attempts: undefined };
}

type Query = NonNullable<Calls['searchAttempts']['data']['query']>;

const KINDS: Readonly<Record<string, Kind>> = {
  delivered: 'good',
  retry: 'warn',
  'dead-letter': 'bad',
  cancelled: 'info',
};

/** Shows the newest attempts in the index. */
function Attempts({ query }: { readonly query: Query }) {
  const load = useLoad(JSON.stringify(query), () => api.call('searchAttempts', { query: { ...query, limit: 50 } }));
  if (load.error instanceof Refused && load.error.status === 404)
    return (
      <Notice kind="info" title="The index of attempts is off here">
        <p>An envelope is found by its id all the same. SEARCH_INDEX turns the index on.</p>
      </Notice>
    );
  return (
    <>
      <Loaded of={load} what="attempts">
        {({ attempts, lag }) =>
          attempts.length === 0 ? (
            <Empty title="The index knows no such attempt" />
          ) : (
            <>
              {lag > 0 && <p class="quiet">The index is {lag} records behind.</p>}
              <Table
                caption="Attempts, newest first"
                rows={attempts}
                keyOf={({ deliveryId, attempt, at }) => `${deliveryId} ${attempt} ${at}`}
                columns={[
                  {
                    name: 'At',
                    cell: ({ at, envelopeId }) => <Link to={['envelopes', envelopeId]} name={<Time at={at} />} />,
                  },
                  { name: 'Event type', cell: ({ eventType }) => eventType },
                  { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId ?? ''} /> },
                  { name: 'Host', cell: ({ host }) => host ?? '–' },
                  {
                    name: 'Outcome',
                    cell: ({ outcome }) => <Badge kind={KINDS[outcome] ?? 'info'}>{STATES[outcome] ?? outcome}</Badge>,
                  },
                  { name: 'Answer', cell: ({ status, error }) => status ?? error ?? '–' },
                  { name: 'Duration', cell: ({ durationMs }) => tookText(durationMs), isNumber: true },
                  { name: 'Envelope', cell: ({ envelopeId }) => <Id id={envelopeId} /> },
                ]}
              />
            </>
          )
        }
      </Loaded>
      <Curl line={api.curl('searchAttempts', { query })} />
    </>
  );
}
