import { signal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import {
  Link,
  Loaded,
  Notice,
  Screen,
  SeveralField,
  TextField,
  ask,
  countOf,
  place,
  useLoad,
  wordsOf,
} from '@relay/ui';
import { CredentialForm } from './credential-form.js';
import { credentialFields, credentialIn, faultOfUrl, withoutSecrets } from './credential.js';
import { api, type Answer } from './session.js';
import { TestAnswer } from './test-answer.js';

type EventName = Answer<'readEventTypes'>['eventTypes'][number]['name'];

/** What became of one of several registrations. */
interface Made {
  readonly eventType: string;
  readonly id?: string;
  readonly fault?: string;
  readonly tested?: Answer<'testWebhook'>;
}

const fieldsOf = (chosen: readonly string[]) => ({
  types: signal<readonly string[]>(chosen),
  url: signal(''),
  name: signal(''),
  credential: credentialFields(),
});

/** Registers one address for several event types, and tests each at once. */
export function Add() {
  const fields = useMemo(() => fieldsOf([place.value.query['type'] ?? []].flat()), []);
  const [isShown, setShown] = useState(false);
  const [made, setMade] = useState<readonly Made[]>([]);
  const catalogue = useLoad('events', () => api.call('readEventTypes', {}));
  const fault = faultOfUrl(fields.url.value);
  const bodyFor = (eventType: string, credential: Record<string, string>) => ({
    eventType: eventType as EventName,
    endPointUrl: fields.url.value,
    ...(fields.name.value === '' ? {} : { endPointName: fields.name.value }),
    ...credential,
  });
  const submit = (event: Event): void => {
    event.preventDefault();
    setShown(true);
    const types = fields.types.value;
    if (fault !== undefined || types.length === 0) return;
    const credential = credentialIn(fields.credential);
    ask({
      title: 'Add the webhook?',
      words: `${fields.url.value} will get every event of ${countOf(types.length, 'type')}: ${types.join(', ')}. A test delivery is sent for each now.`,
      verb: 'Add and test',
      curl: types
        .map((type) => api.curl('registerWebhook', { body: bodyFor(type, withoutSecrets(credential)) }))
        .join('\n'),
      run: async () => {
        const results: Made[] = [];
        for (const type of types) results.push(await registered(bodyFor(type, credential)));
        setMade(results);
        const count = results.filter(({ id }) => id !== undefined).length;
        return `Added ${countOf(count, 'webhook')} of ${types.length}.`;
      },
    });
  };
  return (
    <Screen title="Add a webhook">
      {made.length > 0 && <MadeList made={made} />}
      <form class="panel" onSubmit={submit} noValidate>
        <TextField
          label="Address of your endpoint"
          type="url"
          value={fields.url}
          isRequired
          hint="Begins with https:// and is reached from the internet."
          error={isShown || fields.url.value !== '' ? fault : undefined}
        />
        <Loaded of={catalogue} what="the event types">
          {({ eventTypes }) => (
            <SeveralField
              label="Events"
              value={fields.types}
              choices={eventTypes.map(({ name }) => [name, name] as const)}
              error={isShown && fields.types.value.length === 0 ? 'Choose one at least.' : undefined}
            />
          )}
        </Loaded>
        <CredentialForm fields={fields.credential} />
        <TextField label="Name" value={fields.name} hint="For you; it may stay empty." />
        <div class="buttons">
          <button type="submit" class="main">
            Add and test
          </button>
          <Link to={[]}>Back to the webhooks</Link>
        </div>
      </form>
    </Screen>
  );
}

async function registered(body: Parameters<typeof api.curl<'registerWebhook'>>[1]['body']): Promise<Made> {
  const { eventType } = body;
  try {
    const { id } = await api.call('registerWebhook', { body });
    const tested = await api.call('testWebhook', { path: { id } }).catch(() => undefined);
    return { eventType, id, ...(tested === undefined ? {} : { tested }) };
  } catch (error) {
    return { eventType, fault: wordsOf(error) };
  }
}

const MadeList = ({ made }: { readonly made: readonly Made[] }) => (
  <section class="panel" aria-label="What was added">
    {made.map(({ eventType, id, fault, tested }) => (
      <div key={eventType} class="stack">
        <h2>{id === undefined ? eventType : <Link to={['webhooks', id]}>{eventType}</Link>}</h2>
        {fault !== undefined && (
          <Notice kind="bad" title="It was not added">
            <p>{fault}</p>
          </Notice>
        )}
        {tested !== undefined && <TestAnswer result={tested} />}
        {id !== undefined && tested === undefined && (
          <Notice kind="warn" title="It was added, but the test could not be sent">
            <p>Send one from the page of the webhook.</p>
          </Notice>
        )}
      </div>
    ))}
  </section>
);
