import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const tool = join(import.meta.dirname, '..', '..', 'scripts', 'fault-tool.mjs');

/** Installs a tool when it is missing; returns where it is. */
export async function toolPath(name: 'toxiproxy' | 'faketime' | 'haproxy'): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [tool, name]);
  return stdout.trim();
}
