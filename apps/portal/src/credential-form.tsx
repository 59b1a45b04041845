import { ChoiceField, TextField } from '@relay/ui';
import { KINDS, type CredentialFields } from './credential.js';

/** The fields of a credential. */
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
