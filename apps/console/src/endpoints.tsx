import { countText, Empty, Link, Loaded, Screen, Table, Time, useLoad, Badge } from '@relay/ui';
import { endpointsOf } from './endpoints-of.js';
import { api } from './session.js';
import { ClientLink } from './words.js';

/** More lines than anybody reads: those in trouble are first. */
const MOST = 500;

/** The servers that deliveries go to, those in the worst trouble first. */
export function Endpoints() {
  const load = useLoad('endpoints', () => api.call('listWebhooks', { query: { limit: 10_000 } }), 10_000);
  return (
    <Screen title="Endpoints">
      <p class="quiet">One line for each partner and server, those in trouble first.</p>
      <Loaded of={load} what="endpoints">
        {({ webhooks }) => {
          const endpoints = endpointsOf(webhooks);
          if (endpoints.length === 0) return <Empty title="No partner has registered a webhook yet" />;
          return (
            <>
              {endpoints.length > MOST && (
                <p class="quiet">
                  The first {MOST} of {countText(endpoints.length)} are shown.
                </p>
              )}
              <Table
                caption="Endpoints by trouble"
                rows={endpoints.slice(0, MOST)}
                keyOf={({ partnerId, origin }) => `${partnerId} ${origin}`}
                columns={[
                  {
                    name: 'Endpoint',
                    cell: ({ origin, partnerId }) => (
                      <Link to={['webhooks']} query={{ partner: partnerId, origin }}>
                        {origin}
                      </Link>
                    ),
                  },
                  { name: 'Partner', cell: ({ partnerId }) => <ClientLink id={partnerId} /> },
                  { name: 'State', cell: ({ kind, text }) => <Badge kind={kind}>{text}</Badge> },
                  {
                    name: 'Failing since',
                    cell: ({ failingSince }) => (failingSince === null ? '–' : <Time at={failingSince} isShort />),
                  },
                  {
                    name: 'Next attempt',
                    cell: ({ notBefore }) => (notBefore === null ? 'now' : <Time at={notBefore} isShort />),
                  },
                  { name: 'Webhooks', cell: (row) => countText(row.webhooks), isNumber: true },
                  { name: 'Waiting', cell: ({ waiting }) => countText(waiting), isNumber: true },
                ]}
              />
            </>
          );
        }}
      </Loaded>
    </Screen>
  );
}
