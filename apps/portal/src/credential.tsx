import { signal } from '@preact/signals';
import { ChoiceField, TextField, type Choices } from '@relay/ui';

/** Credential that the relay shows an endpoint, as fields of a form. */
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

/** The members of the request. */
export function credentialIn({ kind, apiKey, jwt, userName, password }: CredentialFields): Record<string, string> {
  if (kind.value === 'apiKey') return { apiKey: apiKey.value };
  if (kind.value === 'jwt') return { jwt: jwt.value };
  return { userName: userName.value, password: password.value };
}

/** The credential without its secrets, for a line to copy. */
export const withoutSecrets = (members: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, name === 'userName' ? value : '…']));

/** Why an address cannot be one of an endpoint; undefined where the relay has to say. */
export function faultOfUrl(text: string): string | undefined {
  if (text === '') return 'An address is needed.';
  const url = URL.parse(text);
  if (url === null) return 'This is no address. It begins with https://';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'The address begins with https://';
  if (url.username !== '' || url.password !== '') return 'Leave user and password out: choose a credential below.';
  if (url.hash !== '') return `Leave out ${url.hash}: it is never sent.`;
  return text.length > 2_048 ? 'The address has more than 2,048 characters.' : undefined;
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
