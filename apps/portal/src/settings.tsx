import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { TextField, ask } from '@relay/ui';
import { CredentialForm } from './credential-form.js';
import { credentialFields, credentialIn, faultOfUrl, withoutSecrets } from './credential.js';
import { api, type Answer } from './session.js';

interface SettingsProps {
  readonly webhook: Answer<'readWebhook'>;
  /** Of the webhook as it is shown: another change in between is refused. */
  readonly version: string;
  readonly changed: () => void;
}

/** What of a webhook can be changed. */
export function Settings({ webhook, version, changed }: SettingsProps) {
  const { id, endPointUrl, endPointName, endPointDesc } = webhook;
  const fields = useMemo(
    () => ({
      url: signal(endPointUrl),
      name: signal(endPointName ?? ''),
      description: signal(endPointDesc ?? ''),
      replaces: signal(false),
      credential: credentialFields(),
    }),
    [],
  );
  const fault = faultOfUrl(fields.url.value);
  const save = (event: Event): void => {
    event.preventDefault();
    if (fault !== undefined) return;
    const credential = fields.replaces.value ? credentialIn(fields.credential) : {};
    const inputWith = (members: Record<string, string>) => ({
      path: { id },
      headers: { 'if-match': version },
      body: {
        endPointUrl: fields.url.value,
        endPointName: fields.name.value || null,
        endPointDesc: fields.description.value || null,
        ...members,
      },
    });
    ask({
      title: 'Change the webhook?',
      words: 'Deliveries that wait are sent with the new settings too.',
      verb: 'Change it',
      curl: api.curl('patchWebhook', inputWith(withoutSecrets(credential))),
      run: async () => {
        await api.call('patchWebhook', inputWith(credential));
        changed();
        return 'The webhook is changed.';
      },
    });
  };
  return (
    <form class="panel" onSubmit={save} noValidate aria-label="Settings">
      <h2>Settings</h2>
      <TextField label="Address" type="url" value={fields.url} isRequired error={fault} />
      <TextField label="Name" value={fields.name} />
      <TextField label="Description" value={fields.description} lines={2} />
      <label class="check">
        <input
          type="checkbox"
          checked={fields.replaces.value}
          onChange={({ currentTarget }) => {
            fields.replaces.value = currentTarget.checked;
          }}
        />
        <span>Replace the credential</span>
      </label>
      {fields.replaces.value && <CredentialForm fields={fields.credential} />}
      <div class="buttons">
        <button type="submit" class="main">
          Save
        </button>
      </div>
    </form>
  );
}
