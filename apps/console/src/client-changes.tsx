import { ask } from '@relay/ui';
import { type Answer, api, who } from './session.js';

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
    </section>
  );
}
