import { signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { Button, Copy, Facts, Id, Link, Notice, TextField, Time, ask, countText, go } from '@relay/ui';
import { CredentialForm, KINDS, credentialFields, credentialIn, faultOfUrl, withoutSecrets } from './endpoint.js';
import { api, forgetNames, mayWrite, type Answer } from './session.js';

/** The webhook whose values are in the form. */
interface Filled {
  readonly webhook: Answer<'readWebhook'>;
  /** ETag of this webhook. The relay refuses the change if the webhook has another version by then. */
  readonly version: string;
}

interface SettingsProps extends Filled {
  readonly changed: () => void;
}

/** The facts of a webhook, and the forms to change it. */
export const Settings = (props: SettingsProps) => (
  <>
    <Details webhook={props.webhook} />
    {mayWrite.value && (
      <div class="columns">
        <Form {...props} />
        <div class="stack">
          <Secret id={props.webhook.id} />
          <Turning webhook={props.webhook} changed={props.changed} />
        </div>
      </div>
    )}
  </>
);

const Details = ({ webhook: { id, eventType, credentialType, createdAt, updatedAt } }: Pick<Filled, 'webhook'>) => (
  <section class="panel" aria-label="Details">
    <Facts
      facts={[
        ['Event type', <Link to={['events']} query={{ q: eventType }} name={eventType} />],
        ['Credential', KINDS[credentialType ?? ''] ?? 'none'],
        ['Added', <Time at={createdAt} />],
        ['Changed', <Time at={updatedAt} />],
        ['Id', <Id id={id} />],
      ]}
    />
  </section>
);

const FIELDS = [
  ['url', 'endPointUrl', 'URL'],
  ['name', 'endPointName', 'Name'],
  ['description', 'endPointDesc', 'Description'],
] as const;

/**
 * Form for the settings of a webhook. Typed text stays until it is saved or discarded, even if the webhook is loaded again.
 */
function Form({ webhook, version, changed }: SettingsProps) {
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
      words: 'Waiting deliveries are sent with the new settings too.',
      verb: 'Save changes',
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
      <TextField label="URL" type="url" value={fields.url} isRequired error={fault} />
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

/** Shows the signing secret on request. Closing the page forgets it. */
function Secret({ id }: { readonly id: string }) {
  const [secret, setSecret] = useState<string>();
  const input = { path: { id } };
  const done = (answer: { readonly secret: string }): void => setSecret(answer.secret);
  const show = (): void =>
    api.ask('readWebhookSecret', input, {
      title: 'Show the signing secret?',
      words:
        'Everybody who has the secret can sign deliveries that your endpoint accepts. Keep it out of code and logs.',
      verb: 'Show secret',
      done,
      said: 'The secret is shown below.',
    });
  const rotate = (): void =>
    api.ask('rotateWebhookSecret', input, {
      title: 'Rotate the signing secret?',
      words:
        'Each delivery is signed with the old and the new secret for 24 hours. Give your endpoint the new one in this time.',
      verb: 'Rotate secret',
      done,
      said: 'The new secret is shown below. The old one stays valid for 24 hours.',
    });
  return (
    <section class="panel">
      <h2>Signing secret</h2>
      {secret === undefined ? (
        <p class="quiet">Your endpoint verifies each delivery with the signing secret.</p>
      ) : (
        <p>
          <code>{secret}</code> <Copy text={secret} what="signing secret" />
        </p>
      )}
      <div class="buttons">
        <Button name="Show secret" run={show} />
        <Button name="Rotate secret" icon="retry" run={rotate} />
        <Link to={['verify']}>Verify a delivery</Link>
      </div>
    </section>
  );
}

interface TurningProps {
  readonly webhook: Filled['webhook'];
  readonly changed: () => void;
}

/** Enables, disables and deletes a webhook. */
function Turning({ webhook: { id, status, waiting, endPointUrl }, changed }: TurningProps) {
  const input = { path: { id } };
  const isOff = status === 'disabled';
  const turn = (): void =>
    api.ask(isOff ? 'enableWebhook' : 'disableWebhook', input, {
      title: isOff ? 'Enable the webhook?' : 'Disable the webhook?',
      words: isOff
        ? 'Its waiting deliveries are sent now.'
        : 'No delivery is sent until you enable it. Deliveries wait for up to seven days.',
      verb: isOff ? 'Enable' : 'Disable',
      done: changed,
      said: isOff ? 'The webhook is enabled.' : 'The webhook is disabled.',
    });
  const remove = (): void =>
    api.ask('removeWebhook', input, {
      title: 'Delete the webhook?',
      words: `${endPointUrl} gets no further delivery. ${countText(waiting)} waiting deliveries are dropped.`,
      verb: 'Delete',
      isDangerous: true,
      done: () => {
        forgetNames();
        go([]);
      },
      said: 'The webhook is deleted.',
    });
  return (
    <section class="panel">
      <h2>{isOff ? 'Enable or delete' : 'Disable or delete'}</h2>
      <div class="buttons">
        <Button name={isOff ? 'Enable' : 'Disable'} run={turn} />
        <Button name="Delete" run={remove} />
      </div>
    </section>
  );
}
