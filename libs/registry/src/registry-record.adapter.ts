import { randomUUID } from 'node:crypto';
import type { Entity } from './registry.script.js';

/** A command in the log, under an id of its own. */
export function commandOf(entity: Entity | 'snapshot', command: object): { id: string; value: Buffer } {
  const id = randomUUID();
  return { id, value: Buffer.from(JSON.stringify({ v: 1, id, entity, at: Date.now(), command })) };
}

/** Whether a command had no effect because a snapshot was under way. */
export const isFrozen = (result: unknown): boolean =>
  typeof result === 'object' && result !== null && 'kind' in result && result.kind === 'frozen';
