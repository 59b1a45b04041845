import type { Redis } from 'ioredis';
import { globalKey } from './shards.js';

/** Offset of the last command of the registry that was applied. It is stored beside the data, so a backup contains both. */
export const REGISTRY_APPLIED = globalKey('registry', 'applied');
/**
 * Exists while the view is rebuilt. `empty <offset>`: the view is being removed, before the snapshot at this offset is
 * applied. `fill <offset>`: the view is being filled from this snapshot.
 */
export const REGISTRY_REBUILDING = globalKey('registry', 'rebuilding');

/** The keys of `registryVersionLua`, in this order. */
export const registryVersionKeys = [globalKey('registry', 'version'), REGISTRY_APPLIED, REGISTRY_REBUILDING] as const;

/**
 * The Lua function `registry_version`. It returns the version of the registry that Redis shows, or `NO_REGISTRY` if Redis
 * shows none. It also returns `NO_REGISTRY` for a Redis that was emptied or is being rebuilt, because webhooks are missing
 * there.
 */
export const registryVersionLua = `
local function registry_version(version_key, applied_key, rebuilding_key)
  local found = redis.call('MGET', version_key, applied_key, rebuilding_key)
  if not found[2] or found[3] then return -1 end
  return tonumber(found[1] or '0')
end
`;

/** Result of `registry_version` if Redis shows no registry. */
export const NO_REGISTRY = -1;

/** Returns the version of the registry that Redis shows, or `NO_REGISTRY`. */
export async function readRegistryVersion(redis: Pick<Redis, 'mget'>): Promise<number> {
  const [version, applied, rebuilding] = await redis.mget(...registryVersionKeys);
  return typeof applied !== 'string' || typeof rebuilding === 'string' ? NO_REGISTRY : Number(version ?? 0);
}
