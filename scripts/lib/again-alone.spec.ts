interface File {
  readonly path: string;
  readonly project: string;
  readonly passed: number;
  readonly failed: number;
}
interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly failedFiles: readonly File[];
}

const file = new URL('again-alone.mjs', import.meta.url).href;
const { againAlone, withRepeated } = (await import(file)) as {
  againAlone: (counts: Counts) => readonly File[];
  withRepeated: (first: Counts, repeated: readonly File[], alone: Counts) => Counts;
};

const aFile = (project: string, path = `/x/${project}`): File => ({ path, project, passed: 4, failed: 1 });
const counts = (...failedFiles: readonly File[]): Counts => ({
  passed: 100,
  failed: failedFiles.length,
  failedFiles,
});

describe('a failed run in CI', () => {
  it('repeats up to six files that wait for other processes', () => {
    const files = [aFile('e2e'), aFile('live'), aFile('abuse')];
    expect(againAlone(counts(...files))).toEqual(files);
    expect(againAlone(counts())).toEqual([]);
  });

  it('repeats nothing when a unit or the model failed, or more than six files', () => {
    expect(againAlone(counts(aFile('e2e'), aFile('unit')))).toEqual([]);
    expect(againAlone(counts(aFile('model')))).toEqual([]);
    expect(againAlone(counts(...'abcdefg'.split('').map((path) => aFile('e2e', path))))).toEqual([]);
  });

  it('counts a repeated file as it ended alone', () => {
    const first = counts(aFile('e2e'), aFile('live'));
    expect(withRepeated(first, first.failedFiles, { passed: 10, failed: 0, failedFiles: [] })).toEqual({
      passed: 102,
      failed: 0,
      failedFiles: [],
    });
    const again = [aFile('e2e')];
    expect(withRepeated(first, first.failedFiles, { passed: 9, failed: 1, failedFiles: again })).toEqual({
      passed: 101,
      failed: 1,
      failedFiles: again,
    });
  });
});
