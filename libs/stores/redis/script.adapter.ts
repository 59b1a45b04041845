import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

type ScriptArgument = string | number | Buffer;

/**
 * A Lua script, which Redis runs atomically. It is called by its hash, and sent if Redis does not know it (after a restart).
 */
export interface Script {
  readonly name: string;
  readonly lua: string;
  readonly sha: string;
}

export function defineScript(name: string, lua: string): Script {
  return { name, lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/** Runs a script. If `binary` is set, bulk replies are Buffers. */
export async function runScript(
  redis: Redis,
  script: Script,
  keys: readonly string[],
  args: readonly ScriptArgument[],
  binary = false,
): Promise<unknown> {
  const call = (command: string, body: string): Promise<unknown> =>
    binary
      ? redis.callBuffer(command, body, keys.length, ...keys, ...args)
      : redis.call(command, body, keys.length, ...keys, ...args);
  try {
    return await call('EVALSHA', script.sha);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return call('EVAL', script.lua);
    throw error;
  }
}
