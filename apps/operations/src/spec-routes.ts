import type { NestFastifyApplication } from '@nestjs/platform-fastify';

// For specs only.

/** Could be that of a dead letter. */
export const ID = '-_11111111-1111-4111-8111-111111111111_0123456789abcdef_0_1';

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
    const full = path.join('').replaceAll(/:\w+/g, ID).replace('*', 'x.js');
    for (const method of match[3]?.split(', ') ?? []) found.push([method, full]);
  }
  return found;
}
