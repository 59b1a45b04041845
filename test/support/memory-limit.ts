import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Joins the group that its first argument names, then becomes the rest. */
const JOIN = 'echo $$ > "$0" && exec "$@"';
const NAME = /^relay-limit-(\d+)-\d+$/;
let made = 0;

/** The files of one version of control groups. */
interface Version {
  readonly root: string;
  readonly limit: string;
  readonly kills: string;
}
const VERSIONS: readonly Version[] = [
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', kills: 'memory.oom_control' },
  { root: '/sys/fs/cgroup', limit: 'memory.max', kills: 'memory.events' },
];

/** A memory limit like that of a container: a process in it that needs more is killed. */
export class MemoryLimit {
  private constructor(
    private readonly folder: string,
    private readonly version: Version,
    readonly bytes: number,
  ) {}

  /** Undefined where the machine does not permit it, such as without root. */
  static create(bytes: number): MemoryLimit | undefined {
    for (const version of VERSIONS) {
      if (!existsSync(version.root)) continue;
      sweep(version.root);
      const folder = join(version.root, `relay-limit-${process.pid}-${(made += 1)}`);
      try {
        mkdirSync(folder);
        // The kernel makes the files of a group: where they are missing, this is no more than a folder.
        if (existsSync(join(folder, version.limit))) {
          writeFileSync(join(folder, version.limit), String(bytes));
          return new MemoryLimit(folder, version, bytes);
        }
      } catch {
        // Not ours to make: the next version, or none.
      }
      removeGroup(folder);
    }
    return undefined;
  }

  /** A command line that runs this one under the limit, from its first moment, and as the process that is started. */
  around(line: readonly string[]): readonly string[] {
    return ['/bin/sh', '-c', JOIN, join(this.folder, 'cgroup.procs'), ...line];
  }

  /** Processes that were killed for the memory they wanted. */
  kills(): number {
    const text = readFileSync(join(this.folder, this.version.kills), 'utf8');
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  /** Once nothing runs under it any more. */
  remove(): void {
    removeGroup(this.folder);
  }
}

/** Removes the remains of a killed test. */
function sweep(root: string): void {
  for (const name of readdirSync(root)) {
    const pid = NAME.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) removeGroup(join(root, name));
  }
}

/** A group that still has processes stays, and goes with a later run. */
function removeGroup(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It was never made, or something runs in it.
  }
}
