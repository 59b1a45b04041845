import { useSignal } from '@preact/signals';
import { ask, ChoiceField, Empty, Link, Screen, SeveralField, TextField, useLoad } from '@relay/ui';
import { Issued } from './issued.js';
import { loadClients } from './names.js';
import { type Answer, api, type Calls, may, type Role } from './session.js';

type NewClient = Calls['createClient']['data']['body'];

/** Makes a partner, a source or an operator; shows its secret once. */
export function NewClientPage() {
  return (
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
}

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
  const wanted = (): NewClient => {
    if (kind.value === 'operator') return { kind: 'operator', name: name.value, role: role.value as Role };
    if (kind.value === 'partner') return { kind: 'partner', name: name.value };
    const type = credential.value === 'apiKey' ? 'apiKey' : 'client';
    return { kind: 'source', name: name.value, partners: [...partners.value], credential: type };
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const body = wanted();
    ask({
      title: `Make the ${body.kind} ${body.name}?`,
      words: 'One client will be made. Its secret is shown once, on this page.',
      verb: 'Make it',
      curl: api.curl('createClient', { body }),
      run: async () => {
        issued.value = await api.call('createClient', { body });
        load.reload();
        name.value = '';
        return `The ${body.kind} ${body.name} is made.`;
      },
    });
  };
  if (issued.value !== undefined) return <Issued of={issued.value} close={() => (issued.value = undefined)} />;
  return (
    <form class="panel" onSubmit={submit}>
      <ChoiceField
        label="Kind"
        value={kind}
        choices={[
          ['partner', 'partner: gets deliveries'],
          ['source', 'source: sends envelopes'],
          ['operator', 'operator: looks after the relay'],
        ]}
      />
      <TextField label="Name" value={name} isRequired hint="People recognise it by this." />
      {kind.value === 'operator' && (
        <ChoiceField
          label="Role"
          value={role}
          choices={[
            ['viewer', 'viewer: looks'],
            ['operator', 'operator: changes deliveries as well'],
            ['admin', 'admin: changes clients as well'],
          ]}
        />
      )}
      {kind.value === 'source' && (
        <>
          <ChoiceField
            label="Credential"
            value={credential}
            choices={[
              ['client', 'client id and secret'],
              ['apiKey', 'an API key'],
            ]}
          />
          <SeveralField
            label="Only for these partners"
            value={partners}
            choices={known.map((client) => [client.clientId, client.name] as const)}
            hint="None: its envelopes are for every partner."
          />
        </>
      )}
      <div class="buttons">
        <button type="submit" class="main">
          Make it…
        </button>
      </div>
    </form>
  );
}
