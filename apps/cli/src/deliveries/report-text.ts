import type { AttemptRecord } from '@relay/events';
import { NO_WEBHOOK } from '@relay/jobs';
import { counted, table } from '../table.js';
import type { DeliveryReport, EnvelopeReport } from './envelope-report.js';
import { timingText } from './timing-text.js';

const SEEN = {
  published: 'published: it is in Kafka, no worker has settled it yet',
  settled: 'settled: every delivery of it was answered, or has its own job or dead letter',
} as const;

/** Characters of an endpoint's answer in a line; `--json` has more of them. */
const SHOWN_ANSWER = 100;

/** The report for a person. */
export function reportText({ id, seen, deliveries }: EnvelopeReport): string {
  const mark = seen === null ? 'no mark: not seen within DEDUPE_WINDOW' : SEEN[seen.state];
  const head = `envelope ${id}\n${mark}\n${counted(deliveries.length, 'delivery', 'deliveries')}`;
  return [head, ...deliveries.map(deliveryText)].join('\n\n');
}

function deliveryText(delivery: DeliveryReport): string {
  const { webhookId, series, state, nextAttemptAt, reason, lastFailure, attempts, deliveryId } = delivery;
  const whose = webhookId === NO_WEBHOOK ? 'the envelope as a whole' : `webhook ${webhookId}`;
  const facts = [
    state.replace('-', ' '),
    reason,
    nextAttemptAt === undefined ? undefined : `next attempt ${nextAttemptAt}`,
    attempts.length === 0 ? lastFailure : undefined,
  ];
  const line = `${whose}${series === 0 ? '' : `, replay ${series}`}: ${facts.filter((fact) => fact !== undefined).join(', ')}`;
  const rows = attempts.map(attemptRow);
  return [line, `  ${deliveryId}`, ...(rows.length === 0 ? [] : [table(rows)])].join('\n');
}

const attemptRow = (record: AttemptRecord): string[] => [
  `  ${record.attempt ?? '-'}`,
  record.at,
  String(record.status ?? record.error ?? ''),
  record.durationMs === undefined ? '' : `${record.durationMs} ms`,
  record.outcome === 'retry' ? 'failed' : record.outcome.replace('-', ' '),
  [record.detail ?? record.reason, record.answer?.replaceAll(/\s+/g, ' ').slice(0, SHOWN_ANSWER)]
    .filter((text) => text !== undefined)
    .join(': '),
  record.timing === undefined ? '' : timingText(record.timing),
];
