import { factsOf, idOf, type HistoryLine } from './history-line.js';

/** An entry of the stream of a webhook. */
export type StreamEntry = [id: string, fields: string[]];

export function lineOf(webhookId: string, [id, fields]: StreamEntry): HistoryLine {
  const [, short = '', , facts = '[]'] = fields;
  const [endedAt = 0, place = 0] = id.split('-').map(Number);
  return { webhookId, envelopeId: idOf(short), ...factsOf(facts), endedAt, place };
}
