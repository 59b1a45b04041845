import type { Redis } from 'ioredis';
import { globalKey } from './shards.js';

/** Offset of the last command of the registry that was applied, kept beside the data so that both go back in time together. */
export const REGISTRY_APPLIED = globalKey('registry', 'applied');
/** `empty <offset>`: the view is being removed, for the snapshot at that offset; `fill <offset>`: that snapshot fills it. */
export const REGISTRY_REBUILDING = globalKey('registry', 'rebuilding');

/** The keys of `registryVersionLua`, in this order. */
export const registryVersionKeys = [globalKey('registry', 'version'), REGISTRY_APPLIED, REGISTRY_REBUILDING] as const;

/**
 * The Lua function `registry_version`: the version of the registry that Redis shows, or `NO_REGISTRY` if Redis shows none.
 * A Redis that was emptied and one that is being rebuilt also have a version, but hold none or some of the webhooks.
 */
export const registryVersionLua = `
local function registry_version(version_key, applied_key, rebuilding_key)
  local found = redis.call('MGET', version_key, applied_key, rebuilding_key)
  if not found[2] or found[3] then return -1 end
  return tonumber(found[1] or '0')
end
`;

/** Result of `registry_version` for a Redis without a registry. */
export const NO_REGISTRY = -1;

/** The version of the registry that Redis shows, or `NO_REGISTRY`. */
export async function readRegistryVersion(redis: Pick<Redis, 'mget'>): Promise<number> {
  const [version, applied, rebuilding] = await redis.mget(...registryVersionKeys);
  return typeof applied !== 'string' || typeof rebuilding === 'string' ? NO_REGISTRY : Number(version ?? 0);
}
