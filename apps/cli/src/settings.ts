import { parseEnv } from '@relay/config';
import { z } from 'zod';
import type { Shell } from './shell.js';

/**
 * Reads the variables that a command needs and no others: `topics create` must run without keys.
 * @throws ConfigurationFault naming every fault
 */
export const settingsOf = <G extends z.core.$ZodLooseShape>(shell: Shell, group: G): z.infer<z.ZodObject<G>> =>
  parseEnv(z.object(group), shell.env, (path) => shell.readFile(path));
