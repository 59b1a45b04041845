import { useSignal } from '@preact/signals';
import { Curl, Empty, Facts, go, Link, Loaded, Notice, Screen, Time, useLoad, Viewer, wordsOf } from '@relay/ui';
import { changeLetters } from './letter-changes.js';
import { api, may, mayLook } from './session.js';
import { ClientLink, REASONS } from './words.js';

/** One dead letter with its envelope; the look is audited. */
export function DeadLetterPage({ id }: { readonly id: string }) {
  return (
    <Screen title="Dead letter">
      {mayLook('operator') ? (
        <Letter id={id} />
      ) : (
        <Empty title="Its envelope is for operators">
          <p>
            A viewer sees dead letters in the <Link to={['dead-letters']}>list</Link>.
          </p>
        </Empty>
      )}
    </Screen>
  );
}

function Letter({ id }: { readonly id: string }) {
  const load = useLoad(id, () => api.call('readDeadLetter', { path: { id } }));
  const fault = useSignal('');
  const change = (verb: 'replay' | 'purge'): void => {
    changeLetters(verb, { ids: [id] }, () => go(['dead-letters'])).catch(
      (error: unknown) => (fault.value = wordsOf(error)),
    );
  };
  return (
    <Loaded of={load} what="the dead letter">
      {(letter) => (
        <>
          {fault.value !== '' && <Notice kind="bad" title={fault.value} />}
          <div class="panel">
            <Facts
              facts={[
                ['Given up', <Time key="died" at={letter.diedAt} />],
                ['Why', REASONS[letter.reason] ?? letter.reason],
                ['Last failure', [letter.lastFailure ?? '–', letter.lastAttempt?.answer].filter(Boolean).join(': ')],
                ['Attempts', letter.attempts],
                ['Accepted', <Time key="accepted" at={letter.acceptedAt} />],
                ['Event type', letter.eventType],
                ['Partner', <ClientLink key="partner" id={letter.partnerId} />],
                [
                  'Webhook',
                  <Link key="webhook" to={['webhooks', letter.webhookId]}>
                    {letter.webhookId}
                  </Link>,
                ],
                [
                  'Envelope',
                  <Link key="envelope" to={['envelopes', letter.envelopeId]}>
                    {letter.envelopeId}
                  </Link>,
                ],
              ]}
            />
            {may('operator') && (
              <div class="buttons">
                <button type="button" class="main" onClick={() => change('replay')}>
                  Replay…
                </button>
                <button type="button" onClick={() => change('purge')}>
                  Purge…
                </button>
              </div>
            )}
            <Curl line={api.curl('readDeadLetter', { path: { id } })} />
          </div>
          <h2>Envelope</h2>
          <Viewer label="Envelope" text={letter.body} />
        </>
      )}
    </Loaded>
  );
}
