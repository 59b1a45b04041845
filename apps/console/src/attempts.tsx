import {
  Badge,
  durationText,
  Empty,
  type Kind,
  Link,
  Notice,
  Refused,
  Table,
  Time,
  useLoad,
  Loaded,
  Curl,
} from '@relay/ui';
import { api, type Calls } from './session.js';
import { ClientLink } from './words.js';

type Query = NonNullable<Calls['searchAttempts']['data']['query']>;

const KINDS: Readonly<Record<string, Kind>> = {
  delivered: 'good',
  retry: 'warn',
  'dead-letter': 'bad',
  cancelled: 'info',
};

/** The newest attempts that the index knows. */
export function Attempts({ query }: { readonly query: Query }) {
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
                    cell: ({ at, envelopeId }) => (
                      <Link to={['envelopes', envelopeId]}>
                        <Time at={at} />
                      </Link>
                    ),
                  },
                  { name: 'Event type', cell: ({ eventType }) => eventType },
                  { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId ?? ''} /> },
                  { name: 'Host', cell: ({ host }) => host ?? '–' },
                  { name: 'Outcome', cell: ({ outcome }) => <Badge kind={KINDS[outcome] ?? 'info'}>{outcome}</Badge> },
                  { name: 'Answer', cell: ({ status, error }) => status ?? error ?? '–' },
                  {
                    name: 'Took',
                    cell: ({ durationMs }) => (durationMs === undefined ? '–' : durationText(durationMs)),
                    isNumber: true,
                  },
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
