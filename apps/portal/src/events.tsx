import { useState } from 'preact/hooks';
import { Button, Curl, Facts, Link, Loaded, Screen, Viewer, useLoad } from '@relay/ui';
import { allNames, api, mayAdd, mayWrite, type Answer, type Named } from './session.js';
import { TestAnswer, saidOf } from './endpoint.js';

/** Every event type, with a sample. */
export function Events() {
  const catalogue = useLoad('events', () => api.call('readEventTypes', {}));
  const webhooks = useLoad('names', allNames).value ?? [];
  return (
    <Screen title="Events">
      <p class="quiet">What a webhook can be registered for, and what your endpoint gets.</p>
      <Loaded of={catalogue} what="the event types">
        {({ eventTypes }) =>
          eventTypes.map((event) => (
            <Event
              key={event.name}
              event={event}
              webhooks={webhooks.filter(({ eventType }) => eventType === event.name)}
            />
          ))
        }
      </Loaded>
      <Curl line={api.curl('readEventTypes', {})} />
    </Screen>
  );
}

interface EventProps {
  readonly event: Answer<'readEventTypes'>['eventTypes'][number];
  readonly webhooks: readonly Named[];
}

function Event({ event: { name, description, sentBy, payloadSchema, sample }, webhooks }: EventProps) {
  const [result, setResult] = useState<Answer<'testWebhook'>>();
  const send = (id: string, address: string): void => {
    const input = { path: { id } };
    api.ask('testWebhook', input, {
      title: 'Send this to your endpoint?',
      words: `${address} gets a sample of ${name} now, marked with the header relay-test: true.`,
      verb: 'Send it',
      done: setResult,
      said: saidOf,
    });
  };
  return (
    <details class="panel">
      <summary>
        <code>{name}</code> <span class="quiet">{description}</span>
      </summary>
      <Facts
        facts={[
          ['Sent by', sentBy === 'relay' ? 'the relay, about your own webhooks' : 'the platform'],
          ['Schema of the payload', payloadSchema === null ? 'any object' : <a href={payloadSchema}>JSON Schema</a>],
        ]}
      />
      <Viewer label={`Sample of ${name}`} text={JSON.stringify(sample)} />
      {result !== undefined && <TestAnswer result={result} />}
      <div class="buttons">
        {mayWrite.value &&
          webhooks.map(({ id, endPointUrl }) => (
            <Button key={id} name={`Send me this at ${endPointUrl}`} run={() => send(id, endPointUrl)} />
          ))}
        {mayAdd.value && webhooks.length === 0 && (
          <Link to={['add']} query={{ type: name }} isButton name="Add a webhook for it" />
        )}
      </div>
    </details>
  );
}
