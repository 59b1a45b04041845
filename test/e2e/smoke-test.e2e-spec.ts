import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Relay } from '../support/relay.js';

const root = join(import.meta.dirname, '..', '..');

/** The image's folder without an image: its programs beside the built code and its packages. */
function imageFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'relay-image-'));
  cpSync(join(root, 'scripts', 'image'), folder, { recursive: true });
  for (const name of ['dist', 'node_modules', 'package.json']) symlinkSync(join(root, name), join(folder, name));
  return folder;
}

describe('the program that helm test runs', () => {
  let relay: Relay;
  const folder = imageFolder();
  beforeAll(async () => {
    relay = await Relay.start();
  });
  afterAll(async () => {
    await relay.close();
    rmSync(folder, { recursive: true });
  });
  const smokeTest = (endpoint: string) => {
    const env = { ...relay.stack.env, SMOKE_TEST_RELAY: relay.ingress.url, SMOKE_TEST_ENDPOINT: endpoint };
    return promisify(execFile)(process.execPath, [join(folder, 'role.mjs'), 'smoke-test'], { env });
  };

  it('sends one envelope and sees it delivered to the relay itself, which publishes nothing again', async () => {
    const { stdout, stderr } = await smokeTest(`${relay.ingress.url}/deliveries`);
    expect(stdout).toMatch(/^accepted: .*\ndelivered\n$/);
    expect(stderr).toBe('');
    const clients = (await relay.stack.relay('partners', 'list')) as { name: string; disabled: boolean }[];
    expect(clients.filter(({ name }) => name === 'smoke-test')).toEqual([expect.objectContaining({ disabled: true })]);
  });

  it('names an endpoint without a dot by its address, as a Service of development is: the relay refuses such names', async () => {
    const { stdout } = await smokeTest(`http://localhost:${new URL(relay.ingress.url).port}/deliveries`);
    expect(stdout).toMatch(/on its way to http:\/\/127\.0\.0\.1:\d+\/deliveries\ndelivered\n$/);
  });

  it('delivers to an endpoint of one’s own', async () => {
    const { stdout } = await smokeTest(relay.receiver.url('/smoke'));
    expect(stdout).toContain('delivered');
  });
});
