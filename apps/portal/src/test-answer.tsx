import { Notice, Viewer, durationText } from '@relay/ui';
import type { Answer } from './session.js';

/** What became of a test delivery. */
export function TestAnswer({ result }: { readonly result: Answer<'testWebhook'> }) {
  const { delivered, status, detail, answer, durationMs } = result;
  const took = `after ${durationText(durationMs)}`;
  if (delivered)
    return (
      <Notice kind="good" title={`Your endpoint answered ${status ?? '2xx'} ${took}`}>
        <p>Test deliveries arrive.</p>
        {answer !== undefined && answer !== '' && <Viewer label="Answer of your endpoint" text={answer} />}
      </Notice>
    );
  return (
    <Notice kind="bad" title={status === undefined ? `No answer ${took}` : `Your endpoint answered ${status} ${took}`}>
      <p>{detail ?? 'A delivery counts as arrived when it is answered 2xx.'}</p>
      {answer !== undefined && answer !== '' && <Viewer label="Answer of your endpoint" text={answer} />}
    </Notice>
  );
}
