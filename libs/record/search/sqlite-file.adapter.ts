import { rmSync } from 'node:fs';
import { extname } from 'node:path';
import type { SQLInputValue } from 'node:sqlite';
import { Worker } from 'node:worker_threads';

/** Error codes of SQLite for a damaged file and for a file that is not a database. */
const DAMAGED: ReadonlySet<number> = new Set([11, 26]);

/** An error of SQLite, or of the thread that has the file open. */
export class SqliteFault extends Error {
  constructor(
    message: string,
    /** Extended error code of SQLite; 0 for errors that are not from SQLite. */
    private readonly code: number,
  ) {
    super(message);
    this.name = 'SqliteFault';
  }

  /** Whether the file is damaged, so that only a new file helps. */
  get isDamage(): boolean {
    return DAMAGED.has(this.code & 0xff);
  }
}

/** A statement, executed once for each row of parameters. */
export interface SqliteStatement {
  readonly sql: string;
  readonly rows: readonly (readonly SQLInputValue[])[];
}
/** Statements to execute in one transaction. The answer has the rows of the last execution. */
export interface SqliteQuestion {
  readonly number: number;
  readonly statements: readonly SqliteStatement[];
}
export type SqliteRow = Readonly<Record<string, SQLInputValue>>;

interface Answer {
  readonly number: number;
  readonly rows?: SqliteRow[];
  readonly fault?: { readonly message: string; readonly code: number };
}
interface Waiting {
  readonly resolve: (rows: SqliteRow[]) => void;
  readonly reject: (error: Error) => void;
}

/** A SQLite file that is opened in a thread of its own. */
export class SqliteFile {
  readonly #thread: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #ended: Error | undefined;

  constructor(private readonly path: string) {
    const name = `./sqlite-thread${extname(import.meta.url)}`;
    this.#thread = new Worker(new URL(name, import.meta.url), { workerData: path, execArgv: [] });
    this.#thread.unref();
    this.#thread.on('message', (answer: Answer) => this.#answered(answer));
    this.#thread.on('error', (error: Error & { errcode?: number }) =>
      this.#end(new SqliteFault(error.message, error.errcode ?? 0)),
    );
    this.#thread.on('exit', () => this.#end(new SqliteFault('the file is closed', 0)));
  }

  /**
   * Executes statements in one transaction.
   * @returns the rows of the last execution
   * @throws SqliteFault if a statement fails; then nothing was changed
   */
  write(statements: readonly SqliteStatement[]): Promise<SqliteRow[]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    this.#asked += 1;
    const number = this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
      this.#thread.postMessage({ number, statements });
    });
  }

  all(sql: string, ...parameters: SQLInputValue[]): Promise<SqliteRow[]> {
    return this.write([{ sql, rows: [parameters] }]);
  }

  async close(): Promise<void> {
    if (this.#ended !== undefined) return;
    const gone = new Promise<void>((resolve) => {
      this.#thread.once('exit', () => resolve());
    });
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    this.#thread.postMessage('close');
    await gone;
  }

  /** Closes the file and deletes it. */
  async discard(): Promise<void> {
    await this.#thread.terminate();
    for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${this.path}${end}`, { force: true });
  }

  #answered({ number, rows = [], fault }: Answer): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (fault === undefined) waiting?.resolve(rows);
    else waiting?.reject(new SqliteFault(fault.message, fault.code));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }
}
