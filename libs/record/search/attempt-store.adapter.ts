import type { SQLInputValue } from 'node:sqlite';
import { uuidBytes } from '@relay/events';
import {
  type AttemptCount,
  attemptOf,
  type AttemptSearch,
  COUNTED,
  countOf,
  type IndexedAttempt,
  INSERT_ATTEMPT,
  parametersOf,
  SELECTED,
  statementOf,
  TABLES,
  VERSION,
} from './attempt-sql.js';
import { SqliteFault, SqliteFile, type SqliteRow, type SqliteStatement } from './sqlite-file.adapter.js';

/** How far a partition is indexed: the next offset to read, and the last record that was indexed. */
export interface Position {
  readonly next: number;
  readonly last?: { readonly offset: number; readonly timestamp: number } | undefined;
}

/** @property next cursor of the next page; undefined on the last page */
export interface AttemptPage {
  readonly attempts: readonly IndexedAttempt[];
  readonly next?: string;
}

/** Number of attempts that were answered 2xx (`delivered`), and of attempts that were not (`failed`). */
export interface AttemptTally {
  readonly delivered: number;
  readonly failed: number;
}

/** Maximum number of attempts of one envelope in one answer. A partner may replay an envelope many times. */
const MOST_OF_ENVELOPE = 2_000;
/** Maximum number of rows deleted in one transaction. */
const SLICE = 1_000;
const MINUTE_MS = 60_000;

/** The tables of the index in a SQLite file. */
export class AttemptStore {
  /** Numbers of names by kind and text. `#texts` has the texts by number. */
  readonly #numbers = new Map<string, number>();
  readonly #texts = new Map<number, string>();
  #next = 1;

  private constructor(
    private readonly file: SqliteFile,
    private readonly maxBytes: number,
  ) {}

  /**
   * Opens the file. If the file is damaged, has another version or belongs to another log, it is replaced by an empty one.
   * @param logName name of the log whose attempts the file has
   * @param told called with the reason if a file is replaced
   */
  static async open(
    path: string,
    logName: string,
    maxBytes: number,
    told: (reason: string) => void,
  ): Promise<AttemptStore> {
    const file = new SqliteFile(path);
    let why: string | undefined;
    try {
      why = await faultOf(file, logName);
    } catch (error) {
      if (!isDamage(error)) {
        await file.close();
        throw error;
      }
      why = `it is damaged: ${error.message}`;
    }
    if (why === undefined) return AttemptStore.#loaded(file, maxBytes);
    if (why !== NEW) told(why);
    await file.discard();
    const fresh = new SqliteFile(path);
    const made = TABLES.map((sql): SqliteStatement => ({ sql, rows: [[]] }));
    await fresh.write([...made, { sql: 'INSERT INTO facts VALUES (?, ?)', rows: [['log', logName]] }]);
    return AttemptStore.#loaded(fresh, maxBytes);
  }

  static async #loaded(file: SqliteFile, maxBytes: number): Promise<AttemptStore> {
    const store = new AttemptStore(file, maxBytes);
    for (const { id, kind, text } of await file.all('SELECT id, kind, text FROM names'))
      store.#remember(textIn(kind), textIn(text), Number(id));
    return store;
  }

  async positions(): Promise<Map<number, Position>> {
    const rows = await this.file.all('SELECT partition, next, last, timestamp FROM positions');
    return new Map(
      rows.map(({ partition, next, last, timestamp }) => [
        Number(partition),
        {
          next: Number(next),
          ...(last === null ? {} : { last: { offset: Number(last), timestamp: Number(timestamp) } }),
        },
      ]),
    );
  }

  /** Returns the time from which on no attempt is missing, in epoch milliseconds; undefined if no time is stored. */
  async since(): Promise<number | undefined> {
    const [row] = await this.file.all("SELECT value FROM facts WHERE name = 'since'");
    return row === undefined ? undefined : Number(row['value']);
  }

  /** Remembers that attempts before `time` may be missing. If a later time is already stored, that time is kept. */
  async missingBefore(time: number): Promise<void> {
    await this.file.write([
      {
        sql: "INSERT INTO facts VALUES ('since', ?1) ON CONFLICT DO UPDATE SET value = max(CAST(value AS INTEGER), ?1)",
        rows: [[time]],
      },
    ]);
  }

  /** Stores attempts and the positions of their partitions in one transaction. */
  async add(attempts: readonly IndexedAttempt[], positions: ReadonlyMap<number, Position>): Promise<void> {
    const fresh: [number, string, string][] = [];
    const numberOf = (kind: string, text: string | undefined): number | null => {
      if (text === undefined) return null;
      const known = this.#numbers.get(keyOf(kind, text));
      if (known !== undefined) return known;
      const id = this.#next;
      this.#remember(kind, text, id);
      fresh.push([id, kind, text]);
      return id;
    };
    const rows = attempts.map((attempt) => parametersOf(attempt, numberOf)).filter((row) => row !== undefined);
    const moved = [...positions].map(([partition, { next, last }]) => [
      partition,
      next,
      last?.offset ?? null,
      last?.timestamp ?? null,
    ]);
    try {
      await this.file.write([
        { sql: 'INSERT INTO names VALUES (?, ?, ?)', rows: fresh },
        { sql: INSERT_ATTEMPT, rows },
        { sql: 'INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?)', rows: moved },
      ]);
    } catch (error) {
      for (const [id, kind, text] of fresh) this.#forget(kind, text, id);
      throw error;
    }
  }

  /** Finds attempts, newest first. */
  async find(search: AttemptSearch): Promise<AttemptPage> {
    const statement = statementOf(search, (kind, text) => this.#numbers.get(keyOf(kind, text)));
    if (statement === undefined) return { attempts: [] };
    const rows = await this.file.all(statement.sql, ...statement.parameters);
    const shown = rows.slice(0, search.limit);
    const attempts = shown.map((row) => this.#attemptOf(row));
    if (rows.length > search.limit) return { attempts, next: textIn(shown.at(-1)?.['place']) };
    const [last] = await this.file.all(statement.lastSql, ...statement.lastParameters);
    return last === undefined ? { attempts } : { attempts, next: textIn(last['place']) };
  }

  /** Returns the attempts of an envelope, oldest first. If there are more than 2,000, only the newest ones are returned. */
  async ofEnvelope(envelopeId: string): Promise<IndexedAttempt[]> {
    const sql = `SELECT ${SELECTED} FROM attempts INDEXED BY by_envelope WHERE envelope = ? ORDER BY id DESC LIMIT ${MOST_OF_ENVELOPE}`;
    return (await this.file.all(sql, uuidBytes(envelopeId))).map((row) => this.#attemptOf(row)).toReversed();
  }

  /**
   * Deletes the attempts before a time, then the oldest ones while the file is too large. Each transaction deletes a limited
   * number of rows.
   * @param before time in epoch milliseconds
   */
  async trim(before: number): Promise<void> {
    while (await this.#deletedOldest('WHERE id < CAST(?1 AS INTEGER) << 20', before)) void 0;
    while ((await this.bytes()) > this.maxBytes) if (!(await this.#deletedOldest(''))) return;
  }

  /** Returns the size of the file without its free pages, in bytes. */
  async bytes(): Promise<number> {
    const [row] = await this.file.all(
      'SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count, pragma_freelist_count, pragma_page_size',
    );
    return Number(row?.['bytes']);
  }

  /** Counts the attempts since a time. @param from earliest time of an attempt, in epoch milliseconds */
  async tally(from: number): Promise<AttemptTally> {
    const sql =
      'SELECT count(*) FILTER (WHERE outcome = 0) AS delivered, count(*) FILTER (WHERE outcome IN (1, 2)) AS failed FROM attempts WHERE id >= CAST(? AS INTEGER) << 20';
    const [row] = await this.file.all(sql, from);
    return { delivered: Number(row?.['delivered'] ?? 0), failed: Number(row?.['failed'] ?? 0) };
  }

  /**
   * Counts the attempts of every step that a period touches, oldest first.
   * @param from in epoch milliseconds, as is `until`, which is later
   * @param stepMs a number of minutes, in milliseconds
   */
  async counts(from: number, until: number, stepMs: number): Promise<AttemptCount[]> {
    const minutes = stepMs / MINUTE_MS;
    const [first, last] = [Math.floor(from / stepMs), Math.ceil(until / stepMs) - 1];
    const rows = await this.file.all(COUNTED, minutes, first * minutes, (last + 1) * minutes - 1);
    const steps = Array.from({ length: last - first + 1 }, (): SqliteRow[] => []);
    for (const row of rows) steps[Number(row['step']) - first]?.push(row);
    return steps.map((of, n) => countOf((first + n) * stepMs, of));
  }

  close(): Promise<void> {
    return this.file.close();
  }

  discard(): Promise<void> {
    return this.file.discard();
  }

  /** Deletes the oldest attempts that meet a condition. Returns false if there were none. */
  async #deletedOldest(condition: string, ...parameters: SQLInputValue[]): Promise<boolean> {
    const sql = `SELECT max(id) >> 20 AS at, CAST(max(id) AS TEXT) AS place FROM (SELECT id FROM attempts ${condition} ORDER BY id LIMIT ${SLICE})`;
    const [row] = await this.file.all(sql, ...parameters);
    if (row === undefined || row['place'] === null) return false;
    await this.missingBefore(Number(row['at']) + 1);
    await this.file.all('DELETE FROM minutes WHERE at < ?', Math.floor(Number(row['at']) / MINUTE_MS));
    await this.file.all('DELETE FROM attempts WHERE id <= CAST(? AS INTEGER)', row['place'] ?? null);
    return true;
  }

  #attemptOf(row: SqliteRow): IndexedAttempt {
    return attemptOf(row, (number) => this.#texts.get(Number(number)));
  }

  #remember(kind: string, text: string, id: number): void {
    this.#numbers.set(keyOf(kind, text), id);
    this.#texts.set(id, text);
    this.#next = Math.max(this.#next, id + 1);
  }

  #forget(kind: string, text: string, id: number): void {
    this.#numbers.delete(keyOf(kind, text));
    this.#texts.delete(id);
  }
}

const textIn = (value: SQLInputValue | undefined): string => (typeof value === 'string' ? value : '');
const keyOf = (kind: string, text: string): string => `${kind} ${text}`;
const isDamage = (error: unknown): error is SqliteFault => error instanceof SqliteFault && error.isDamage;

const NEW = 'it is new';

/** Returns why a file cannot be used; undefined if it can. @throws SqliteFault */
async function faultOf(file: SqliteFile, logName: string): Promise<string | undefined> {
  const [row] = await file.all('PRAGMA user_version');
  const version = Number(row?.['user_version']);
  if (version === 0 && (await file.all('SELECT name FROM sqlite_schema')).length === 0) return NEW;
  if (version !== VERSION) return `it is of version ${version}, not ${VERSION}`;
  const [found] = await file.all("SELECT value FROM facts WHERE name = 'log'");
  return found?.['value'] === logName ? undefined : 'it is of another log';
}
