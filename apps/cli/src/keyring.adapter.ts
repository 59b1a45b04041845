import { keyringEnv } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { keyKeys, sealingFault } from '@relay/registry';
import type { Redis } from 'ioredis';
import { settingsOf } from './settings.js';
import type { Shell } from './shell.js';

/** The keys of this command. @throws ConfigurationFault */
export const keyringOf = (shell: Shell): Keyring => Keyring.parse(settingsOf(shell, keyringEnv).ENCRYPTION_KEYS);

/** @throws Error when the processes could not read what this command seals or hashes */
export async function assertShared(keyring: Keyring, redis: Redis): Promise<void> {
  const fault = sealingFault(await redis.hgetall(keyKeys[0]), keyring.checks);
  if (fault !== undefined) throw new Error(fault);
}
