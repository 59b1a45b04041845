import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FILLER = 'filler';

/** A file system of a size of its own, in memory, to be filled. */
export class SmallDisk {
  private constructor(readonly folder: string) {}

  /** Why this machine can mount none; undefined if it can. */
  static impossible(): string | undefined {
    const folder = mkdtempSync(join(tmpdir(), 'relay-disk-'));
    try {
      new SmallDisk(folder).#mount(1).unmount();
      return undefined;
    } catch {
      return 'mounting a tmpfs needs Linux and root';
    } finally {
      rmdirSync(folder);
    }
  }

  static mount(folder: string, mebibytes: number): SmallDisk {
    return new SmallDisk(folder).#mount(mebibytes);
  }

  /** Leaves so many bytes free at most. */
  fill(left: number): void {
    rmSync(join(this.folder, FILLER), { force: true });
    const { bavail, bsize } = statfsSync(this.folder);
    try {
      writeFileSync(join(this.folder, FILLER), Buffer.alloc(Math.max(0, bavail * bsize - left)));
    } catch (error) {
      // Somebody else wrote meanwhile.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    }
  }

  /** Frees what was filled. */
  free(): void {
    rmSync(join(this.folder, FILLER), { force: true });
  }

  /** Works while its files are open. */
  unmount(): void {
    execFileSync('umount', ['--lazy', this.folder], { stdio: 'pipe' });
  }

  #mount(mebibytes: number): this {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', this.folder], { stdio: 'pipe' });
    return this;
  }
}
