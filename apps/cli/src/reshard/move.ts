import type { Shards } from '@relay/redis';
import type { Inventory } from './inventory.adapter.js';
import type { Writes } from './writes.adapter.js';

/** Of one layout of shards into another. Roles are stopped, and the new layout is empty at its start. */
export interface Move {
  readonly from: Shards;
  readonly to: Shards;
  readonly inventory: Inventory;
  readonly writes: Writes;
}
