import {
  Badge,
  ChoiceField,
  countOf,
  countText,
  Curl,
  Empty,
  Link,
  Loaded,
  place,
  Screen,
  Table,
  Time,
  useLoad,
} from '@relay/ui';
import { useFilter } from './filters.js';
import { loadClients } from './names.js';
import { pageFrom } from './paged.js';
import { api, may } from './session.js';

/** Partners, sources and operators. */
export function Clients() {
  const kind = useFilter('kind');
  const load = useLoad('clients', loadClients);
  return (
    <Screen
      title="Clients"
      actions={
        may('admin') && (
          <Link to={['clients', 'new']} isButton>
            New client
          </Link>
        )
      }
    >
      <div class="filters">
        <ChoiceField
          label="Kind"
          {...kind}
          choices={[
            ['', 'all'],
            ['partner', 'partners'],
            ['source', 'sources'],
            ['operator', 'operators'],
          ]}
        />
      </div>
      <Loaded of={load} what="clients">
        {({ clients, total }) => {
          const { from: asked, ...query } = place.value.query;
          const chosen = clients.filter((client) => !query['kind'] || client.kind === query['kind']);
          if (chosen.length === 0) return <Empty title="There is none yet" />;
          const { rows, from, earlier, later } = pageFrom(chosen, asked);
          return (
            <>
              <p class="quiet">
                {rows.length < chosen.length && `${countText(from + 1)} to ${countText(from + rows.length)} of `}
                {countOf(chosen.length, 'client')}
                {clients.length < total &&
                  ` among the oldest ${countText(clients.length)} of ${countText(total)}: the command line lists all`}
              </p>
              <Table
                caption="Clients"
                rows={rows}
                keyOf={({ clientId }) => clientId}
                columns={[
                  { name: 'Name', cell: ({ clientId, name }) => <Link to={['clients', clientId]}>{name}</Link> },
                  { name: 'Kind', cell: (client) => client.kind },
                  { name: 'Role', cell: ({ role }) => role ?? '–' },
                  {
                    name: 'State',
                    cell: ({ disabled }) =>
                      disabled ? <Badge kind="info">disabled</Badge> : <Badge kind="good">enabled</Badge>,
                  },
                  { name: 'Made', cell: ({ createdAt }) => <Time at={createdAt} /> },
                  { name: 'Client id', cell: ({ clientId }) => <code>{clientId}</code> },
                ]}
              />
              <div class="buttons">
                {earlier !== undefined && (
                  <Link to={['clients']} query={{ ...query, from: String(earlier) }} isButton>
                    Earlier
                  </Link>
                )}
                {later !== undefined && (
                  <Link to={['clients']} query={{ ...query, from: String(later) }} isButton>
                    Later
                  </Link>
                )}
              </div>
            </>
          );
        }}
      </Loaded>
      <Curl line={api.curl('listClients', {})} />
    </Screen>
  );
}
