import { REPLAY_KEPT_S } from '@relay/progress';
import { globalKey } from '@relay/redis';
import type { Redis } from 'ioredis';
import { ReplayGroup } from './replay-group.js';

const keyOf = (id: string): string => globalKey('replays', 'group', id);

/** Groups of replays in Redis, kept as long as their replays: some 100 bytes for each webhook. */
export class ReplayGroupStore {
  constructor(private readonly redis: Redis) {}

  async write(group: ReplayGroup): Promise<void> {
    await this.redis.set(keyOf(group.id), JSON.stringify(group), 'EX', REPLAY_KEPT_S);
  }

  /** Undefined for an unknown or expired group. */
  async read(id: string): Promise<ReplayGroup | undefined> {
    const text = await this.redis.get(keyOf(id));
    return text === null ? undefined : ReplayGroup.parse(JSON.parse(text));
  }
}
