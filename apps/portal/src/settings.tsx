import { signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { Button, Notice, TextField, ask } from '@relay/ui';
import { CredentialForm, credentialFields, credentialIn, faultOfUrl, withoutSecrets } from './credential.js';
import { api, type Answer } from './session.js';

/** Values of the form, and the version that it changes. */
interface Filled {
  readonly webhook: Answer<'readWebhook'>;
  /** Of the webhook as it is shown: another change in between is refused. */
  readonly version: string;
}

interface SettingsProps extends Filled {
  readonly changed: () => void;
}

const FIELDS = [
  ['url', 'endPointUrl', 'Address'],
  ['name', 'endPointName', 'Name'],
  ['description', 'endPointDesc', 'Description'],
] as const;

/** Form for the settings of a webhook. Typed text stays when the webhook is loaded again, until it is saved or discarded. */
export function Settings({ webhook, version, changed }: SettingsProps) {
  const { id } = webhook;
  const [filled, setFilled] = useState<Filled>({ webhook, version });
  const { endPointUrl, endPointName, endPointDesc } = filled.webhook;
  const fields = useMemo(
    () => ({
      url: signal(endPointUrl),
      name: signal(endPointName ?? ''),
      description: signal(endPointDesc ?? ''),
      replaces: signal(false),
      credential: credentialFields(),
    }),
    [filled],
  );
  const isTyped =
    fields.replaces.value || FIELDS.some(([field, member]) => fields[field].value !== (filled.webhook[member] ?? ''));
  const isOld = filled.version !== version;
  if (isOld && !isTyped) setFilled({ webhook, version });
  const others = FIELDS.filter(([, member]) => filled.webhook[member] !== webhook[member]);
  const fault = faultOfUrl(fields.url.value);
  const save = (event: Event): void => {
    event.preventDefault();
    if (fault !== undefined) return;
    const credential = fields.replaces.value ? credentialIn(fields.credential) : {};
    const inputWith = (members: Record<string, string>) => ({
      path: { id },
      headers: { 'if-match': filled.version },
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
        const { body, headers } = await api.request('patchWebhook', inputWith(credential));
        setFilled({ webhook: body, version: headers.get('etag') ?? '' });
        changed();
        return 'The webhook is changed.';
      },
    });
  };
  return (
    <form class="panel" onSubmit={save} noValidate aria-label="Settings">
      <h2>Settings</h2>
      {isOld && isTyped && (
        <Notice kind="warn" title="The webhook was changed while you typed">
          {others.map(([field, member, label]) => (
            <p key={field}>
              {label} is now: {webhook[member] ?? 'empty'}
            </p>
          ))}
          <Button name="Discard what I typed" run={() => setFilled({ webhook, version })} />
        </Notice>
      )}
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
        <Button name="Save" isMain />
      </div>
    </form>
  );
}
