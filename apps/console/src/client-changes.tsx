import { useSignal } from '@preact/signals';
import { ask, ChoiceField } from '@relay/ui';
import { type Answer, api, type Role, ROLES, who } from './session.js';
import { choicesOf } from './words.js';

type Client = Answer<'listClients'>['clients'][number];

interface ChangesProps {
  readonly client: Client;
  readonly done: () => void;
  readonly issued: (secret: Answer<'rotateClient'>) => void;
}

/** What an admin changes of a client. */
export function ClientChanges({ client, done, issued }: ChangesProps) {
  const { clientId: id, name, disabled, credentialType } = client;
  const path = { id };
  const rotate = (endsTokens: boolean): void =>
    ask({
      title: `A new secret for ${name}?`,
      words: endsTokens
        ? 'One secret will be made. All earlier secrets, tokens and sessions of the client end at once.'
        : 'One secret will be made. The present one works until the next rotation; the one before it ends with its tokens and sessions.',
      verb: 'Make a secret',
      isDangerous: endsTokens,
      curl: api.curl('rotateClient', { path, body: { endsTokens } }),
      run: async () => {
        issued(await api.call('rotateClient', { path, body: { endsTokens } }));
        return `${name} has a new secret.`;
      },
    });
  const turn = (): void => {
    const call = disabled ? 'enableClient' : 'disableClient';
    ask({
      title: disabled ? `Enable ${name}?` : `Disable ${name}?`,
      words: disabled
        ? 'One client will be let in again, by its former secrets. Its former tokens stay ended.'
        : 'One client will be refused within seconds, and its tokens and sessions end. The webhooks of a partner still get deliveries.',
      verb: disabled ? 'Enable' : 'Disable',
      isDangerous: !disabled,
      curl: api.curl(call, { path }),
      run: async () => {
        await api.call(call, { path });
        done();
        return `${name} is ${disabled ? 'enabled' : 'disabled'}.`;
      },
    });
  };
  return (
    <section class="panel" aria-label="Changes">
      <h2>Change it</h2>
      <div class="buttons">
        {credentialType === 'client' && (
          <>
            <button type="button" onClick={() => rotate(false)}>
              New secret…
            </button>
            <button type="button" onClick={() => rotate(true)}>
              New secret, end the old ones…
            </button>
          </>
        )}
        {id !== who.value?.clientId && (
          <button type="button" onClick={turn}>
            {disabled ? 'Enable…' : 'Disable…'}
          </button>
        )}
      </div>
      {client.role !== null && id !== who.value?.clientId && (
        <ChangeRole key={client.role} id={id} name={name} role={client.role} done={done} />
      )}
    </section>
  );
}

interface RoleProps {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly done: () => void;
}

function ChangeRole({ id, name, role, done }: RoleProps) {
  const wanted = useSignal<string>('');
  const others = ROLES.filter((other) => other !== role);
  const change = (event: Event): void => {
    event.preventDefault();
    const given = others.find((other) => other === wanted.value);
    if (given === undefined) return;
    const call = { path: { id }, body: { role: given } };
    const isLowered = ROLES.indexOf(given) < ROLES.indexOf(role);
    ask({
      title: `Make ${name} ${ROLE_WORDS[given]}?`,
      words: isLowered
        ? `One operator, who is ${ROLE_WORDS[role]} now, ${MAY[given]} within two seconds. Open sessions and tokens lose the other rights.`
        : `One operator, who is ${ROLE_WORDS[role]} now, ${MAY[given]} within two seconds, also in open sessions. Tokens have to be fetched anew for that.`,
      verb: 'Change the role',
      isDangerous: !isLowered,
      curl: api.curl('changeClient', call),
      run: async () => {
        await api.call('changeClient', call);
        done();
        return `${name} is ${ROLE_WORDS[given]}.`;
      },
    });
  };
  return (
    <form class="filters" onSubmit={change}>
      <ChoiceField label="Another role" value={wanted} choices={choicesOf(others, `${role}, as now`)} />
      <button type="submit">Change the role…</button>
    </form>
  );
}

const ROLE_WORDS = { viewer: 'a viewer', operator: 'an operator', admin: 'an admin' } as const;
const MAY = {
  viewer: 'may only look',
  operator: 'may look and change, except clients',
  admin: 'may change everything, clients and roles too',
} as const;
