import { NAMED } from './attempt-row.js';

/** Raised with every change of the tables: a file of another version is thrown away. */
export const VERSION = 2;

/**
 * `id` is the time of the attempt in milliseconds, and 20 bits that tell the attempts of a millisecond apart: every index is in the
 * order of time by that, without a column for it. Times beside it are differences to it, which take a byte or two. Indexes leave
 * out what a search by time finds as soon: nearly all attempts are delivered, with a status of 2xx and without an error.
 */
export const TABLES = [
  'CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID',
  'CREATE TABLE positions (partition INTEGER PRIMARY KEY, next INTEGER, last INTEGER, timestamp INTEGER)',
  'CREATE TABLE names (id INTEGER PRIMARY KEY, kind TEXT, text TEXT)',
  `CREATE TABLE attempts (id INTEGER PRIMARY KEY, envelope BLOB, ${NAMED.map((name) => `${name} INTEGER`).join(', ')}, hash BLOB, series INTEGER, accepted INTEGER, outcome INTEGER, final INTEGER, attempt INTEGER, duration INTEGER, status INTEGER, detail TEXT, answer TEXT, headers TEXT, timing TEXT, next INTEGER)`,
  'CREATE INDEX by_envelope ON attempts (envelope)',
  'CREATE INDEX by_webhook ON attempts (webhook)',
  'CREATE INDEX by_partner ON attempts (partner)',
  'CREATE INDEX by_type ON attempts (type)',
  'CREATE INDEX by_host ON attempts (host)',
  'CREATE INDEX by_error ON attempts (error) WHERE error IS NOT NULL',
  'CREATE INDEX by_class ON attempts (status / 100) WHERE status >= 300',
  'CREATE INDEX by_outcome ON attempts (outcome) WHERE outcome > 0',
  `PRAGMA user_version = ${VERSION}`,
];

const LATEST = (column: string): string =>
  `coalesce(?, (SELECT ${column} FROM attempts WHERE webhook = ?3 ORDER BY id DESC LIMIT 1))`;

/** Partner and host of a webhook that is gone are those of its attempt before. The first free place of the millisecond. */
export const INSERT_ATTEMPT = `INSERT INTO attempts VALUES (coalesce((SELECT max(id) + 1 FROM attempts WHERE id >= CAST(?1 AS INTEGER) << 20 AND id < (CAST(?1 AS INTEGER) + 1) << 20), CAST(?1 AS INTEGER) << 20), ?2, ?3, ${LATEST('partner').replace('?', '?4')}, ?5, ${LATEST('host').replace('?', '?6')}, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)`;

export const SELECTED = `CAST(id AS TEXT) AS place, id >> 20 AS at, envelope, ${NAMED.join(', ')}, hash, series, accepted, outcome, final, attempt, duration, status, detail, answer, headers, timing, next`;
