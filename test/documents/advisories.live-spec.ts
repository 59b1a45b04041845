import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

const root = join(import.meta.dirname, '..', '..');
const ADVISORIES = '/-/npm/v1/security/advisories/bulk';
const advisory = {
  id: 1,
  url: 'https://advisories.example/1',
  title: 'Reads what it should not',
  severity: 'high',
  vulnerable_versions: '<99.0.0',
};

/** A registry that knows these advisories by package, or none of it: then it refuses the question, as a mirror does. */
describe('npm run audit', () => {
  let registry: Server;
  let known: Readonly<Record<string, readonly object[]>> | undefined;
  /** Versions of the packages that were asked for. */
  let asked: Record<string, string[]>;
  beforeAll(async () => {
    registry = createServer((request, response) => {
      void buffer(request).then((body) => {
        if (request.url !== ADVISORIES) return response.writeHead(404).end('{}');
        if (known === undefined) return response.writeHead(405).end();
        asked = JSON.parse(gunzipSync(body).toString()) as typeof asked;
        return response.setHeader('content-type', 'application/json').end(JSON.stringify(known));
      });
    });
    registry.listen(0, '127.0.0.1');
    await once(registry, 'listening');
  });
  afterAll(() => registry.close());

  async function audit(...args: string[]): Promise<{ code: number | null; out: string }> {
    const { port } = registry.address() as AddressInfo;
    const env = { ...process.env, npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_fetch_retries: '0' };
    const stdio = ['ignore', 'pipe', 'inherit'] as const;
    const child = spawn(process.execPath, [join(root, 'scripts', 'audit.mjs'), ...args], { env, stdio: [...stdio] });
    const [out, [code]] = await Promise.all([buffer(child.stdout), once(child, 'close') as Promise<[number | null]>]);
    return { code, out: out.toString() };
  }

  it('asks for every package of the image, and for none that only builds it', async () => {
    known = {};
    expect(await audit()).toEqual({ code: 0, out: expect.stringMatching(/^advisories: 0, for \d{2,} packages\n$/) });
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const versions = Object.entries(dependencies).map(([name, version]) => [name, [version]]);
    expect(asked).toMatchObject(Object.fromEntries(versions) as object);
    for (const name of ['jest', 'oxfmt', 'oxlint', 'node']) expect(asked).not.toHaveProperty([name]);
  });

  it('fails with the advisory that there is', async () => {
    known = { kafkajs: [advisory] };
    const line = 'high      kafkajs <99.0.0: Reads what it should not (https://advisories.example/1)';
    expect(await audit()).toEqual({ code: 1, out: expect.stringContaining(`${line}\nadvisories: 1, for `) });
  });

  it('says that nothing was checked if the registry keeps no advisories, and fails if they are required', async () => {
    known = undefined;
    expect(await audit()).toEqual({ code: 0, out: expect.stringMatching(/^NOT CHECKED: .*405/) });
    expect(await audit('--required')).toMatchObject({ code: 1 });
  });
});
