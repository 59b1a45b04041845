import { closeSync, constants, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { SqliteQuestion } from './sqlite-file.adapter.js';

// This thread is the only one that opens the file. It executes SQL and knows nothing of attempts. It imports only types from
// our own files, so that specs can run it as TypeScript without a build.

const path = workerData as string;
// The file is readable only for this user. O_NOFOLLOW refuses a symbolic link that another user put in a shared folder.
closeSync(openSync(path, constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW, 0o600));
const file = new DatabaseSync(path, { timeout: 1_000 });
// No write waits for the disk. If a crash of the machine loses attempts, they are read from Kafka again.
file.exec(
  'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -32768',
);

const prepared = new Map<string, StatementSync>();
function statementOf(sql: string): StatementSync {
  const known = prepared.get(sql);
  if (known !== undefined) return known;
  const made = file.prepare(sql);
  if (prepared.size < 200) prepared.set(sql, made);
  return made;
}

function answerTo({ statements }: SqliteQuestion): unknown {
  let rows: unknown[] = [];
  file.exec('BEGIN');
  try {
    for (const { sql, rows: given } of statements) {
      const statement = statementOf(sql);
      for (const parameters of given) rows = statement.all(...parameters);
    }
    file.exec('COMMIT');
    return rows;
  } catch (error) {
    if (file.isTransaction) file.exec('ROLLBACK');
    throw error;
  }
}

parentPort?.on('message', (question: SqliteQuestion | 'close') => {
  if (question === 'close') {
    file.close();
    parentPort?.close();
    return;
  }
  const { number } = question;
  try {
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    parentPort?.postMessage({ number, rows: answerTo(question) });
  } catch (error) {
    const { message, errcode } = error as { message: string; errcode?: number };
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
    parentPort?.postMessage({ number, fault: { message, code: errcode ?? 0 } });
  }
});
