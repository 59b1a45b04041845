import { signal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ChoiceField, Copy, durationText, Link, Notice, TextField, Viewer, type Choices, type Saying } from '@relay/ui';
import type { Answer } from './session.js';

/** Form fields for the credential that the relay sends to an endpoint. */
export const credentialFields = () => ({
  kind: signal('apiKey'),
  apiKey: signal(''),
  jwt: signal(''),
  userName: signal(''),
  password: signal(''),
});
type CredentialFields = ReturnType<typeof credentialFields>;

export const KINDS: Choices = {
  apiKey: 'API key (x-api-key)',
  jwt: 'Token (Authorization: Bearer)',
  basic: 'User and password (Basic)',
};

/** Returns the members of the request body for the chosen kind of credential. */
export function credentialIn({ kind, apiKey, jwt, userName, password }: CredentialFields): Record<string, string> {
  if (kind.value === 'apiKey') return { apiKey: apiKey.value };
  if (kind.value === 'jwt') return { jwt: jwt.value };
  return { userName: userName.value, password: password.value };
}

/** Returns the credential with its secrets replaced by `…`, for the curl command that the page shows. */
export const withoutSecrets = (members: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, name === 'userName' ? value : '…']));

/** Returns why a text cannot be the URL of an endpoint, or undefined if the page finds no fault. */
export function faultOfUrl(text: string): string | undefined {
  if (text === '') return 'A URL is needed.';
  const url = URL.parse(text);
  if (url === null) return 'This is not a URL. A URL begins with https://';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'The URL must begin with https://';
  if (url.username !== '' || url.password !== '') return 'Remove user and password: choose a credential below.';
  if (url.hash !== '') return `Remove ${url.hash}: it is never sent.`;
  return text.length > 2_048 ? 'The URL has more than 2,048 characters.' : undefined;
}

export function CredentialForm({ fields }: { readonly fields: CredentialFields }) {
  const { kind, apiKey, jwt, userName, password } = fields;
  return (
    <>
      <ChoiceField
        label="Credential"
        value={kind}
        choices={KINDS}
        hint="Sent with each delivery, so that your endpoint knows the relay. Every delivery is signed as well."
      />
      {kind.value === 'apiKey' && <TextField label="API key" type="password" value={apiKey} isRequired />}
      {kind.value === 'jwt' && <TextField label="Token" type="password" value={jwt} isRequired />}
      {kind.value === 'basic' && (
        <>
          <TextField label="User" value={userName} isRequired />
          <TextField label="Password" type="password" value={password} isRequired />
        </>
      )}
    </>
  );
}

/** Scrolls an answer into view when it arrives, because the button that requested it may be far away. */
export function useSeen(answer: unknown): RefObject<HTMLElement | null> {
  const element = useRef<HTMLElement>(null);
  useEffect(() => element.current?.scrollIntoView({ block: 'nearest' }), [answer]);
  return element;
}

/** Returns the result of a test delivery as a sentence. */
export const saidOf = ({ delivered }: Answer<'testWebhook'>): Saying =>
  delivered
    ? { kind: 'good', text: 'The test delivery arrived.' }
    : { kind: 'warn', text: 'The test delivery did not arrive.' };

/** Shows the result of a test delivery. */
export function TestAnswer({ result }: { readonly result: Answer<'testWebhook'> }) {
  const { delivered, status, detail, answer, durationMs } = result;
  const took = `after ${durationText(durationMs)}`;
  const isSilent = status === undefined && !delivered;
  const words = isSilent ? detail : 'A delivery is delivered when your endpoint answers 2xx.';
  const title = isSilent ? `No answer ${took}` : `Your endpoint answered ${status ?? '2xx'} ${took}`;
  return (
    <Notice kind={delivered ? 'good' : 'bad'} title={title}>
      <p>{delivered ? 'Test deliveries arrive.' : words}</p>
      {answer !== undefined && answer !== '' && <Viewer label="Answer of your endpoint" text={answer} />}
    </Notice>
  );
}

/** Result of a test delivery to an endpoint that has no webhook yet. */
export interface Tried {
  readonly url: string;
  readonly eventType: string;
  readonly result: Answer<'testDraft'>;
}

/** Shows the result of a test delivery to an endpoint without a webhook, and the secret that verifies its signature. */
export function TriedAnswer({ of: { url, eventType, result } }: { readonly of: Tried }) {
  const { secret } = result;
  const section = useSeen(secret);
  return (
    <section class="panel" aria-label="Answer to the test" ref={section}>
      <TestAnswer result={result} />
      <p>
        A sample of {eventType} was sent to {url}. Nothing is saved yet.
      </p>
      <p>
        A secret that signs nothing else signed it. An endpoint that verifies signatures cannot know it and refuses the
        test. The webhook gets its own secret when it is saved.
      </p>
      <p>
        <code>{secret}</code> <Copy text={secret} what="secret of the test" />
      </p>
      <div class="buttons">
        <Link to={['verify']}>Verify what your endpoint got</Link>
      </div>
    </section>
  );
}
