import { useSignal } from '@preact/signals';
import { render } from 'preact';
import {
  Button,
  Empty,
  Fault,
  follow,
  go,
  guardTyped,
  Link,
  Loaded,
  Notice,
  place,
  say,
  Screen,
  Shell,
  TextField,
  useLoad,
  wordsOf,
} from '@relay/ui';
import { Audit } from './audit.js';
import { ClientPage } from './client.js';
import { Clients, NewClientPage } from './clients.js';
import { DeadLetterPage, DeadLetters } from './dead-letters.js';
import { EditEventType, NewEventType } from './event-type-form.js';
import { EventTypePage, EventTypes } from './event-types.js';
import { Now } from './now.js';
import { Replays } from './replays.js';
import { Search } from './search.js';
import { begin, ended, enter, leave, recognise, takeCode, who } from './session.js';
import { Story } from './story.js';
import { Endpoints, WebhookPage, Webhooks } from './webhooks.js';

const SECTIONS = [
  { name: 'Now', path: [] },
  { name: 'Endpoints', path: ['endpoints'] },
  { name: 'Webhooks', path: ['webhooks'] },
  { name: 'Dead letters', path: ['dead-letters'] },
  { name: 'Replays', path: ['replays'] },
  { name: 'Event types', path: ['event-types'] },
  { name: 'Clients', path: ['clients'] },
  { name: 'Audit', path: ['audit'] },
];

function Here() {
  const [section, id, part] = place.value.path;
  if (section === undefined) return <Now />;
  if (section === 'search') return <Search key={place.value.query['q']} />;
  if (section === 'envelopes') return <Story key={id} id={id ?? ''} />;
  if (section === 'endpoints') return <Endpoints />;
  if (section === 'webhooks') return id === undefined ? <Webhooks /> : <WebhookPage key={id} id={id} />;
  if (section === 'dead-letters') return id === undefined ? <DeadLetters /> : <DeadLetterPage key={id} id={id} />;
  if (section === 'replays' && id === undefined) return <Replays />;
  // Every name is free for an event type, so that the new one has none.
  if (section === 'event-types' && place.value.query['new'] !== undefined) return <NewEventType />;
  if (section === 'event-types' && id === undefined) return <EventTypes />;
  if (section === 'event-types' && part === 'edit') return <EditEventType key={id} name={id ?? ''} />;
  if (section === 'event-types') return <EventTypePage key={id} name={id ?? ''} />;
  if (section === 'clients' && id === 'new') return <NewClientPage />;
  if (section === 'clients') return id === undefined ? <Clients /> : <ClientPage key={id} id={id} />;
  if (section === 'audit') return <Audit />;
  return <NoSuchPage />;
}

const NoSuchPage = () => (
  <Screen title="There is no such page">
    <Empty title="The address leads nowhere">
      <Link to={[]}>See how the relay is now</Link>
    </Empty>
  </Screen>
);

function Aside() {
  const wanted = useSignal('');
  const search = (event: Event): void => {
    event.preventDefault();
    const q = wanted.value.trim();
    if (q !== '') go(['search'], { q });
  };
  return (
    <>
      <form class="search" role="search" onSubmit={search}>
        <input
          type="search"
          aria-label="Search: envelope, webhook, partner or host"
          placeholder="Envelope, webhook, partner, host"
          spellcheck={false}
          value={wanted.value}
          onInput={({ currentTarget }) => (wanted.value = currentTarget.value)}
        />
        <Button name="Search" />
      </form>
      <a href="board/">Queues</a>
      <span>
        {who.value?.name} <span class="quiet">({who.value?.role})</span>
      </span>
      <Button
        name="Leave"
        run={() => void leave().catch((error: unknown) => say({ kind: 'bad', text: wordsOf(error) }))}
      />
    </>
  );
}

function SignIn() {
  const [id, secret, fault, isBusy] = [useSignal(''), useSignal(''), useSignal(''), useSignal(false)];
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    fault.value = '';
    try {
      await enter(id.value.trim(), secret.value.trim());
    } catch (error) {
      fault.value = wordsOf(error);
      isBusy.value = false;
    }
  };
  return (
    <div class="sign-in">
      <Screen title="Sign in">
        <form class="panel" onSubmit={(event) => void submit(event)}>
          {ended.value !== '' && <Notice kind="info">{ended.value}</Notice>}
          <Fault title="You are not signed in" words={fault.value} />
          <TextField
            label="Client id"
            value={id}
            isRequired
            hint="Of an operator: it begins with operator_."
            filledBy="username"
          />
          <TextField label="Client secret" type="password" value={secret} isRequired filledBy="current-password" />
          <div class="buttons">
            <button type="submit" class="main" aria-disabled={isBusy.value}>
              {isBusy.value ? 'Signing in…' : 'Sign in'}
            </button>
          </div>
          <p class="hint">
            Somebody with the command line makes an operator:{' '}
            <code>relay admin clients create operator NAME --role admin</code>
          </p>
        </form>
      </Screen>
    </div>
  );
}

/** Until the relay has said who is signed in. */
function Opening() {
  const load = useLoad('session', recognise);
  return (
    <Shell>
      <Screen title="Console">
        <Loaded of={load} what="who is signed in">
          {() => null}
        </Loaded>
      </Screen>
    </Shell>
  );
}

function Console() {
  if (who.value === undefined) return <Opening />;
  if (who.value === null)
    return (
      <Shell>
        <SignIn />
      </Shell>
    );
  return (
    <Shell sections={SECTIONS} aside={<Aside />}>
      <Here />
    </Shell>
  );
}

takeCode();
follow();
guardTyped();
begin();
const root = document.querySelector('#app');
if (root !== null) render(<Console />, root);
