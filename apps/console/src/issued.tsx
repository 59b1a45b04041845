import { Copy, Notice } from '@relay/ui';
import type { Answer } from './session.js';

/** A credential, shown this once: nothing of the page keeps it. */
export function Issued({ of, close }: { readonly of: Answer<'createClient'>; readonly close: () => void }) {
  const [name, secret] =
    'apiKey' in of ? ['API key', of.apiKey] : ['Client secret', 'clientSecret' in of ? of.clientSecret : ''];
  return (
    <Notice kind="warn" title={`${name}: shown this once`}>
      <p>Hand it over now. The relay keeps only its hash, so that nobody can show it again.</p>
      <dl class="facts">
        <div>
          <dt>Client id</dt>
          <dd>
            <code>{of.clientId}</code> <Copy text={of.clientId} what="client id" />
          </dd>
        </div>
        <div>
          <dt>{name}</dt>
          <dd>
            <code class="secret">{secret}</code> <Copy text={secret} what={name} />
          </dd>
        </div>
      </dl>
      <button type="button" onClick={close}>
        I have it
      </button>
    </Notice>
  );
}
