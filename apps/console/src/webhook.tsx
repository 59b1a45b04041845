import { ask, countOf, countText, Curl, Facts, Link, Loaded, Notice, Screen, Time, useLoad } from '@relay/ui';
import { OrderReplay } from './order-replay.js';
import { type Answer, api, may } from './session.js';
import { ClientLink, shareText, Trouble } from './words.js';

type Webhook = Answer<'readWebhook'>;

/** One webhook: what troubles it, and what an operator can do about it. */
export function WebhookPage({ id }: { readonly id: string }) {
  const load = useLoad(id, () => api.call('readWebhook', { path: { id } }), 5_000);
  return (
    <Screen
      title="Webhook"
      actions={load.value !== undefined && may('operator') && <Switch webhook={load.value} done={load.reload} />}
    >
      <Loaded of={load} what="the webhook">
        {(webhook) => (
          <>
            <div class="panel">
              <Facts facts={factsOf(webhook)} />
              <div class="buttons">
                <Link to={['search']} query={{ webhook: id }}>
                  Its attempts
                </Link>
                <Link to={['dead-letters']} query={{ webhook: id }}>
                  Its dead letters
                </Link>
                <Link to={['audit']} query={{ webhook: id }}>
                  Who changed it
                </Link>
              </div>
              <Curl line={api.curl('readWebhook', { path: { id } })} />
            </div>
            {webhook.status === 'parked' && (
              <Notice kind="warn" title="It is parked">
                <p>
                  Its deliveries wait in the log until its endpoint answers, at most 7 days. Nothing is lost by then.
                </p>
              </Notice>
            )}
            {may('operator') && webhook.status !== 'disabled' && <OrderReplay webhooks={[webhook]} />}
          </>
        )}
      </Loaded>
    </Screen>
  );
}

const timeOr = (at: string | null, none: string) => (at === null ? none : <Time at={at} />);

const factsOf = (webhook: Webhook) =>
  [
    ['Endpoint', webhook.origin],
    ['Event type', webhook.eventType],
    ['Partner', <ClientLink key="partner" id={webhook.partnerId} />],
    ['State', <Trouble key="state" of={webhook} />],
    ['Share of failed attempts', shareText(webhook.failureRate)],
    ['Waiting in the queue', countText(webhook.waiting)],
    ['Oldest waits since', timeOr(webhook.oldestWaitingSince, 'none waits')],
    ['Failing since', timeOr(webhook.failingSince, 'it does not')],
    ['Breaker', webhook.breaker],
    ['Next attempt', timeOr(webhook.notBefore, 'as soon as there is one')],
    ['Id', <code key="id">{webhook.id}</code>],
  ] as const;

function Switch({ webhook, done }: { readonly webhook: Webhook; readonly done: () => void }) {
  const path = { id: webhook.id };
  const isOff = webhook.status === 'disabled';
  const name = isOff ? 'enableWebhook' : 'disableWebhook';
  const click = (): void =>
    ask({
      title: isOff ? 'Enable this webhook?' : 'Disable this webhook?',
      words: isOff ? (
        <p>
          {countOf(webhook.waiting, 'waiting delivery', 'waiting deliveries')} will be tried, and new ones will be
          delivered to {webhook.origin}.
        </p>
      ) : (
        <p>
          Nothing will be sent to {webhook.origin}. {countOf(webhook.waiting, 'delivery waits', 'deliveries wait')}, and
          new ones will wait as well. Only an operator can enable it again.
        </p>
      ),
      verb: isOff ? 'Enable' : 'Disable',
      isDangerous: !isOff,
      curl: api.curl(name, { path }),
      run: async () => {
        await api.call(name, { path });
        done();
        return isOff ? 'The webhook is enabled.' : 'The webhook is disabled.';
      },
    });
  return (
    <button type="button" onClick={click}>
      {isOff ? 'Enable…' : 'Disable…'}
    </button>
  );
}
