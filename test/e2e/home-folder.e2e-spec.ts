import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program } from '../support/terminal.js';

it('npm start keeps its data in its own folder, whatever the name of that and the locale', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'home-'));
  const home = join(parent, 'ünï, a');
  const env = { RELAY_HOME: home, RELAY_CONTAINERS: '0', LC_ALL: 'C', KAFKA_BROKERS: '', REDIS_URL: '' };
  const stack = (command: string) => new Program(process.execPath, ['scripts/stack.mjs', command], env);
  try {
    const up = stack('up');
    expect([await up.ended(), up.output]).toEqual([0, expect.stringMatching(/kafka +up/)]);
    expect(existsSync(join(home, 'kafka', 'data', 'meta.properties'))).toBe(true);
    expect(readdirSync(parent)).toEqual(['ünï, a']);
  } finally {
    await stack('down').ended();
    rmSync(parent, { recursive: true, force: true });
  }
});
