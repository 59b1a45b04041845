import { useSignal } from '@preact/signals';
import {
  Badge,
  Button,
  ChoiceField,
  Copy,
  countOf,
  countText,
  Curl,
  Empty,
  Facts,
  Id,
  Link,
  Loaded,
  Notice,
  pageFrom,
  place,
  Screen,
  SeveralField,
  Table,
  TextField,
  Time,
  useFilters,
  useLoad,
} from '@relay/ui';
import { type Answer, api, type Calls, loadClients, may, type Role } from './session.js';

const KINDS = { '': 'all', partner: 'partners', source: 'sources', operator: 'operators' };

/** The page that lists partners, sources and operators. */
export function Clients() {
  const { kind } = useFilters('kind');
  const load = useLoad('clients', loadClients);
  return (
    <Screen title="Clients" actions={may('admin') && <Link to={['clients', 'new']} isButton name="New client" />}>
      <div class="filters">
        <ChoiceField label="Kind" {...kind} choices={KINDS} />
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
                  { name: 'State', cell: ({ disabled }) => <ClientState isOff={disabled} /> },
                  { name: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
                  { name: 'Client id', cell: ({ clientId }) => <Id id={clientId} /> },
                ]}
              />
              <div class="buttons">
                {earlier !== undefined && (
                  <Link to={['clients']} query={{ ...query, from: String(earlier) }} isButton name="Earlier" />
                )}
                {later !== undefined && (
                  <Link to={['clients']} query={{ ...query, from: String(later) }} isButton name="Later" />
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

export const ClientState = ({ isOff }: { readonly isOff: boolean }) =>
  isOff ? <Badge kind="info">disabled</Badge> : <Badge kind="good">enabled</Badge>;

const NEW_KINDS = {
  partner: 'partner: gets deliveries',
  source: 'source: sends envelopes',
  operator: 'operator: looks after the relay',
};
const NEW_ROLES = {
  viewer: 'viewer: looks',
  operator: 'operator: changes deliveries as well',
  admin: 'admin: changes clients as well',
};

/** The page that creates a partner, a source or an operator, and shows the new secret once. */
export const NewClientPage = () => (
  <Screen title="New client">
    {may('admin') ? (
      <Form />
    ) : (
      <Empty title="Only an admin makes clients">
        <Link to={['clients']}>See the clients there are</Link>
      </Empty>
    )}
  </Screen>
);

function Form() {
  const [kind, name, role, credential] = [
    useSignal('partner'),
    useSignal(''),
    useSignal('viewer'),
    useSignal('client'),
  ];
  const partners = useSignal<readonly string[]>([]);
  const issued = useSignal<Answer<'createClient'> | undefined>(undefined);
  const load = useLoad('clients', loadClients);
  const known = (load.value?.clients ?? []).filter((client) => client.kind === 'partner' && !client.disabled);
  const wanted = (): Calls['createClient']['data']['body'] => {
    if (kind.value === 'operator') return { kind: 'operator', name: name.value, role: role.value as Role };
    if (kind.value === 'partner') return { kind: 'partner', name: name.value };
    const type = credential.value === 'apiKey' ? 'apiKey' : 'client';
    return { kind: 'source', name: name.value, partners: [...partners.value], credential: type };
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const body = wanted();
    const input = { body };
    api.ask('createClient', input, {
      title: `Make the ${body.kind} ${body.name}?`,
      words: 'One client will be made. Its secret is shown once, on this page.',
      verb: 'Make it',
      done: (made) => {
        issued.value = made;
        load.reload();
        name.value = '';
      },
      said: `The ${body.kind} ${body.name} is made.`,
    });
  };
  if (issued.value !== undefined) return <Issued of={issued.value} close={() => (issued.value = undefined)} />;
  return (
    <form class="panel" onSubmit={submit}>
      <ChoiceField label="Kind" value={kind} choices={NEW_KINDS} />
      <TextField label="Name" value={name} isRequired hint="People recognise it by this." />
      {kind.value === 'operator' && <ChoiceField label="Role" value={role} choices={NEW_ROLES} />}
      {kind.value === 'source' && (
        <>
          <ChoiceField
            label="Credential"
            value={credential}
            choices={{ client: 'client id and secret', apiKey: 'an API key' }}
          />
          <SeveralField
            label="Only for these partners"
            value={partners}
            choices={Object.fromEntries(known.map((client) => [client.clientId, client.name]))}
            hint="None: its envelopes are for every partner."
          />
        </>
      )}
      <div class="buttons">
        <Button name="Make it…" isMain />
      </div>
    </form>
  );
}

/** Shows a new credential once. The page does not keep it. */
export function Issued({ of, close }: { readonly of: Answer<'createClient'>; readonly close: () => void }) {
  const [name, secret] =
    'apiKey' in of ? ['API key', of.apiKey] : ['Client secret', 'clientSecret' in of ? of.clientSecret : ''];
  return (
    <Notice kind="warn" title={`${name}: shown this once`}>
      <p>Hand it over now. The relay keeps only its hash, so that nobody can show it again.</p>
      <Facts
        facts={[
          [
            'Client id',
            <>
              <code>{of.clientId}</code> <Copy text={of.clientId} what="client id" />
            </>,
          ],
          [
            name,
            <>
              <code class="secret">{secret}</code> <Copy text={secret} what={name} />
            </>,
          ],
        ]}
      />
      <Button name="I have it" run={close} />
    </Notice>
  );
}
