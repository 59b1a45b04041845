import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import {
  Button,
  Empty,
  Fault,
  Link,
  Loaded,
  Screen,
  SeveralField,
  TextField,
  ask,
  countOf,
  place,
  useLoad,
  wordsOf,
} from '@relay/ui';
import {
  CredentialForm,
  TriedAnswer,
  credentialFields,
  credentialIn,
  faultOfUrl,
  saidOf,
  useSeen,
  withoutSecrets,
  type Tried,
} from './endpoint.js';
import { api, forgetNames, mayAdd } from './session.js';

/** Result of one of several registrations. */
interface Made {
  readonly eventType: string;
  readonly id?: string;
  readonly fault: string;
}

const fieldsOf = () => ({
  types: signal<readonly string[]>([]),
  url: signal(''),
  name: signal(''),
  credential: credentialFields(),
  tried: signal<Tried | undefined>(undefined),
});
/** Typed text that is not saved; it survives a visit to another page of the portal. */
const draft = signal(fieldsOf());

/** Tests one URL, and registers it for several event types. */
export const Add = () => (
  <Screen title="Add a webhook">
    {mayAdd.value ? (
      <Form />
    ) : (
      <Empty title="This link cannot add webhooks">
        <p>It is for reading, or for some webhooks only. Your own application can open the portal with more rights.</p>
        <Link to={[]}>Back to the webhooks</Link>
      </Empty>
    )}
  </Screen>
);

function Form() {
  const fields = draft.value;
  const [isShown, setShown] = useState(false);
  const [made, setMade] = useState<readonly Made[]>([]);
  const catalogue = useLoad('events', () => api.call('listOwnEventTypes', {}));
  useEffect(() => {
    const { type } = place.value.query;
    if (type !== undefined) fields.types.value = [...new Set([...fields.types.value, type])];
  }, []);
  const fault = faultOfUrl(fields.url.value);
  const bodyFor = (eventType: string, credential: Record<string, string>) => ({
    eventType,
    endPointUrl: fields.url.value,
    ...(fields.name.value === '' ? {} : { endPointName: fields.name.value }),
    ...credential,
  });
  const isWhole = (): boolean => {
    setShown(true);
    return fault === undefined && fields.types.value.length > 0;
  };
  const test = (): void => {
    if (!isWhole()) return;
    const [url, eventType = ''] = [fields.url.value, ...fields.types.value];
    const credential = credentialIn(fields.credential);
    ask({
      title: 'Test the endpoint?',
      words: `${url} gets one sample of ${eventType} now, marked with the header relay-test: true. No webhook is saved.`,
      verb: 'Send test',
      curl: api.curl('testDraft', { body: bodyFor(eventType, withoutSecrets(credential)) }),
      run: async () => {
        const result = await api.call('testDraft', { body: bodyFor(eventType, credential) });
        fields.tried.value = { url, eventType, result };
        return saidOf(result);
      },
    });
  };
  const save = (event: Event): void => {
    event.preventDefault();
    if (!isWhole()) return;
    const types = fields.types.value;
    const credential = credentialIn(fields.credential);
    const isTried = fields.tried.value?.url === fields.url.value;
    ask({
      title: `Save ${countOf(types.length, 'webhook')}?`,
      words: `${fields.url.value} will get every event of ${countOf(types.length, 'type')}: ${types.join(', ')}.${isTried ? '' : ' It has not been tested.'}`,
      verb: 'Save',
      curl: types
        .map((type) => api.curl('registerWebhook', { body: bodyFor(type, withoutSecrets(credential)) }))
        .join('\n'),
      run: async () => {
        const results: Made[] = [];
        for (const type of types) results.push(await registered(bodyFor(type, credential)));
        setMade(results);
        forgetNames();
        const left = results.flatMap(({ eventType, id }) => (id === undefined ? [eventType] : []));
        if (left.length === 0) draft.value = fieldsOf();
        else fields.types.value = left;
        setShown(false);
        const text = `Saved ${countOf(types.length - left.length, 'webhook')} of ${types.length}.`;
        return { kind: left.length === 0 ? 'good' : 'bad', text };
      },
    });
  };
  return (
    <>
      {made.length > 0 && <MadeList made={made} />}
      <form class="panel" onSubmit={save} noValidate>
        <TextField
          label="Endpoint URL"
          type="url"
          value={fields.url}
          isRequired
          hint="It begins with https:// and is reachable from the internet."
          error={isShown || fields.url.value !== '' ? fault : undefined}
        />
        <Loaded of={catalogue} what="the event types">
          {({ eventTypes }) => (
            <SeveralField
              label="Event types"
              value={fields.types}
              choices={Object.fromEntries(
                eventTypes.map(({ name, deprecated }) => [name, deprecated ? `${name} (deprecated)` : name]),
              )}
              error={isShown && fields.types.value.length === 0 ? 'Choose at least one event type.' : undefined}
            />
          )}
        </Loaded>
        <CredentialForm fields={fields.credential} />
        <TextField label="Name" value={fields.name} hint="Optional. Only this portal shows it." />
        <div class="buttons">
          <Button name="Test" run={test} />
          <Button name="Save" isMain />
          <Link to={[]}>Back to the webhooks</Link>
        </div>
      </form>
      {fields.tried.value !== undefined && <TriedAnswer of={fields.tried.value} />}
    </>
  );
}

async function registered(body: Parameters<typeof api.curl<'registerWebhook'>>[1]['body']): Promise<Made> {
  const { eventType } = body;
  try {
    const { id } = await api.call('registerWebhook', { body });
    return { eventType, id, fault: '' };
  } catch (error) {
    return { eventType, fault: wordsOf(error) };
  }
}

function MadeList({ made }: { readonly made: readonly Made[] }) {
  const section = useSeen(made);
  return (
    <section class="panel" aria-label="What was saved" ref={section}>
      {made.map(({ eventType, id, fault }) =>
        id === undefined ? (
          <Fault key={eventType} title={`${eventType} was not saved`} words={fault} />
        ) : (
          <p key={eventType}>
            <Link to={['webhooks', id]}>{eventType}</Link> is saved. Its page has the signing secret.
          </p>
        ),
      )}
    </section>
  );
}
