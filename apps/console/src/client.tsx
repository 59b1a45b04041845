import { useSignal } from '@preact/signals';
import { Button, ChoiceField, Copy, Empty, Facts, Link, Loaded, Notice, Screen, Time, useLoad } from '@relay/ui';
import { ClientState, Issued } from './clients.js';
import { type Answer, api, loadClients, may, type Role, ROLES, who } from './session.js';
import { choicesOf, ClientLink } from './words.js';

/** One partner, source or operator. */
export function ClientPage({ id }: { readonly id: string }) {
  const load = useLoad('clients', loadClients);
  const issued = useSignal<Answer<'rotateClient'> | undefined>(undefined);
  const client = load.value?.clients.find(({ clientId }) => clientId === id);
  return (
    <Screen title={client?.name ?? 'Client'}>
      {issued.value !== undefined && <Issued of={issued.value} close={() => (issued.value = undefined)} />}
      <Loaded of={load} what="the client">
        {() =>
          client === undefined ? (
            <Empty title="There is no such client">
              <Link to={['clients']}>See all clients</Link>
            </Empty>
          ) : (
            <>
              <div class="panel">
                <Facts
                  facts={[
                    ['Kind', client.kind],
                    ['State', <ClientState key="state" isOff={client.disabled} />],
                    ['Role', client.role ?? undefined],
                    ['Credential', client.credentialType === 'client' ? 'id and secret' : client.credentialType],
                    ['Made', <Time key="made" at={client.createdAt} />],
                    ['Client id', <code key="id">{client.clientId}</code>],
                    ['For', client.kind === 'source' ? <Audience ids={client.partners} /> : undefined],
                    ['May send', client.kind === 'source' ? client.types.join(', ') || 'every event type' : undefined],
                  ]}
                />
                <div class="buttons">
                  {client.kind === 'partner' && <Link to={['webhooks']} query={{ partner: id }} name="Its webhooks" />}
                  <Link
                    to={['audit']}
                    query={client.kind === 'operator' ? { operator: id } : { partner: id }}
                    name="Its audit"
                  />
                </div>
              </div>
              {may('operator') && client.kind === 'partner' && <PortalLink id={id} name={client.name} />}
              {may('admin') && (
                <ClientChanges client={client} done={load.reload} issued={(secret) => (issued.value = secret)} />
              )}
            </>
          )
        }
      </Loaded>
    </Screen>
  );
}

const Audience = ({ ids }: { readonly ids: readonly string[] }) =>
  ids.length === 0 ? (
    <>every partner</>
  ) : (
    <>
      {ids.map((id) => (
        <span key={id}>
          <ClientLink id={id} />{' '}
        </span>
      ))}
    </>
  );

interface ChangesProps {
  readonly client: Answer<'listClients'>['clients'][number];
  readonly done: () => void;
  readonly issued: (secret: Answer<'rotateClient'>) => void;
}

function ClientChanges({ client, done, issued }: ChangesProps) {
  const { clientId: id, name, disabled, credentialType } = client;
  const path = { id };
  const rotate = (endsTokens: boolean): void => {
    const input = { path, body: { endsTokens } };
    api.ask('rotateClient', input, {
      title: `A new secret for ${name}?`,
      words: endsTokens
        ? 'One secret will be made. All earlier secrets, tokens and sessions of the client end at once.'
        : 'One secret will be made. The present one works until the next rotation; the one before it ends with its tokens and sessions.',
      verb: 'Make a secret',
      isDangerous: endsTokens,
      done: issued,
      said: `${name} has a new secret.`,
    });
  };
  const turn = (): void => {
    const input = { path };
    api.ask(disabled ? 'enableClient' : 'disableClient', input, {
      title: disabled ? `Enable ${name}?` : `Disable ${name}?`,
      words: disabled
        ? 'One client will be let in again, by its former secrets. Its former tokens stay ended.'
        : 'One client will be refused within seconds, and its tokens and sessions end. The webhooks of a partner still get deliveries.',
      verb: disabled ? 'Enable' : 'Disable',
      isDangerous: !disabled,
      done,
      said: `${name} is ${disabled ? 'enabled' : 'disabled'}.`,
    });
  };
  return (
    <section class="panel" aria-label="Changes">
      <h2>Change it</h2>
      <div class="buttons">
        {credentialType === 'client' && (
          <>
            <Button name="New secret…" run={() => rotate(false)} />
            <Button name="New secret, end the old ones…" run={() => rotate(true)} />
          </>
        )}
        {id !== who.value?.clientId && <Button name={disabled ? 'Enable…' : 'Disable…'} run={turn} />}
      </div>
      {client.role !== null && id !== who.value?.clientId && (
        <ChangeRole key={client.role} client={client} role={client.role} done={done} />
      )}
    </section>
  );
}

function ChangeRole({
  client: { clientId: id, name },
  role,
  done,
}: Omit<ChangesProps, 'issued'> & { readonly role: Role }) {
  const wanted = useSignal<string>('');
  const others = ROLES.filter((other) => other !== role);
  const change = (event: Event): void => {
    event.preventDefault();
    const given = others.find((other) => other === wanted.value);
    if (given === undefined) return;
    const call = { path: { id }, body: { role: given } };
    const isLowered = ROLES.indexOf(given) < ROLES.indexOf(role);
    api.ask('changeClient', call, {
      title: `Make ${name} ${ROLE_WORDS[given]}?`,
      words: isLowered
        ? `One operator, who is ${ROLE_WORDS[role]} now, ${MAY[given]} within two seconds. Open sessions and tokens lose the other rights.`
        : `One operator, who is ${ROLE_WORDS[role]} now, ${MAY[given]} within two seconds, also in open sessions. Tokens have to be fetched anew for that.`,
      verb: 'Change the role',
      isDangerous: !isLowered,
      done,
      said: `${name} is ${ROLE_WORDS[given]}.`,
    });
  };
  return (
    <form class="filters" onSubmit={change}>
      <ChoiceField label="Another role" value={wanted} choices={choicesOf(others, `${role}, as now`)} />
      <Button name="Change the role…" />
    </form>
  );
}

const ROLE_WORDS = { viewer: 'a viewer', operator: 'an operator', admin: 'an admin' } as const;
const MAY = {
  viewer: 'may only look',
  operator: 'may look and change, except clients',
  admin: 'may change everything, clients and roles too',
} as const;

function PortalLink({ id, name }: { readonly id: string; readonly name: string }) {
  const access = useSignal('read');
  const link = useSignal<Answer<'createPortalLink'> | undefined>(undefined);
  const make = (): void => {
    const body = { partnerId: id, access: access.value === 'write' ? ('write' as const) : ('read' as const) };
    const input = { body };
    api.ask('createPortalLink', input, {
      title: `A link to the portal of ${name}?`,
      words: `Whoever opens it, once, may ${body.access === 'read' ? 'look' : 'look and change'} for 15 minutes as this one partner.`,
      verb: 'Make a link',
      done: (made) => (link.value = made),
      said: 'The link is made.',
    });
  };
  return (
    <section class="panel" aria-label="Portal">
      <h2>Portal</h2>
      {link.value !== undefined && (
        <Notice kind="warn" title="Opens the portal once">
          <p>
            <code class="portal-link">{link.value.url}</code> <Copy text={link.value.url} what="link" />
          </p>
          <p>
            It can be opened until <Time at={link.value.expiresAt} />.
          </p>
        </Notice>
      )}
      <div class="filters">
        <ChoiceField
          label="Whoever opens it may"
          value={access}
          choices={{ read: 'look', ...(may('admin') ? { write: 'look and change' } : {}) }}
        />
      </div>
      <div class="buttons">
        <Button name="Portal link…" run={make} />
      </div>
    </section>
  );
}
