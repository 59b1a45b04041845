import { useSignal } from '@preact/signals';
import { Badge, Empty, Facts, Link, Loaded, Screen, Time, useLoad } from '@relay/ui';
import { ClientChanges } from './client-changes.js';
import { Issued } from './issued.js';
import { loadClients } from './names.js';
import { PortalLink } from './portal-link.js';
import { type Answer, may } from './session.js';
import { ClientLink } from './words.js';

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
                    ['State', <State key="state" isOff={client.disabled} />],
                    ...(client.role === null ? [] : [['Role', client.role] as const]),
                    ['Credential', client.credentialType === 'client' ? 'id and secret' : client.credentialType],
                    ['Made', <Time key="made" at={client.createdAt} />],
                    ['Client id', <code key="id">{client.clientId}</code>],
                    ...(client.kind === 'source'
                      ? [['For', <Audience key="for" ids={client.partners} />] as const]
                      : []),
                  ]}
                />
                <div class="buttons">
                  {client.kind === 'partner' && (
                    <Link to={['webhooks']} query={{ partner: id }}>
                      Its webhooks
                    </Link>
                  )}
                  <Link to={['audit']} query={client.kind === 'operator' ? { operator: id } : { partner: id }}>
                    Its audit
                  </Link>
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

const State = ({ isOff }: { readonly isOff: boolean }) =>
  isOff ? <Badge kind="info">disabled</Badge> : <Badge kind="good">enabled</Badge>;

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
