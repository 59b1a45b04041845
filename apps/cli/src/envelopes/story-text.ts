import type { AttemptTiming } from '@relay/events';
import type { EnvelopeStory } from '@relay/story';
import type { z } from 'zod';
import { counted } from '../shell.js';

type Delivery = EnvelopeStory['deliveries'][number];

const MARKS = {
  published: 'published: it is in Kafka, no worker has settled it yet',
  settled: 'settled: every delivery of it has ended or is stored',
} as const;
const WAITS = {
  schedule: undefined,
  'retry-after': 'its endpoint asked for this time by Retry-After',
  breaker: 'the breaker of its webhook or endpoint is open',
  room: 'its endpoint has no room',
  disabled: 'its webhook is disabled',
  parked: 'its webhook is parked',
  replay: 'a replay will come to it',
} as const;
/** Characters of an endpoint's answer in a line; `--json` has more of them. */
const SHOWN_ANSWER = 100;

export function storyText(story: EnvelopeStory): string {
  const { id, eventType, acceptedAt, source, record, mark, repeats, deliveries } = story;
  const head = [
    `envelope ${id}${eventType === null ? '' : ` of type ${eventType}`}`,
    acceptedAt === null ? undefined : `accepted ${acceptedAt}${source === null ? '' : ` from ${source}`}`,
    record === null
      ? 'its record is not known or no longer in the log'
      : `${record.topic}, partition ${record.partition}, offset ${record.offset}`,
    mark === null ? 'no mark: not seen within DEDUPE_WINDOW' : MARKS[mark],
    repeats === null || repeats.duplicates + repeats.conflicts === 0
      ? undefined
      : `came again ${counted(repeats.duplicates, 'time')}, and ${counted(repeats.conflicts, 'time')} with other content`,
    counted(deliveries.length, 'delivery', 'deliveries'),
  ].filter((line) => line !== undefined);
  return [head.join('\n'), ...deliveries.map((delivery) => linesOf(delivery).join('\n'))].join('\n\n');
}

export const linesOf = (delivery: Delivery): string[] => [
  standingLine(delivery),
  ...delivery.attempts.map((attempt) => `  ${attemptLine(attempt)}`),
];

function standingLine(delivery: Delivery): string {
  const { webhookId, host, series, replayId, state, waitsFor, nextAttemptAt, reason, lastFailure, attempts } = delivery;
  const whose =
    webhookId === null ? 'the envelope as a whole' : `webhook ${webhookId}${host === null ? '' : ` (${host})`}`;
  const replay = series === 0 ? '' : `, replay ${replayId ?? series}`;
  const facts = [
    state.replace('-', ' '),
    waitsFor === null ? undefined : WAITS[waitsFor],
    reason,
    nextAttemptAt === null ? undefined : `next attempt ${nextAttemptAt}`,
    attempts.length === 0 ? lastFailure : undefined,
  ];
  return `${whose}${replay}: ${facts.filter((fact) => fact !== undefined && fact !== null).join(', ')}`;
}

const attemptLine = (attempt: Delivery['attempts'][number]): string =>
  [
    attempt.attempt ?? '-',
    attempt.at,
    attempt.status ?? attempt.error,
    attempt.durationMs === null ? null : `${attempt.durationMs} ms`,
    attempt.outcome === 'retry' ? 'failed' : attempt.outcome?.replace('-', ' '),
    [attempt.detail ?? attempt.reason, attempt.answer?.replaceAll(/\s+/g, ' ').slice(0, SHOWN_ANSWER)]
      .filter((text) => text !== undefined && text !== null)
      .join(': '),
    attempt.timing === null ? null : timingText(attempt.timing),
  ]
    .filter((cell) => cell !== null && cell !== undefined && cell !== '')
    .join('  ');

const STEPS = [
  ['waitMs', 'wait'],
  ['dnsMs', 'dns'],
  ['connectMs', 'connect'],
  ['tlsMs', 'tls'],
  ['firstByteMs', 'first byte'],
] as const;

/** What the time of an attempt went into, without steps of no time: `on a kept connection, first byte 1002 ms`. */
export function timingText(timing: z.infer<typeof AttemptTiming>): string {
  const steps = STEPS.flatMap(([step, name]) => ((timing[step] ?? 0) > 0 ? [`${name} ${timing[step]} ms`] : []));
  return [timing.reused ? 'on a kept connection' : 'on a new connection', ...steps].join(', ');
}
