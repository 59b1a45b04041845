import { Badge, ChoiceField, countOf, Curl, Empty, Link, Loaded, Screen, Table, Time, useLoad } from '@relay/ui';
import { useFilter } from './filters.js';
import { loadClients } from './names.js';
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
        {({ clients }) => {
          const shown = clients.filter((client) => kind.value.value === '' || client.kind === kind.value.value);
          if (shown.length === 0) return <Empty title="There is none yet" />;
          return (
            <>
              <p class="quiet">{countOf(shown.length, 'client')}</p>
              <Table
                caption="Clients"
                rows={shown.slice(0, 1_000)}
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
            </>
          );
        }}
      </Loaded>
      <Curl line={api.curl('listClients', {})} />
    </Screen>
  );
}
