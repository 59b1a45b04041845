import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

describe('the home of npm start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'owner-'));
  const home = join(folder, 'home');
  const script = join(folder, 'start.mjs');
  const running: ChildProcess[] = [];
  beforeAll(() => {
    const module = join(import.meta.dirname, 'owner.mjs');
    writeFileSync(
      script,
      `const { own } = await import(${JSON.stringify(module)});
      const owner = await own(${JSON.stringify(home)}, new AbortController().signal);
      if (process.argv[2] === 'starting') console.log('mine');
      else { owner.tell('http://127.0.0.1:3000', process.argv.slice(2).map(Number)); console.log('mine'); }
      setInterval(() => undefined, 1000);`,
    );
  });
  afterAll(() => {
    for (const each of running) each.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** What a start in this home says first, and how it is ended. */
  const started = async (...args: string[]): Promise<{ said: string; kill: () => Promise<void> }> => {
    const child = spawn(process.execPath, [script, ...args], { stdio: 'pipe' });
    running.push(child);
    const said = Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data')]);
    const kill = async (): Promise<void> => {
      const gone = once(child, 'close');
      child.kill('SIGKILL');
      await gone;
    };
    return { said: String(await said), kill };
  };

  it('belongs to one, whose address the second is told, until its process has ended', async () => {
    const first = await started('starting');
    expect(first.said).toBe('mine\n');
    expect((await started()).said).toContain('it is still starting');
    await first.kill();
    const next = await started();
    expect(next.said).toBe('mine\n');
    expect((await started()).said).toContain('npm start runs here already, as process');
    expect((await started()).said).toContain('http://127.0.0.1:3000');
    await next.kill();
    const last = await started();
    expect(last.said).toBe('mine\n');
    await last.kill();
  });

  it('ends the roles of one that was killed, and no other process that has their number by now', async () => {
    const folders = ['dist/apps', 'other/apps'].map((name) => join(folder, name));
    const [role, other] = folders.map((each) => {
      mkdirSync(each, { recursive: true });
      writeFileSync(join(each, 'main.js'), 'setInterval(() => undefined, 1000);');
      const child = spawn(process.execPath, [join(each, 'main.js')]);
      running.push(child);
      return child;
    });
    const killed = await started(String(role?.pid), String(other?.pid));
    const ended = once(role as ChildProcess, 'exit');
    await killed.kill();
    expect((await started()).said).toBe('mine\n');
    await ended;
    expect([role?.signalCode, other?.signalCode]).toEqual(['SIGTERM', null]);
  });
});
