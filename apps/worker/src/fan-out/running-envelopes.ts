import { Injectable } from '@nestjs/common';
import type { SeenEntry } from '@relay/dedupe';
import { untilStored } from '@relay/jobs';
import type { LogPartition } from '@relay/progress';
import { ThrottledLog } from '@relay/telemetry';
import type { RecordHandle, StoreAgain } from '../log/log-chunk.js';
import { RunningEnvelope, type RunningCollection } from './running-envelope.js';

/**
 * Envelopes that this worker runs, by id. A record that brings one of them again (a repeat of the source, or a re-read after
 * Redis went back) starts nothing: it is settled with the running envelope. Before a re-read, Redis may have lost added jobs and
 * the ranges of parked webhooks. Therefore the re-read parks these webhooks again, and the jobs are added again before anything
 * is settled; their ids make that harmless.
 */
@Injectable()
export class RunningEnvelopes implements RunningCollection {
  readonly #running = new Map<string, RunningEnvelope>();

  constructor(private readonly log: ThrottledLog) {}

  get size(): number {
    return this.#running.size;
  }

  /** Returns undefined if the envelope runs already with the same content; the record is then settled with it. */
  start(entry: SeenEntry, at: LogPartition, offset: number, handle: RecordHandle): RunningEnvelope | undefined {
    const origin = `${at.topic}/${at.partition}/${offset}`;
    handle.begun(entry);
    const running = this.#running.get(entry.id);
    if (running !== undefined) {
      running.join(origin, handle);
      return undefined;
    }
    const started = new RunningEnvelope(entry, origin, handle, this);
    this.#running.set(entry.id, started);
    return started;
  }

  find(envelopeId: string): RunningEnvelope | undefined {
    return this.#running.get(envelopeId);
  }

  store(again: StoreAgain): Promise<void> {
    return untilStored(again, this.log, {});
  }

  remove(entry: SeenEntry): void {
    this.#running.delete(entry.id);
  }
}
