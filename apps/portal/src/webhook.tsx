import { signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import {
  Button,
  Copy,
  Curl,
  Facts,
  Link,
  Loaded,
  Notice,
  Screen,
  TextField,
  Time,
  ask,
  countText,
  go,
  relayNow,
  useLoad,
} from '@relay/ui';
import {
  CredentialForm,
  KINDS,
  TestAnswer,
  credentialFields,
  credentialIn,
  faultOfUrl,
  saidOf,
  withoutSecrets,
} from './endpoint.js';
import { CountsChart } from './counts-chart.js';
import { State } from './overview.js';
import { api, forgetNames, mayWrite, type Answer } from './session.js';
import type { WebhookState } from './words.js';

const EVERY_MS = 10_000;

/** Page of one webhook with its state, settings, signing secret and actions. */
export function Webhook({ id }: { readonly id: string }) {
  const input = { path: { id } };
  const loaded = useLoad(id, () => api.request('readWebhook', input), EVERY_MS);
  const state = useLoad(`state ${id}`, () => stateOf(id), EVERY_MS);
  const [tested, setTested] = useState<Answer<'testWebhook'>>();
  const changed = (): void => {
    forgetNames();
    loaded.reload();
    state.reload();
  };
  const test = (): void =>
    api.ask('testWebhook', input, {
      title: 'Send a test delivery?',
      words: 'Your endpoint gets one sample now, marked with the header relay-test: true.',
      verb: 'Send it',
      done: (answer) => {
        setTested(answer);
        changed();
      },
      said: saidOf,
    });
  return (
    <Screen title="Webhook" actions={mayWrite.value && <Button name="Send a test delivery" run={test} isMain />}>
      {tested !== undefined && <TestAnswer result={tested} />}
      <Loaded of={loaded} what="the webhook">
        {({ body, headers }) => (
          <>
            <About webhook={body} state={state.value} />
            <CountsChart webhookId={id} />
            {mayWrite.value && (
              <div class="columns">
                <Settings webhook={body} version={headers.get('etag') ?? ''} changed={changed} />
                <div class="stack">
                  <Secret id={id} />
                  <Turning webhook={body} changed={changed} />
                </div>
              </div>
            )}
          </>
        )}
      </Loaded>
      <Curl line={api.curl('readWebhook', input)} />
    </Screen>
  );
}

type Details = Answer<'readWebhook'>;

/** Reads the state from the list of webhooks, so that the list and this page show the same. */
const stateOf = async (id: string): Promise<WebhookState | undefined> =>
  (await api.call('listWebhookStates', { query: { webhookId: id } })).webhooks[0];

function About({ webhook, state }: { readonly webhook: Details; readonly state: WebhookState | undefined }) {
  const { id, eventType, endPointUrl, endPointName, endPointDesc, waiting } = webhook;
  return (
    <section class="panel" aria-label="About it">
      <Facts
        facts={[
          ['Event type', <code>{eventType}</code>],
          ['Address', endPointUrl],
          ['Name', endPointName ?? '–'],
          ['Description', endPointDesc ?? '–'],
          ['State', state === undefined ? '–' : <State webhook={state} nowMs={relayNow()} />],
          [
            'Waiting',
            <Link to={['deliveries']} query={{ status: 'waiting', webhookId: id }} name={countText(waiting)} />,
          ],
          ['Credential', KINDS[webhook.credentialType ?? ''] ?? 'none'],
          ['Added', <Time at={webhook.createdAt} />],
          ['Changed', <Time at={webhook.updatedAt} />],
          ['Id', <code>{id}</code>],
        ]}
      />
      <div class="buttons">
        <Link to={['deliveries']} query={{ webhookId: id }} isButton name="Its deliveries" />
        {mayWrite.value && <Link to={['replays']} query={{ webhookId: id }} isButton name="Replay" />}
      </div>
    </section>
  );
}

/** The webhook whose values are in the form. */
interface Filled {
  readonly webhook: Answer<'readWebhook'>;
  /** ETag of this webhook. The relay refuses the change if the webhook has another version by then. */
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

/**
 * Form for the settings of a webhook. Typed text stays until it is saved or discarded, even if the webhook is loaded again.
 */
function Settings({ webhook, version, changed }: SettingsProps) {
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

/** Shows the signing secret on request. Closing the page forgets it. */
function Secret({ id }: { readonly id: string }) {
  const [secret, setSecret] = useState<string>();
  const input = { path: { id } };
  const done = (answer: { readonly secret: string }): void => setSecret(answer.secret);
  const show = (): void =>
    api.ask('readWebhookSecret', input, {
      title: 'Show the signing secret?',
      words: 'Whoever has it can sign deliveries that your endpoint takes for ours. Keep it out of code and logs.',
      verb: 'Show it',
      done,
      said: 'The secret is shown below.',
    });
  const rotate = (): void =>
    api.ask('rotateWebhookSecret', input, {
      title: 'Make a new signing secret?',
      words: 'For 24 hours each delivery is signed with both: give your endpoint the new one in this time.',
      verb: 'Make a new one',
      done,
      said: 'The new secret is shown below. The old one signs along for 24 hours.',
    });
  return (
    <section class="panel">
      <h2>Signing secret</h2>
      {secret === undefined ? (
        <p class="quiet">Your endpoint verifies each delivery with it.</p>
      ) : (
        <p>
          <code>{secret}</code> <Copy text={secret} what="signing secret" />
        </p>
      )}
      <div class="buttons">
        <Button name="Show it" run={show} />
        <Button name="Make a new one" run={rotate} />
        <Link to={['verify']}>Verify a delivery</Link>
      </div>
    </section>
  );
}

interface TurningProps {
  readonly webhook: Details;
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
        ? 'What waited for it is sent now.'
        : 'Nothing is sent to it until you enable it. Deliveries wait for up to seven days.',
      verb: isOff ? 'Enable it' : 'Disable it',
      done: changed,
      said: isOff ? 'The webhook is enabled.' : 'The webhook is disabled.',
    });
  const remove = (): void =>
    api.ask('removeWebhook', input, {
      title: 'Delete the webhook?',
      words: `${endPointUrl} gets nothing more. ${countText(waiting)} waiting deliveries are dropped.`,
      verb: 'Delete it',
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
