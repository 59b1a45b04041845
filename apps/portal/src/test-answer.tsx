import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Copy, Link, Notice, Viewer, durationText, type Saying } from '@relay/ui';
import type { Answer } from './session.js';

/** Brings an answer into the window when it comes: the button that asked for it may be far from it. */
export function useSeen(answer: unknown): RefObject<HTMLElement | null> {
  const element = useRef<HTMLElement>(null);
  useEffect(() => element.current?.scrollIntoView({ block: 'nearest' }), [answer]);
  return element;
}

/** Returns the result of a test delivery as a sentence. */
export const saidOf = ({ delivered }: Answer<'testWebhook'>): Saying =>
  delivered
    ? { kind: 'good', text: 'The test delivery arrived.' }
    : { kind: 'warn', text: 'The test delivery did not arrive.' };

/** Result of a test delivery. */
export function TestAnswer({ result }: { readonly result: Answer<'testWebhook'> }) {
  const { delivered, status, detail, answer, durationMs } = result;
  const took = `after ${durationText(durationMs)}`;
  const isSilent = status === undefined && !delivered;
  const words = isSilent ? detail : 'A delivery counts as arrived when it is answered 2xx.';
  const title = isSilent ? `No answer ${took}` : `Your endpoint answered ${status ?? '2xx'} ${took}`;
  return (
    <Notice kind={delivered ? 'good' : 'bad'} title={title}>
      <p>{delivered ? 'Test deliveries arrive.' : words}</p>
      {answer !== undefined && answer !== '' && <Viewer label="Answer of your endpoint" text={answer} />}
    </Notice>
  );
}

/** A test of an endpoint that has no webhook yet. */
export interface Tried {
  readonly url: string;
  readonly eventType: string;
  readonly result: Answer<'testDraft'>;
}

/** What became of it, and what its receiver can verify it with. */
export function TriedAnswer({ of: { url, eventType, result } }: { readonly of: Tried }) {
  const { secret } = result;
  const section = useSeen(secret);
  return (
    <section class="panel" aria-label="Answer to the test" ref={section}>
      <TestAnswer result={result} />
      <p>
        A sample of {eventType} was sent to {url}. Nothing is saved yet.
      </p>
      <p>
        A secret that signs nothing else signed it. An endpoint that verifies signatures cannot know it and refuses the
        test. The webhook gets its own secret when it is saved.
      </p>
      <p>
        <code>{secret}</code> <Copy text={secret} what="secret of the test" />
      </p>
      <div class="buttons">
        <Link to={['verify']}>Verify what your endpoint got</Link>
      </div>
    </section>
  );
}
