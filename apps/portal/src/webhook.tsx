import { useState } from 'preact/hooks';
import { Copy, Curl, Facts, Link, Loaded, Screen, Time, ask, countText, go, relayNow, useLoad } from '@relay/ui';
import { KINDS } from './credential.js';
import { forgetNames } from './names.js';
import { Settings } from './settings.js';
import { State } from './state.js';
import { api, mayWrite, type Answer } from './session.js';
import { saidOf, TestAnswer } from './test-answer.js';
import type { WebhookState } from './words.js';

const EVERY_MS = 10_000;

/** One webhook: how it is, its settings, its secret, and all that can be done with it. */
export function Webhook({ id }: { readonly id: string }) {
  const path = { id };
  const loaded = useLoad(id, () => api.request('readWebhook', { path }), EVERY_MS);
  const state = useLoad(`state ${id}`, () => stateOf(id), EVERY_MS);
  const [tested, setTested] = useState<Answer<'testWebhook'>>();
  const changed = (): void => {
    forgetNames();
    loaded.reload();
    state.reload();
  };
  const test = (): void =>
    ask({
      title: 'Send a test delivery?',
      words: 'Your endpoint gets one sample now, marked with the header relay-test: true.',
      verb: 'Send it',
      curl: api.curl('testWebhook', { path }),
      run: async () => {
        const result = await api.call('testWebhook', { path });
        setTested(result);
        changed();
        return saidOf(result);
      },
    });
  return (
    <Screen
      title="Webhook"
      actions={
        mayWrite.value && (
          <button type="button" class="main" onClick={test}>
            Send a test delivery
          </button>
        )
      }
    >
      {tested !== undefined && <TestAnswer result={tested} />}
      <Loaded of={loaded} what="the webhook">
        {({ body, headers }) => (
          <>
            <About webhook={body} state={state.value} />
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
      <Curl line={api.curl('readWebhook', { path })} />
    </Screen>
  );
}

type Details = Answer<'readWebhook'>;
const CREDENTIALS: ReadonlyMap<string | null, string> = new Map(KINDS);

/** As the list of webhooks has it, so that both say the same. */
const stateOf = async (id: string): Promise<WebhookState | undefined> =>
  (await api.call('listWebhookStates', { query: { webhookId: id } })).webhooks[0];

interface AboutProps {
  readonly webhook: Details;
  readonly state: WebhookState | undefined;
}

function About({ webhook, state }: AboutProps) {
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
            <Link to={['deliveries']} query={{ status: 'waiting', webhookId: id }}>
              {countText(waiting)}
            </Link>,
          ],
          ['Credential', CREDENTIALS.get(webhook.credentialType) ?? 'none'],
          ['Added', <Time at={webhook.createdAt} />],
          ['Changed', <Time at={webhook.updatedAt} />],
          ['Id', <code>{id}</code>],
        ]}
      />
      <div class="buttons">
        <Link to={['deliveries']} query={{ webhookId: id }} isButton>
          Its deliveries
        </Link>
        {mayWrite.value && (
          <Link to={['replays']} query={{ webhookId: id }} isButton>
            Replay
          </Link>
        )}
      </div>
    </section>
  );
}

/** The signing secret, shown when it is asked for and forgotten with the page. */
function Secret({ id }: { readonly id: string }) {
  const [secret, setSecret] = useState<string>();
  const path = { id };
  const show = (): void =>
    ask({
      title: 'Show the signing secret?',
      words: 'Whoever has it can sign deliveries that your endpoint takes for ours. Keep it out of code and logs.',
      verb: 'Show it',
      curl: api.curl('readWebhookSecret', { path }),
      run: async () => {
        setSecret((await api.call('readWebhookSecret', { path })).secret);
        return 'The secret is shown below.';
      },
    });
  const rotate = (): void =>
    ask({
      title: 'Make a new signing secret?',
      words: 'For 24 hours each delivery is signed with both: give your endpoint the new one in this time.',
      verb: 'Make a new one',
      curl: api.curl('rotateWebhookSecret', { path }),
      run: async () => {
        setSecret((await api.call('rotateWebhookSecret', { path })).secret);
        return 'The new secret is shown below. The old one signs along for 24 hours.';
      },
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
        <button type="button" onClick={show}>
          Show it
        </button>
        <button type="button" onClick={rotate}>
          Make a new one
        </button>
        <Link to={['verify']}>Verify a delivery</Link>
      </div>
    </section>
  );
}

interface TurningProps {
  readonly webhook: Details;
  readonly changed: () => void;
}

/** On, off and away. */
function Turning({ webhook: { id, status, waiting, endPointUrl }, changed }: TurningProps) {
  const path = { id };
  const enable = (): void =>
    ask({
      title: 'Enable the webhook?',
      words: 'What waited for it is sent now.',
      verb: 'Enable it',
      curl: api.curl('enableWebhook', { path }),
      run: async () => {
        await api.call('enableWebhook', { path });
        changed();
        return 'The webhook is enabled.';
      },
    });
  const disable = (): void =>
    ask({
      title: 'Disable the webhook?',
      words: 'Nothing is sent to it until you enable it. Deliveries wait for up to seven days.',
      verb: 'Disable it',
      curl: api.curl('disableWebhook', { path }),
      run: async () => {
        await api.call('disableWebhook', { path });
        changed();
        return 'The webhook is disabled.';
      },
    });
  const remove = (): void =>
    ask({
      title: 'Delete the webhook?',
      words: `${endPointUrl} gets nothing more. ${countText(waiting)} waiting deliveries are dropped.`,
      verb: 'Delete it',
      isDangerous: true,
      curl: api.curl('removeWebhook', { path }),
      run: async () => {
        await api.call('removeWebhook', { path });
        forgetNames();
        go([]);
        return 'The webhook is deleted.';
      },
    });
  return (
    <section class="panel">
      <h2>{status === 'disabled' ? 'Enable or delete' : 'Disable or delete'}</h2>
      <div class="buttons">
        <button type="button" onClick={status === 'disabled' ? enable : disable}>
          {status === 'disabled' ? 'Enable' : 'Disable'}
        </button>
        <button type="button" onClick={remove}>
          Delete
        </button>
      </div>
    </section>
  );
}
