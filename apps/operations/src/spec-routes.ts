import type { NestFastifyApplication } from '@nestjs/platform-fastify';

// For specs only.

const ENVELOPE = '11111111-1111-4111-8111-111111111111';
/** Could be that of a dead letter. */
export const ID = `-_${ENVELOPE}_0123456789abcdef_0_1`;

/** Every route that the router knows, as method and path with something in the place of parameters. */
export function routesOf(app: NestFastifyApplication): [string, string][] {
  const printed = app.getHttpAdapter().getInstance().printRoutes({ commonPrefix: false, includeHooks: false });
  const found: [string, string][] = [];
  const path: string[] = [];
  for (const line of printed.split('\n')) {
    const match = /^((?:[│ ] {3})*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/.exec(line);
    if (match === null) continue;
    path.length = (match[1]?.length ?? 0) / 4;
    path.push(match[2] ?? '');
    const written = path.join('');
    const full = written.replaceAll(/:\w+/g, written.startsWith('/envelopes') ? ENVELOPE : ID).replace('*', 'x.js');
    for (const method of match[3]?.split(', ') ?? []) found.push([method, full]);
  }
  return found;
}
