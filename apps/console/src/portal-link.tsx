import { useSignal } from '@preact/signals';
import { ask, ChoiceField, Copy, Notice, Time } from '@relay/ui';
import { type Answer, api, may } from './session.js';

interface LinkProps {
  readonly id: string;
  readonly name: string;
}

/** Makes a link that lets somebody into the portal of a partner. */
export function PortalLink({ id, name }: LinkProps) {
  const access = useSignal('read');
  const link = useSignal<Answer<'createPortalLink'> | undefined>(undefined);
  const make = (): void => {
    const body = { partnerId: id, access: access.value === 'write' ? ('write' as const) : ('read' as const) };
    ask({
      title: `A link to the portal of ${name}?`,
      words: `Whoever opens it, once, may ${body.access === 'read' ? 'look' : 'look and change'} for 15 minutes as this one partner.`,
      verb: 'Make a link',
      curl: api.curl('createPortalLink', { body }),
      run: async () => {
        link.value = await api.call('createPortalLink', { body });
        return 'The link is made.';
      },
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
          choices={[['read', 'look'], ...(may('admin') ? [['write', 'look and change'] as const] : [])]}
        />
      </div>
      <div class="buttons">
        <button type="button" onClick={make}>
          Portal link…
        </button>
      </div>
    </section>
  );
}
