import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A JWT as a platform would bring it, another each time. */
export const aJwt = (): string => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256' })}.${part({ sub: 'platform' })}.${randomBytes(32).toString('base64url')}`;
};

/** The path of a file that holds this; in `npm test` it goes with the private home. */
export function secretFile(text: string): string {
  const path = join(mkdtempSync(join(process.env['RELAY_HOME'] ?? tmpdir(), 'secret-')), 'secret');
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}
