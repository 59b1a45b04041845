import type { SeenEntry } from '@relay/dedupe';
import {
  NOTHING_PARKED,
  PartitionProgress,
  type Flush,
  type LogPartition,
  type LookUp,
  type LookUpResult,
  type OwnedPosition,
  type Parking,
  type ParkingWrite,
  type Ownership,
  type Position,
} from '@relay/progress';
import { keyOf, nothingIn, type MemoryState, type State } from './memory-state.js';

/** Progress in memory, with the steps of the Redis adapter's scripts in their order. */
export class MemoryPartitionProgress extends PartitionProgress {
  registryVersion = 0;

  constructor(private readonly state: MemoryState) {
    super();
  }

  async own(at: LogPartition, token: string, how: Ownership): Promise<OwnedPosition | 'owned-elsewhere' | undefined> {
    const { start, take, claim = '' } = how;
    return this.state.write(({ progress }) => {
      const found = progress.get(keyOf(at));
      if (found !== undefined && !['', token].includes(found.owner) && !take) return 'owned-elsewhere';
      if (found?.owner === token && claim !== '' && found.claim === claim && found.highWater !== undefined)
        return { highWater: found.highWater, sequence: (found.sequence ?? 0) - 1, read: found.read };
      const highWater = found?.highWater ?? start;
      const sequence = found?.sequence ?? 0;
      progress.set(keyOf(at), {
        owner: token,
        claim,
        read: found?.read,
        ...(highWater === undefined ? {} : { highWater, sequence: sequence + 1 }),
      });
      return highWater === undefined ? undefined : { highWater, sequence, read: found?.read };
    });
  }

  async release(at: LogPartition, token: string): Promise<void> {
    this.state.write(({ progress }) => {
      const found = progress.get(keyOf(at));
      if (found?.owner === token) progress.set(keyOf(at), { ...found, owner: '' });
    });
  }

  async rememberKnown(read: readonly LogPartition[]): Promise<boolean> {
    return this.state.write(({ progress, known }) => {
      const knowsAll = read.every((at) => progress.get(keyOf(at))?.highWater !== undefined);
      if (knowsAll) known.add(read[0]?.shard ?? 0);
      return knowsAll || known.has(read[0]?.shard ?? 0);
    });
  }

  async wasKnown({ shard = 0 }: LogPartition): Promise<boolean> {
    return this.state.now.known.has(shard);
  }

  async lookUp(_at: LogPartition, entries: readonly SeenEntry[]): Promise<LookUp> {
    const results = entries.map((entry) => resultOf(this.state.now, entry));
    return { results, registryVersion: this.registryVersion };
  }

  async flush(at: LogPartition, flush: Flush): Promise<boolean> {
    const { token, confirmed, sent, next, read, settled, partial, whole, parking: parked } = flush;
    return this.state.write(({ progress, marks, partials, parking, replays }) => {
      const found = progress.get(keyOf(at));
      if (found?.owner !== token) return false;
      if (!isAt(found, confirmed) && !(sent !== undefined && isAt(found, sent))) return false;
      progress.set(keyOf(at), { ...found, ...next, read: read ?? found.read });
      for (const { id, hash } of settled) {
        if (marks.get(id)?.state !== 'settled') marks.set(id, { state: 'settled', hash });
      }
      const marked = partials.get(keyOf(at)) ?? new Map<string, readonly string[]>();
      partials.set(keyOf(at), marked);
      for (const { id, webhookIds } of partial) marked.set(id, webhookIds);
      for (const id of whole) marked.delete(id);
      if (parked === undefined) return true;
      write(parking, keyOf(at), parked);
      for (const key of parked.changed.keys())
        if (![...parking.values()].some(({ ranges }) => ranges.has(key))) replays.delete(key);
      return true;
    });
  }

  async parking(at: LogPartition): Promise<Parking> {
    const { ranges, replays, dropped, next } = this.state.now.parking.get(keyOf(at)) ?? NOTHING_PARKED;
    return { ranges: new Map(ranges), replays: new Map(replays), dropped: [...dropped], next };
  }

  async partials(at: LogPartition, ids: readonly string[]): Promise<Map<string, Set<string>>> {
    const marked = this.state.now.partials.get(keyOf(at));
    return new Map(ids.map((id) => [id, new Set(marked?.get(id))]));
  }
}

const isAt = (found: Partial<Position>, { highWater, sequence }: Position): boolean =>
  found.highWater === highWater && found.sequence === sequence;

function write(parking: State['parking'], key: string, written: ParkingWrite): void {
  const { changed, replays, dropped, keptFrom, lostFrom = Infinity, next } = written;
  const known = parking.get(key) ?? nothingIn();
  for (const [id, ranges] of changed)
    if (ranges.length === 0) known.ranges.delete(id);
    else known.ranges.set(id, ranges);
  for (const [id, counts] of replays)
    if (known.ranges.has(id)) known.replays.set(id, counts);
    else {
      known.replays.delete(id);
      known.ended.add(id);
    }
  for (const offset of known.dropped) if (offset >= lostFrom) known.dropped.delete(offset);
  for (const offset of dropped) known.dropped.add(offset);
  for (const offset of known.dropped) if (offset < (keptFrom ?? Infinity)) known.dropped.delete(offset);
  parking.set(key, { ...known, next });
}

function resultOf({ marks }: State, { id, hash }: SeenEntry): LookUpResult {
  const mark = marks.get(id);
  if (mark?.state !== 'settled') return 'open';
  return mark.hash === hash ? 'duplicate' : 'conflict';
}
